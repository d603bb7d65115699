// A thread of host software: the only way software touches the simulated machine. Time that software spends is added up locally
// and handed to the kernel when software waits, so straight-line code costs no thread switch.
//
// Contract: call from the program's own thread. `load` sees bytes that have landed by the thread's local time: the thread
// synchronises first, unless no event of the simulation comes before. `store` and MMIO take effect when simulated time is
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "models/machine/host/combining_buffers.h"
#include "tlm/base/alarm.h"
#include "tlm/base/delegate.h"
#include "tlm/base/kernel.h"

namespace hcasim {

class host;

class cpu {
 public:
  explicit cpu(host& h);
  ~cpu();

  cpu(const cpu&) = delete;
  cpu& operator=(const cpu&) = delete;

  [[nodiscard]] host& machine() const { return host_; }
  // Returns the thread's local time: the kernel's now plus the time spent since.
  [[nodiscard]] ps time() const { return now() + ahead_; }
  void spend(ps t) {
    ahead_ += t;
    spent_ += t;
  }
  // Returns the time spent so far, without waiting.
  [[nodiscard]] ps spent() const { return spent_; }
  // Lets the kernel catch up with the local time.
  void sync();
  // Does so if another process may act before the local time.
  void catch_up();

  // Loads host memory by physical address, at the cost of a cached access.
  void load(std::uint64_t physical, std::span<std::byte> to);
  void store(std::uint64_t physical, std::span<const std::byte> from);
  // Writes device registers, posted; a read stalls the thread for the round trip. `operation`: of a doorbell.
  void mmio_write(std::uint64_t address, std::span<const std::byte> from, std::uint64_t operation = 0);
  void mmio_read(std::uint64_t address, std::span<std::byte> to);
  // Writes whole 64 B lines, write-combined (BlueFlame) and posted.
  void combined_write(std::uint64_t address, std::span<const std::byte> from, std::uint64_t operation = 0);

  // Sleeps until a DMA write lands in [physical, physical + bytes), as seen by a polling loop begun now with `poll_interval`.
  // Returns at once if one landed since the watch was made or last waited for. False = `timeout` passed first.
  [[nodiscard]] std::uint64_t watch(std::uint64_t physical, std::uint64_t bytes);
  bool wait_write(std::uint64_t watch, ps timeout = never);
  void unwatch(std::uint64_t watch);
  // Sleeps until interrupt `vector` is raised (or was, since the last wait): the interrupt latency, and the wake-up cost if the
  // thread had to sleep. False: `timeout` passed first.
  bool wait_interrupt(unsigned vector, ps timeout = never);
  void system_call();
  // Spends the time of copying, or of pinning pages; moves nothing.
  void copy(std::uint64_t bytes);
  void pin_pages(std::uint64_t pages);

 private:
  friend class host;

  void sleep(ps deadline);
  void write_register(std::uint64_t address, std::span<const std::byte> from, std::uint64_t operation);
  void await_buffers(std::uint64_t lines);

  host& host_;
  ps ahead_{0};
  ps spent_{0};
  void on_alarm() { wake(wake_); }

  sc_core::sc_event wake_;
  alarm alarm_;
  std::shared_ptr<combining_buffers> buffers_;  // nullptr = without limit. Writes on their way may outlive the thread
  bool interrupted_ = false;
  ps interrupted_at_{0};
};

}  // namespace hcasim
