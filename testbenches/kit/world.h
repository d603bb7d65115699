// A system to run programs on: boots the adapters, runs one program per node, and ends when all of them have.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/machine/host/cpu.h"
#include "models/system/system.h"

namespace hcasim::kit {

using program = std::function<void(cpu&, node&)>;

// Starts `body` on node `i` once its adapter is open; `failed` is told why when it does not open. Without it the run is broken
// off.
void start_program(system& s, std::size_t i, const std::string& name, program body,
                   std::function<void(const std::string&)> failed = {});

// A private system for a test, with its own defaults: small and quick to build. Units that HCASIM_RTL names are RTL.
class world {
 public:
  explicit world(const system_config& config = one_node());

  static system_config one_node();
  static system_config two_nodes();

  hcasim::system& sys() { return system_; }
  node& at(std::size_t i) { return system_.at(i); }
  // Runs one program per node (from node 0 on) to the end. False = an adapter did not open or a program did not finish.
  bool run(const std::vector<program>& programs);

 private:
  hcasim::system system_;
};

// Messages between software threads beside the fabric, as over a management network.
template <class T>
class out_of_band {
 public:
  explicit out_of_band(ps delay = 20_us) : delay_(delay) {}

  void send(cpu& c, T message) {
    queue_.push_back({c.time() + delay_, std::move(message)});
    ++sent_;
    arrived_.notify(to_sc(c.time() - now()));
  }
  T receive(cpu& c) {
    c.sync();
    while (queue_.empty()) sc_core::wait(arrived_);
    item first = std::move(queue_.front());
    queue_.erase(queue_.begin());
    if (first.at > c.time()) {
      c.spend(first.at - c.time());
      c.sync();
    }
    return std::move(first.message);
  }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

 private:
  struct item {
    ps at;
    T message;
  };
  ps delay_;
  std::vector<item> queue_;
  std::uint64_t sent_ = 0;
  sc_core::sc_event arrived_;
};

}  // namespace hcasim::kit
