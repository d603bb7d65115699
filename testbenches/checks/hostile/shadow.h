// The expected memory of a process, whichever packets it receives: a second account of every byte of an arena, kept by the
// software that grants them alone.
//
// The value of a byte tells what it is: 01...... private, 00...... public (both follow from its address), 1....... sent by the
// hostile peer. Outside grants all bytes are private; under a grant they are public until they are written. A burst that
// touches a byte is held against the grants of its time, a READ response against what its READ may show.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/grant_monitor.h"

namespace hcasim::kit {

class shadow {
 public:
  enum right : std::uint8_t {
    none = 0,
    read = 1,
    write = 2,
    anything = 4
  };  // anything: a peer that may write it, writes any value

  // The next `bytes` that the process allocates.
  shadow(process_context& p, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t begin() const { return arena_; }
  [[nodiscard]] std::uint64_t bytes() const { return state_.size(); }
  // Before the order that grants it, beside the rights that there are; and when taking all of them away has completed.
  void grant(std::uint64_t va, std::uint64_t bytes, std::uint8_t rights);
  void revoke(std::uint64_t va, std::uint64_t bytes);

  // A response with these bytes of [va, ...) leaves.
  [[nodiscard]] bool may_show(std::uint64_t va, std::span<const std::byte> shown) const;
  [[nodiscard]] bool holds(std::uint64_t va, std::uint64_t bytes) const {
    return va >= arena_ && va - arena_ + bytes <= state_.size();
  }
  static bool is_public(std::byte b) { return (b & std::byte{0xc0}) == std::byte{0}; }

  // Checks the whole arena, and every page outside it that DMA has written: no bytes of a hostile payload.
  void check();
  // Bytes found changed or touched where no grant allowed it, and the first of them.
  [[nodiscard]] std::uint64_t violations() const { return violations_ + monitor_.violations(); }
  [[nodiscard]] std::string violation() const { return violation_.empty() ? monitor_.violation() : violation_; }
  [[nodiscard]] std::uint64_t bytes_moved() const { return monitor_.bytes_seen(); }

 private:
  static constexpr std::uint8_t written = 8;  // beside the rights: a peer could write it some time, or write anything
  static constexpr std::uint8_t muddled = 16;

  static std::byte private_byte(std::uint64_t va);
  static std::byte public_byte(std::uint64_t va);
  [[nodiscard]] static bool fits(std::uint64_t va, std::byte b, std::uint8_t state);
  void inspect(std::uint64_t va, std::uint64_t bytes);
  void note(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  process_context& p_;
  std::uint64_t arena_;
  std::vector<std::uint8_t> state_;  // rights, written
  grant_monitor monitor_;
  std::uint64_t violations_ = 0;
  std::string violation_;
};

}  // namespace hcasim::kit
