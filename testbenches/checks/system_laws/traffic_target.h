// The state that the programs of traffic share beside the fabric, and the end of a flow that is written to and read from.
#pragma once

#include <memory>

#include "models/driver/peer/memory_owner.h"
#include "testbenches/checks/system_laws/traffic.h"
#include "testbenches/kit/world.h"

namespace hcasim::metamorphic {

struct remote_place {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

struct flow_state {
  std::vector<kit::address> sources;
  std::vector<kit::address> targets;
  std::vector<remote_place> regions;
  std::vector<std::uint32_t> srqns;        // as many as QPs, which use all of them
  std::vector<std::uint32_t> window_keys;  // of each QP, when it goes through windows
};

struct traffic_state {
  traffic_state(const traffic_options& o, traffic_result& r, std::size_t count, std::function<void(ps)> m)
      : options(o), result(&r), flows(o.flows.size()), nodes(count), measuring(std::move(m)) {
    total = o.messages * o.flows.size();
    r.completions.reserve(total);
  }

  [[nodiscard]] bool good() const { return result->problem.empty(); }
  void problem(const std::string& text) {
    if (good()) result->problem = text;
  }
  // The adapter or its driver does not take what is to be set up: there is no run.
  void refuse(const std::string& text) {
    if (result->refused.empty()) result->refused = text;
    sc_core::sc_stop();
  }
  // All programs wait here for each other.
  void meet(cpu& c) {
    c.sync();
    if (++arrived % nodes == 0) {
      gathered.notify(sc_core::SC_ZERO_TIME);
    }
    sc_core::wait(gathered);
  }
  void begun(cpu& c) {
    if (!std::exchange(running, true)) measuring(c.time());
  }
  void completed(cpu& c, std::uint32_t qp, std::uint32_t number) {
    const std::size_t n = result->completions.size();
    if (n == middle_begin(total) || n == middle_end(total)) {
      c.sync();
      measuring(c.time());
    }
    result->completions.push_back({c.time() - result->begin, qp, number});
  }
  [[nodiscard]] kit::qp_options qp_settings(bool asks = true) const;
  // 0 or errno.
  int connect(kit::process_context& p, verbs::ibv_qp* qp, const kit::address& peer, bool asks) const;
  [[nodiscard]] std::uint32_t receives_of_a_qp() const;

  traffic_options options;
  traffic_result* result;
  std::vector<flow_state> flows;
  std::size_t nodes;
  std::function<void(ps)> measuring;
  std::size_t total = 0;
  std::size_t arrived = 0;
  bool running = false;
  sc_core::sc_event gathered;
};

// Returns the target of message `number` of a QP: known from its name alone, whatever the order in which messages end.
remote_place place_of(const traffic_options& o, const flow_state& f, std::uint32_t qp, std::uint32_t number,
                      std::uint64_t size);

// The group that a QP of a flow sends to.
struct group {
  verbs::ibv_gid gid;
  std::uint16_t lid;
};
group group_for(std::size_t flow, std::uint32_t qp);

class target {
 public:
  target(traffic_state& s, kit::process_context& p, std::size_t flow) : s_(s), o_(s.options), p_(p), flow_(flow) {}
  ~target();
  target(const target&) = delete;
  target& operator=(const target&) = delete;

  void make();
  void connect();
  // At the bytes, when all is over.
  void look();

 private:
  kit::region make_region();
  verbs::ibv_qp* make_qp();
  void make_srqs();
  template <class Queue>
  bool post_receives(Queue* queue);
  void open_window(std::uint32_t qp);

  traffic_state& s_;
  const traffic_options& o_;
  kit::process_context& p_;
  std::size_t flow_;
  std::vector<verbs::ibv_qp*> qps_;  // of a group, its members follow each other
  verbs::ibv_xrcd* xrcd_ = nullptr;
  std::vector<verbs::ibv_srq*> srqs_;
  std::vector<kit::region> regions_;
  verbs::ibv_cq* cq_ = nullptr;
  kit::region inbox_;
  std::unique_ptr<driver::peer::memory_owner> gpu_;
};

}  // namespace hcasim::metamorphic
