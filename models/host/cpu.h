// A thread of host software: the only way software touches the simulated machine. Time that software spends is added up
// locally and handed to the kernel when software waits, so straight-line code costs no thread switch.
//
// Contract: call from the program's own thread. `load` sees what has landed by the thread's local time (it synchronises
// first); `store` and MMIO take effect at the local time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/base/kernel.h"

namespace hcasim {

class host;

class cpu {
 public:
  explicit cpu(host& h) : host_(h) {}

  [[nodiscard]] host& machine() const { return host_; }
  // The thread's local time: the kernel's now plus what was spent since.
  [[nodiscard]] ps time() const { return now() + ahead_; }
  void spend(ps t) { ahead_ += t; }
  // Lets the kernel catch up with the local time.
  void sync();

  // Host memory by physical address. Costs what a cached access costs.
  void load(std::uint64_t physical, std::span<std::byte> to);
  void store(std::uint64_t physical, std::span<const std::byte> from);
  // Device registers. A write is posted; a read stalls the thread for the round trip.
  void mmio_write(std::uint64_t address, std::span<const std::byte> from);
  void mmio_read(std::uint64_t address, std::span<std::byte> to);
  // Write-combined MMIO (BlueFlame): whole 64 B lines, posted.
  void combined_write(std::uint64_t address, std::span<const std::byte> from);

  // Sleeps until a DMA write lands in [physical, physical + bytes), as a polling loop would see it; returns at once if one
  // landed since `ticket` was taken. False: `timeout` passed first.
  [[nodiscard]] std::uint64_t watch(std::uint64_t physical, std::uint64_t bytes);
  bool wait_write(std::uint64_t watch, ps timeout = never);
  void unwatch(std::uint64_t watch);
  // Sleeps until interrupt `vector` is raised (or was, since the last wait); costs the interrupt and wake-up time.
  bool wait_interrupt(unsigned vector, ps timeout = never);
  void system_call();

 private:
  host& host_;
  ps ahead_{0};
};

}  // namespace hcasim
