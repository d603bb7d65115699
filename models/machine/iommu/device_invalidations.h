// Invalidations that devices were asked for: a tag for each, until the device has reported its end or the time is over.
#pragma once

#include <array>
#include <coroutine>

#include "models/machine/iommu/device_messages.h"
#include "models/machine/iommu/fault_log.h"
#include "models/machine/iommu/iommu_config.h"
#include "tlm/ats.h"
#include "tlm/base/event_queue.h"

namespace hcasim {

class device_invalidations {
 public:
  device_invalidations(const iommu_config& config, device_messages& messages, fault_log& log)
      : config_(config), messages_(messages), log_(log) {}

  // Returns whether a device works on one.
  [[nodiscard]] bool any() const;
  // Returns whether `begin` has to wait: every tag is used, and one at least will come back.
  [[nodiscard]] bool full() const { return free_tag() == ats_tags && any(); }
  // Suspends until a tag comes back, or one is lost.
  [[nodiscard]] auto changed() {
    struct awaiter {
      std::coroutine_handle<>& waiter;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> h) const { waiter = h; }
      void await_resume() const {}
    };
    return awaiter{waiter_};
  }

  // Asks a device to forget the range with code `range` (firmware/abi/iommu.h).
  void begin(std::uint32_t requester, std::uint64_t range);
  // Takes the report of a device.
  void end(std::uint16_t tag, std::uint32_t from);
  // Frees the lost tags of a requester, whose rights are read anew: its later answers are to later invalidations.
  void free_lost(std::uint32_t of);
  // Gives up invalidations that have taken too long.
  void expire();
  // Returns whether any was given up since the last call.
  bool take_timeout() { return std::exchange(timed_out_, false); }

  sc_core::sc_event timer;
  counter begun, timeouts;
  histogram time;
  level asked;
  probe shown;

 private:
  struct tag {
    enum class state : std::uint8_t { free, asked, lost } status = state::free;
    std::uint32_t requester = 0;
    ps sent{0};
  };

  [[nodiscard]] unsigned free_tag() const;
  void count(std::int64_t change);
  void wake();

  event_queue& queue_ = event_queue::instance();
  const iommu_config& config_;
  device_messages& messages_;
  fault_log& log_;
  std::array<tag, ats_tags> tags_;
  std::coroutine_handle<> waiter_;
  bool timed_out_ = false;
};

}  // namespace hcasim
