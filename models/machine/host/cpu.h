// A thread of host software: the only way software touches the simulated machine. Time that software spends is added up
// locally and handed to the kernel when software waits, so straight-line code costs no thread switch.
//
// Contract: call from the program's own thread. `load` sees what has landed by the thread's local time (it synchronises
// first, unless nothing in the whole simulation happens before); `store` and MMIO take effect when simulated time is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tlm/base/alarm.h"
#include "tlm/base/kernel.h"

namespace hcasim {

class host;

class cpu {
 public:
  explicit cpu(host& h) : host_(h), alarm_({[](void* sleeper) { wake(static_cast<cpu*>(sleeper)->wake_); }, this}) {}

  cpu(const cpu&) = delete;
  cpu& operator=(const cpu&) = delete;

  [[nodiscard]] host& machine() const { return host_; }
  // The thread's local time: the kernel's now plus what was spent since.
  [[nodiscard]] ps time() const { return now() + ahead_; }
  void spend(ps t) {
    ahead_ += t;
    spent_ += t;
  }
  // All that was spent so far; waiting is not in it.
  [[nodiscard]] ps spent() const { return spent_; }
  // Lets the kernel catch up with the local time.
  void sync();

  // Host memory by physical address. Costs what a cached access costs.
  void load(std::uint64_t physical, std::span<std::byte> to);
  void store(std::uint64_t physical, std::span<const std::byte> from);
  // Device registers. A write is posted; a read stalls the thread for the round trip. `operation`: that a doorbell is for.
  void mmio_write(std::uint64_t address, std::span<const std::byte> from, std::uint64_t operation = 0);
  void mmio_read(std::uint64_t address, std::span<std::byte> to);
  // Write-combined MMIO (BlueFlame): whole 64 B lines, posted.
  void combined_write(std::uint64_t address, std::span<const std::byte> from, std::uint64_t operation = 0);

  // Sleeps until a DMA write lands in [physical, physical + bytes), as a polling loop would see it that began now and looks
  // every `poll_interval`; at once if one landed since the watch was made or last waited for. False: `timeout` passed first.
  [[nodiscard]] std::uint64_t watch(std::uint64_t physical, std::uint64_t bytes);
  bool wait_write(std::uint64_t watch, ps timeout = never);
  void unwatch(std::uint64_t watch);
  // Sleeps until interrupt `vector` is raised (or was, since the last wait): the interrupt latency, and the wake-up cost if the
  // thread had to sleep. False: `timeout` passed first.
  bool wait_interrupt(unsigned vector, ps timeout = never);
  void system_call();
  // Software that moves or pins memory: only the time.
  void copy(std::uint64_t bytes);
  void pin_pages(std::uint64_t pages);

 private:
  friend class host;

  void catch_up();
  void sleep(ps deadline);

  host& host_;
  ps ahead_{0};
  ps spent_{0};
  sc_core::sc_event wake_;
  alarm alarm_;
  bool interrupted_ = false;
  ps interrupted_at_{0};
};

}  // namespace hcasim
