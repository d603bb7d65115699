// The target tells the host how far it has filled the space; the host removes filled buffers, adds fresh ones, and tells the
// target where the space now lies. The key never changes, so the target's table is updated once per connection [SUN14, SUN17].
#pragma once

#include <cstdint>
#include <deque>

#include "models/driver/verbs/x_verbs.h"

namespace hcasim::verbs {

// The target's view of the space.
class fill_target {
 public:
  // The host's notice after a change.
  void notice(const x_result& r) {
    if (r.key != key_) ++key_updates_;
    key_ = r.key;
    end_ = r.end;
    if (next_ < r.start) next_ = r.start;
    ++notices_;
  }
  // Returns in `va` where the next `bytes` go; false = no room, wait for a notice.
  bool place(std::uint64_t bytes, std::uint64_t* va) {
    if (next_ > end_ || end_ - next_ < bytes) return false;
    *va = next_;
    next_ += bytes;
    return true;
  }
  [[nodiscard]] std::uint32_t key() const { return key_; }
  [[nodiscard]] std::uint64_t filled_to() const { return next_; }  // the fill notification
  [[nodiscard]] std::uint64_t key_updates() const { return key_updates_; }
  [[nodiscard]] std::uint64_t notices() const { return notices_; }

 private:
  std::uint32_t key_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t key_updates_ = 0;
  std::uint64_t notices_ = 0;
};

// The host's record: its buffers in the order of their VAs.
class fill_host {
 public:
  struct buffer {
    std::uint32_t handle;
    std::uint64_t va;
    std::uint64_t length;
    std::uint64_t host;
  };

  void added(const x_result& r, const x_buffer& b) { buffers_.push_back({r.handle, r.added, b.length, b.addr}); }
  // The oldest buffer, when the target has filled it; the caller consumes and removes it by its handle. Asked again after each.
  bool take_filled(std::uint64_t filled_to, buffer* out) {
    if (buffers_.empty() || buffers_.front().va + buffers_.front().length > filled_to) return false;
    *out = buffers_.front();
    buffers_.pop_front();
    return true;
  }
  [[nodiscard]] std::size_t outstanding() const { return buffers_.size(); }

 private:
  std::deque<buffer> buffers_;
};

}  // namespace hcasim::verbs
