// Posts a recorded traffic again: one program on each node makes the recorded regions, queues and QPs, and starts a thread for
// each recorded thread. A thread goes through its steps in order. Receives before its first other step are posted before the
// traffic begins.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "models/system/system.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/measured_parts.h"
#include "testbenches/traffic/flow_memory.h"
#include "testbenches/traffic/replay/trace.h"

namespace hcasim::replay {

using traffic::own_time;
using traffic::replay_times;

struct replay_options {
  replay_times times = replay_times::dependencies;
  own_time own = own_time::kept;
};

// Threads wait here for one another.
class gate {
 public:
  void expect(std::size_t threads) { expected_ += threads; }
  void arrive(cpu& c);

 private:
  std::size_t expected_ = 0;
  std::size_t here_ = 0;
  sc_core::sc_event open_;
};

class replayer {
 public:
  // `gpus`: number of each node's peer device that is a GPU.
  replayer(hcasim::system& s, trace t, replay_options o, std::vector<std::optional<std::size_t>> gpus,
           kit::measured_parts parts);

  // Starts the programs; the simulation runs afterwards.
  void start();

  [[nodiscard]] bool finished() const { return finished_ == trace_.nodes; }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // Returns the line at which each unfinished thread waits: 0 = not begun.
  [[nodiscard]] std::vector<std::uint32_t> waiting_lines() const;
  [[nodiscard]] ps took() const { return last_ - first_post_; }
  // Returns the same time in the record: from the first post to the last event.
  [[nodiscard]] ps recorded() const { return trace_.end - recorded_first_post_; }
  [[nodiscard]] const trace& recorded_trace() const { return trace_; }
  [[nodiscard]] std::uint64_t payload(std::size_t node) const { return payload_[node]; }
  [[nodiscard]] std::uint64_t posts(std::size_t node) const { return posts_[node]; }
  [[nodiscard]] ps waited(std::size_t node) const { return waited_[node]; }

 private:
  struct region_state {
    std::uint64_t address = 0;
    kit::ibv_mr* mr = nullptr;
  };
  struct key_state {
    kit::ibv_mw* window = nullptr;
    kit::ibv_mr* fast = nullptr;
    std::uint64_t address = 0;  // of what it covers
    std::uint32_t key = 0;
  };
  struct queue_state {
    kit::ibv_cq* cq = nullptr;
    kit::ibv_comp_channel* channel = nullptr;
    bool armed = false;
    std::size_t users = 0;  // threads
  };
  struct shared_state {
    kit::ibv_srq* srq = nullptr;
    std::uint32_t number = 0;  // XRC
  };
  struct qp_state {
    kit::ibv_qp* qp = nullptr;
    kit::address at;
    std::uint32_t sends_done = 0;  // polled so far
    std::uint32_t receives_done = 0;
  };
  // Node and port, group or `nothing`, LID.
  using way_name = std::tuple<std::uint32_t, std::uint8_t, std::uint32_t, std::uint32_t, trace_way>;
  struct play {  // of a thread
    std::size_t next = 0;
    bool ended = false;
  };

  void add_threads();
  void run_node(std::uint32_t number, cpu& c, node& n);
  void make_objects(std::uint32_t number, kit::process_context& p, traffic::flow_memory& memory);
  void make_queue(trace_queue& q, queue_state& s, kit::process_context& p) const;
  kit::ibv_xrcd* domain_of(std::uint32_t node, kit::process_context& p);
  void make_shared(std::size_t i, kit::process_context& p);
  void make_qp(std::size_t i, kit::process_context& p);
  void connect(std::uint32_t number, kit::process_context& p);
  [[nodiscard]] way_name way_of(const trace_step& s) const;
  void make_way(const trace_step& s, kit::process_context& p);
  void await_turn(std::size_t number);
  void run_thread(std::size_t number, cpu& c);
  void play_steps(std::size_t number, cpu& c);
  void spend_own_time(const trace_step& s, bool first, cpu& c) const;
  bool post(std::size_t number, cpu& c);
  void map_regions(std::size_t number, cpu& c);
  void make_key(const trace_step& s, kit::ibv_send_wr& wr);
  void keep_key(const trace_step& s);
  [[nodiscard]] bool is_type1_bind(const trace_step& s) const;
  bool bind_type1(const trace_step& s, cpu& c);
  std::size_t steps_of_post(std::size_t number);
  bool receive(std::size_t number, cpu& c);
  bool done(std::size_t number, const trace_step& s, cpu& c);
  bool has_come(const trace_step& s) const;
  int poll(const trace_step& s, std::uint32_t queue, cpu& c);
  bool finds_failure(const trace_step& s, std::uint32_t node, cpu& c);
  bool wait(const trace_step& s, cpu& c);
  void request(const trace_step& s, kit::ibv_send_wr& wr, std::vector<kit::ibv_sge>& places, std::uint32_t node);
  // Returns the address and the key of a place, as they are now.
  [[nodiscard]] std::pair<std::uint64_t, std::uint32_t> remote_place(const trace_place& p) const;
  void add_places(const trace_step& s, std::uint32_t node, std::vector<kit::ibv_sge>& places) const;
  bool fail(const trace_step& s, const std::string& why);

  hcasim::system& system_;
  trace trace_;
  replay_options o_;
  std::vector<std::optional<std::size_t>> gpus_;
  kit::measured_parts parts_;
  std::vector<region_state> regions_;
  std::vector<key_state> keys_;
  std::vector<queue_state> queues_;
  std::vector<shared_state> shared_;
  std::vector<kit::ibv_xrcd*> domains_;  // of each node, XRC
  std::vector<qp_state> qps_;
  std::vector<play> plays_;
  std::vector<std::uint64_t> inline_data_;                              // of each node
  std::vector<std::unordered_map<std::uint32_t, std::size_t>> by_qpn_;  // of each node's QPs
  std::map<way_name, kit::ibv_ah*> ways_;                               // of datagrams
  std::vector<std::size_t> running_;                                    // threads of a node
  std::vector<std::uint64_t> payload_, posts_;
  std::vector<ps> waited_;
  gate all_made_, all_connected_, all_ready_, all_ended_;
  std::vector<std::size_t> begin_order_;  // numbers of threads
  std::size_t begun_ = 0;
  sc_core::sc_event thread_begun_, thread_ended_;
  ps origin_ = never;  // the record's time at which the traffic begins
  ps begin_ = never;
  ps recorded_first_post_ = never;
  ps first_post_ = never;
  ps last_{0};
  std::string failure_;
  std::size_t finished_ = 0;
};

}  // namespace hcasim::replay
