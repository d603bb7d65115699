// The world outside the simulation: frames that come and go, and time that does not stop.
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

  // Since the first call.
  virtual ps wall() = 0;
  // Until a frame is there, at most so long.
  virtual void wait(ps most) = 0;

  struct arrival {
    std::span<const std::byte> frame;  // until the next call
    remote from;
  };
  virtual std::optional<arrival> receive() = 0;
  [[nodiscard]] virtual std::size_t remotes() const = 0;
  // Frames that came and found no room.
  [[nodiscard]] virtual std::uint64_t overflowed() const = 0;
  // False = it was not taken.
  virtual bool send(std::span<const std::byte> frame, remote to) = 0;
};

}  // namespace hcasim::gateway
