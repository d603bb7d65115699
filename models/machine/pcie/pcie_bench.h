// For tests: a host memory, a device and a core around the PCIe tree.
#pragma once

#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "models/machine/pcie/pcie.h"
#include "tlm/testing/burst_memory.h"
#include "tlm/testing/burst_source.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim::testing {

// Sends bursts at given times, or a stream of them with a window.
class pcie_initiator : public burst_source {
 public:
  using burst_source::burst_source;
  std::uint64_t answers = 0;
  std::vector<burst*> order;  // of the answers

  burst& send(bool write, std::uint64_t address, std::uint64_t bytes, ps at, bool relaxed = false) {
    return burst_source::send(write, address, at, bytes, relaxed);
  }
  // Keeps `window` bursts under way until `total` have been sent, from the start of the simulation.
  void stream(bool write, std::uint64_t bytes, unsigned window, std::uint64_t total) {
    stream_ = {write, bytes, total};
    for (unsigned i = 0; i < window && stream_.left; ++i) {
      --stream_.left;
      send(write, next_address(), bytes, 0_ps);
    }
  }

 private:
  void on_answer(burst& b) override {
    order.push_back(&b);
    ++answers;
    if (!stream_.left) return;
    --stream_.left;
    send_ahead(stream_.write, next_address(), 0_ps, stream_.bytes);
  }
  std::uint64_t next_address() { return (position_++ % 64) * 8192; }

  struct {
    bool write = false;
    std::uint64_t bytes = 0;
    std::uint64_t left = 0;
  } stream_;
  std::uint64_t position_ = 0;
};

struct bench {
  pcie tree;
  burst_memory memory{"memory_model"};
  burst_memory interrupts{"interrupt_model"};
  pcie_initiator core{"core"};
  std::deque<pcie_initiator> dma;
  std::deque<burst_memory> bar;

  static constexpr std::uint64_t bar_base = 0xe0000000;
  static constexpr std::uint64_t bar_size = 0x01000000;

  explicit bench(const pcie_config& c, unsigned devices = 1) : tree("pcie", c, devices) {
    tree.memory.bind(memory.in);
    tree.interrupts.bind(interrupts.in);
    core.out.bind(tree.cpu);
    memory.latency = 80_ns;
    for (unsigned i = 0; i < devices; ++i) {
      dma.emplace_back(("dma" + std::to_string(i)).c_str());
      bar.emplace_back(("bar" + std::to_string(i)).c_str());
      dma.back().out.bind(tree.device(i).up);
      tree.device(i).down.bind(bar.back().in);
      tree.map_bar(i, bar_base + i * bar_size, bar_size);
    }
  }
  [[nodiscard]] double value(std::string_view name) const { return value_of(tree, name); }
};

// Makes faults of the bursts of device 0, by name.
inline void inject(pcie& tree, std::string_view what, std::uint64_t count) {
  for (std::size_t k = 0; k < pcie_fault_kinds.size(); ++k) {
    if (pcie_fault_kinds[k].name == what) return tree.inject(k, {.count = count, .length = ps(0), .draw = 0});
  }
  throw std::invalid_argument(std::string(what));
}

}  // namespace hcasim::testing
