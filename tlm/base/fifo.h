// Intrusive first-in first-out list: the elements carry `T* next` and belong to the caller.
#pragma once

#include <cstddef>
#include <utility>

namespace hcasim {

template <class T>
class fifo {
 public:
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& front() const { return *head_; }

  void push(T& e) {
    e.next = nullptr;
    (tail_ ? tail_->next : head_) = &e;
    tail_ = &e;
    ++size_;
  }
  T& pop() {
    T& e = *head_;
    head_ = e.next;
    if (!head_) tail_ = nullptr;
    --size_;
    return e;
  }
  // Takes over all elements of `other`, behind its own.
  void append(fifo& other) {
    if (other.empty()) return;
    (tail_ ? tail_->next : head_) = other.head_;
    tail_ = other.tail_;
    size_ += other.size_;
    other = {};
  }
  [[nodiscard]] fifo take() { return std::exchange(*this, {}); }

 private:
  T* head_ = nullptr;
  T* tail_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hcasim
