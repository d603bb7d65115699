// Claim 3 of US 7,290,038 [SUN3, SUN16]: the connection is TCP, and the host's receive window is the storage mapped under the
// R_Key. Adding buffers moves the window's right edge, removing used ones its left edge; the right edge never moves back.
#pragma once

#include <cstdint>

#include "models/driver/verbs/x_verbs.h"

namespace hcasim::verbs {

class tcp_window {
 public:
  explicit tcp_window(std::uint64_t first_sequence = 0) : left_(first_sequence), right_(first_sequence) {}

  // After x_register or x_reregister_add: the buffers added are new room. After x_deregister_part: used room is gone. False =
  // the result is not a change of this window's key, or would take away room that was advertised and not used.
  bool apply(const x_result& r) {
    if (key_ != 0 && r.key != key_) return false;
    key_ = r.key;
    if (r.length >= window()) {
      right_ += r.length - window();
    } else if (window() - r.length <= used()) {
      left_ += window() - r.length;
    } else {
      return false;
    }
    return true;
  }
  // In-order bytes have arrived in the mapped storage. False = more than the window.
  bool receive(std::uint64_t bytes) {
    if (bytes > right_ - next_) return false;
    next_ += bytes;
    return true;
  }

  [[nodiscard]] std::uint32_t key() const { return key_; }
  [[nodiscard]] std::uint64_t window() const { return right_ - left_; }  // the sum of the segments' lengths
  [[nodiscard]] std::uint64_t left() const { return left_; }
  [[nodiscard]] std::uint64_t right() const { return right_; }
  [[nodiscard]] std::uint64_t used() const { return next_ - left_; }  // received, its storage not yet removed

 private:
  std::uint32_t key_ = 0;
  std::uint64_t left_;
  std::uint64_t right_;
  std::uint64_t next_ = left_;
};

}  // namespace hcasim::verbs
