// An issuer: one thread of software that posts what the producers of its QPs say, and polls for completions.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <span>
#include <vector>

#include "testbenches/kit/endpoint.h"
#include "testbenches/traffic/companion.h"
#include "testbenches/traffic/flow_record.h"
#include "testbenches/traffic/plan.h"
#include "testbenches/traffic/producer.h"
#include "testbenches/traffic/thread_queues.h"

namespace hcasim::traffic {

// The regions of one target, as its peers know them.
struct remote_region {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
};
using remote_regions = std::vector<remote_region>;

// Memory for messages with a key of their own: one slot for each, in turn.
struct keyed_memory {
  std::uint64_t address = 0;
  std::uint64_t stride = 0;  // 0 = each slot is a region that begins at `address`
  std::uint32_t slots = 0;   // 0 = there is none
};

// One QP of an issuer.
struct lane {
  kit::ibv_qp* qp = nullptr;
  std::size_t pair = 0;   // of the flow
  std::size_t index = 0;  // among the flow's QPs
  double weight = 1;      // of the source's messages
  std::unique_ptr<producer> source;
  const remote_regions* target = nullptr;
  kit::ibv_mw* window = nullptr;  // of the source; for binds
  keyed_memory keyed;
  kit::ibv_ah* datagrams = nullptr;                  // UD: the way to the peer
  std::uint32_t peer = 0;                            // UD: its QP
  const std::vector<std::uint32_t>* srqs = nullptr;  // XRC: the target's
};

struct issuer_settings {
  const planned_flow* flow = nullptr;
  flow_record* record = nullptr;
  companion* with = nullptr;
  std::size_t flow_number = 0;
  std::size_t host = 0;
  std::uint64_t seed = 1;
  std::string name;                     // of the random choice among QPs
  thread_queues* queues = nullptr;      // of its QPs
  kit::region buffer;                   // payloads come from here, and results of READs go here
  std::uint64_t messages = UINT64_MAX;  // of this issuer at most
};

struct issuer_times {
  ps begin{0};                         // of the flow
  ps stop = never;                     // likewise
  const ps* measured_until = nullptr;  // the end of the measured time, which may come nearer during the run

  // Returns when the last post may be. Arrivals are counted until then.
  [[nodiscard]] ps end() const { return std::min(stop, *measured_until); }
};

class issuer {
 public:
  issuer(cpu& c, issuer_settings s, std::vector<lane> lanes);

  // Posts receives for the keys that targets grant, before these do. False = a receive was refused.
  bool prepare();
  // Posts until the end, and waits for the completions that have been asked for. False = a message failed.
  bool run(const issuer_times& t);
  // Returns the time in which the thread slept.
  [[nodiscard]] ps waited() const { return waited_; }

 private:
  struct flight {
    ps posted{0};
    ps due = never;
    std::uint32_t bytes = 0;
    bool pulls = false;
    bool signalled = false;
  };
  struct lane_state : lane {
    message next;
    bool more = false;
    bool queued = false;  // in due_
    std::vector<flight> flights;
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    std::deque<std::uint32_t> keys;  // granted and unused
    std::uint64_t keys_used = 0;

    // Returns whether the next message waits for a key.
    [[nodiscard]] bool lacks_key() const { return needs_key(next.operation) && keys.empty(); }

    [[nodiscard]] flight& at(std::uint64_t number) { return flights[number % flights.size()]; }
    [[nodiscard]] std::uint32_t room() const { return static_cast<std::uint32_t>(flights.size() - (posted - completed)); }
  };
  struct arrival {
    ps at;
    std::size_t lane;
    bool operator>(const arrival& o) const { return at != o.at ? at > o.at : lane > o.lane; }
  };

  [[nodiscard]] bool may_post() const { return left_ != 0 && c_.time() < t_.end(); }
  [[nodiscard]] ps due(const lane_state& l) const { return s_.flow->open() ? t_.begin + l.next.at : never; }
  // Makes requests of the QP's next message from `requests_[at]` on; returns how many.
  std::size_t add_requests(lane_state& l, std::size_t at);
  std::size_t add_keyed(lane_state& l, std::size_t at, unsigned flags);
  void count_next(lane_state& l, bool signalled);
  [[nodiscard]] bool asks_completion(const lane_state& l) const;
  [[nodiscard]] std::uint64_t name_of(const lane_state& l) const;
  int bind(lane_state& l);
  bool post_key_receives(std::size_t i, std::uint32_t count);
  bool take_key(const kit::ibv_wc& wc);
  // Posts messages of the QP, `most` at most, as far as there is room and, in an open loop, they have arrived.
  bool post(lane_state& l, std::uint32_t most);
  int hand_over(lane_state& l, std::size_t requests);
  bool post_freed(lane_state& l);
  bool post_first();
  bool post_chosen(std::size_t count);
  bool post_arrived();
  lane_state& choose();
  void await_arrival(std::size_t i);
  bool collect(int& got);
  bool take(const kit::ibv_wc& wc);
  // Notes that the flow has failed, with the QP and the time.
  void fail(const lane_state& l, const std::string& why);
  void fail(const std::string& why);
  bool post_after(std::span<const kit::ibv_wc> news);
  bool wait();
  [[nodiscard]] bool idle() const;
  void count_late_arrivals();

  cpu& c_;
  issuer_settings s_;
  issuer_times t_;
  const flow_options& o_;
  std::vector<lane_state> lanes_;
  random_stream choice_;
  bool keyed_;  // a message of the mix needs a key
  double weights_ = 0;
  std::priority_queue<arrival, std::vector<arrival>, std::greater<>> due_;  // of lanes with room
  std::vector<kit::ibv_send_wr> requests_;
  std::vector<kit::ibv_sge> places_;
  std::vector<kit::ibv_wc> completions_;
  std::uint64_t left_;
  std::uint64_t unanswered_ = 0;  // completions that have been asked for
  std::size_t turn_ = 0;          // the QP of the next message
  ps waited_{0};
};

}  // namespace hcasim::traffic
