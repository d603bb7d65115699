// A FIFO in one block of memory that grows when full and never shrinks: a steady state allocates nothing. Items also have
// absolute numbers, in order of arrival.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hcasim {

template <class T>
class ring {
 public:
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(tail_ - head_); }
  [[nodiscard]] std::uint64_t begin_number() const { return head_; }
  [[nodiscard]] std::uint64_t end_number() const { return tail_; }

  // The i-th oldest; i < size().
  [[nodiscard]] T& operator[](std::size_t i) { return at_number(head_ + i); }
  [[nodiscard]] const T& operator[](std::size_t i) const { return slots_[(head_ + i) & (slots_.size() - 1)]; }
  [[nodiscard]] T& at_number(std::uint64_t n) { return slots_[n & (slots_.size() - 1)]; }
  [[nodiscard]] const T& front() const { return (*this)[0]; }
  [[nodiscard]] T& front() { return at_number(head_); }
  [[nodiscard]] T& back() { return at_number(tail_ - 1); }

  void push(T v) {
    if (size() == slots_.size()) grow();
    slots_[tail_++ & (slots_.size() - 1)] = std::move(v);
  }
  T pop() { return std::move(at_number(head_++)); }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 2 : 2 * slots_.size());
    for (std::uint64_t n = head_; n != tail_; ++n) larger[n & (larger.size() - 1)] = std::move(at_number(n));
    slots_ = std::move(larger);
  }

  std::vector<T> slots_;  // a power of two
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace hcasim
