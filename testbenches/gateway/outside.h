// The world outside the simulation: its frames, and time that does not stop.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tlm/base/units.h"

namespace hcasim::gateway {

class outside {
 public:
  // Senders and receivers of frames: small numbers.
  using remote = std::size_t;

  outside() = default;
  outside(const outside&) = delete;
  outside& operator=(const outside&) = delete;
  virtual ~outside() = default;

  // Returns wall-clock time since the first call.
  virtual ps wall() = 0;
  // Waits until a frame is there, at most so long.
  virtual void wait(ps most) = 0;

  struct arrival {
    std::span<const std::byte> frame;  // until the next call
    remote from;
  };
  virtual std::optional<arrival> receive() = 0;
  [[nodiscard]] virtual std::size_t remotes() const = 0;
  // Returns the number of frames lost for want of room.
  [[nodiscard]] virtual std::uint64_t overflowed() const = 0;
  // Sends a frame; false = not accepted.
  virtual bool send(std::span<const std::byte> frame, remote to) = 0;
};

}  // namespace hcasim::gateway
