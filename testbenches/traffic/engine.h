// The engine: runs a plan on a system. One program on each host makes regions and QPs, meets the others, and starts the host's
// issuers and receivers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/measured_parts.h"
#include "testbenches/traffic/companion.h"
#include "testbenches/traffic/flow_memory.h"
#include "testbenches/traffic/flow_record.h"
#include "testbenches/traffic/issuer.h"
#include "testbenches/traffic/plan.h"
#include "testbenches/traffic/receiver.h"
#include "testbenches/traffic/steadiness.h"

namespace hcasim::traffic {

// Threads wait here for one another.
class meeting {
 public:
  explicit meeting(std::size_t expected = 0) : expected_(expected) {}
  void expect(std::size_t threads) { expected_ = threads; }
  void arrive(cpu& c);

 private:
  std::size_t expected_;
  std::size_t here_ = 0;
  std::uint64_t round_ = 0;
  sc_core::sc_event all_here_;
};

class engine {
 public:
  // `on_step`: told of steps on the way, by their names.
  engine(hcasim::system& s, plan p, std::uint64_t seed, kit::measured_parts parts,
         std::function<void(const std::string&)> on_step = {});

  // Takes a companion; before start().
  void accompany(companion& with) { with_ = &with; }
  // Starts the programs; the simulation runs afterwards.
  void start();

  [[nodiscard]] const plan& planned() const { return plan_; }
  [[nodiscard]] const std::vector<flow_record>& records() const { return records_; }
  [[nodiscard]] ps begin() const { return begin_; }  // of the measured time
  [[nodiscard]] ps end() const { return end_; }
  // Returns how well the figures were known at the end; nullptr = the measured time has a fixed length.
  [[nodiscard]] const steadiness* known() const { return steadiness_ ? &*steadiness_ : nullptr; }
  [[nodiscard]] const std::vector<ps>& phase_begins() const { return phase_begins_; }
  // Objects of the hosts' programs, while these run.
  [[nodiscard]] const std::map<std::size_t, std::vector<kit::region>>& regions_of(std::size_t flow) const {
    return flows_[flow].regions;
  }
  [[nodiscard]] const std::map<std::size_t, receiver_settings>& receivers_of(std::size_t flow) const {
    return flows_[flow].receivers;
  }
  [[nodiscard]] const std::map<std::size_t, std::vector<kit::region>>& buffers_of(std::size_t flow) const {
    return flows_[flow].buffers;
  }
  // Returns whether every program came to its end.
  [[nodiscard]] bool finished() const { return finished_ == plan_.hosts; }
  // Returns for each posting host how much of the time its busiest thread did not wait, 0 to 1.
  [[nodiscard]] const std::map<std::size_t, double>& software_busy() const { return busy_; }

 private:
  struct connection {  // one QP of a pair
    kit::address source;
    kit::address target;
    kit::ibv_qp* source_qp = nullptr;
    kit::ibv_qp* target_qp = nullptr;
    std::vector<kit::ibv_qp*> members;  // UD: the target's QPs in the group
    keyed_memory keyed;
    remote_regions windows;      // of type 2 over the target's regions
    kit::ibv_mw* own = nullptr;  // the source's, for binds
    kit::ibv_ah* way = nullptr;  // UD
  };
  struct flow_state {
    std::vector<connection> connections;                       // QP q of pair p at p * qps + q
    std::map<std::size_t, remote_regions> targets;             // by host, with the keys that peers use
    std::map<std::size_t, std::vector<kit::region>> regions;   // under them
    std::map<std::size_t, std::vector<std::uint32_t>> srqs;    // XRC: numbers, by host
    std::map<std::size_t, receiver_settings> receivers;        // by host
    std::map<std::size_t, std::vector<thread_queues>> queues;  // of a source's threads
    std::map<std::size_t, std::vector<kit::region>> buffers;   // likewise
    std::shared_ptr<const zipf_ranks> ranks;
  };

  void run_host(std::size_t host, cpu& c, node& n);
  // Makes and connects the objects of a host (engine_setup.cpp).
  [[nodiscard]] kit::qp_options qp_settings(const planned_flow& f, std::size_t number) const;
  void make_shared_queues(std::size_t flow, std::size_t host, kit::process_context& p, std::uint32_t count);
  receiver_settings& make_receiver(std::size_t flow, std::size_t host, kit::process_context& p, flow_memory& memory);
  void make_target_qp(const planned_flow& f, kit::process_context& p, flow_memory& memory, receiver_settings* r, std::size_t at,
                      kit::qp_options q, connection& x);
  void make_source_qp(const planned_flow& f, kit::process_context& p, const kit::qp_options& q, kit::ibv_cq* cq, connection& x);
  void make_target(std::size_t flow, std::size_t host, kit::process_context& p, flow_memory& memory);
  void make_source(std::size_t flow, std::size_t host, kit::process_context& p, flow_memory& memory);
  void connect(std::size_t flow, std::size_t host, kit::process_context& p);
  [[nodiscard]] kit::ibv_ah_attr group_of(std::size_t flow, std::size_t of) const;
  void connect_target(std::size_t flow, kit::process_context& p, std::size_t number);
  void open_windows(std::size_t flow, std::size_t host, kit::process_context& p);

  void start_threads(std::size_t flow, std::size_t host, kit::process_context& p);
  void start_issuer(std::size_t flow, std::size_t host, kit::process_context& p, std::uint32_t thread);
  void meet_phases(cpu& c, std::uint32_t from, std::uint32_t to);
  void run_issuer(issuer& i, cpu& c, std::size_t host, const planned_flow& f);
  [[nodiscard]] std::vector<lane> lanes_of(std::size_t flow, std::size_t host, std::uint32_t thread) const;
  [[nodiscard]] std::uint64_t messages_of(std::size_t flow, std::size_t host, std::uint32_t thread) const;
  void set_times(ps begin);
  void measure(cpu& c);
  void measure_until_steady(cpu& c);
  void count_aloud(cpu& c);
  void step(const std::string& name) const {
    if (on_step_) on_step_(name);
  }

  hcasim::system& system_;
  companion* with_ = nullptr;
  plan plan_;
  std::uint64_t seed_;
  kit::measured_parts parts_;
  std::function<void(const std::string&)> on_step_;
  std::vector<flow_record> records_;
  std::optional<steadiness> steadiness_;
  std::vector<flow_state> flows_;
  meeting all_made_;        // the hosts' programs, before QPs are connected
  meeting meeting_;         // every thread, before the traffic begins
  meeting between_phases_;  // the posting threads
  std::vector<ps> phase_begins_;
  ps begin_{0};
  ps end_{0};
  std::size_t issuers_ = 0;  // that still run
  std::size_t receivers_ = 0;
  std::size_t finished_ = 0;  // programs
  std::map<std::size_t, double> busy_;
  sc_core::sc_event thread_ended_;
};

}  // namespace hcasim::traffic
