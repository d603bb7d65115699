// Waiting without a kernel event: first come, first served.
//
//   wait_list  a queue of suspended coroutines; waking posts them to an event_queue, so a waker is never re-entered
//   credits    a counted resource (tags, buffers, slots) with such a queue
#pragma once

#include <coroutine>
#include <cstdint>

#include "tlm/base/event_queue.h"
#include "tlm/base/pool_use.h"

namespace hcasim {

class wait_list {
 public:
  struct node {
    std::coroutine_handle<> handle;
    std::uint64_t amount = 1;
    node* next = nullptr;
  };

  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const node& front() const { return *head_; }

  void push(node& n) {
    n.next = nullptr;
    (tail_ ? tail_->next : head_) = &n;
    tail_ = &n;
    ++size_;
  }
  node& pop() {
    node& n = *head_;
    head_ = n.next;
    if (!head_) tail_ = nullptr;
    --size_;
    return n;
  }
  void wake_one(event_queue& queue) {
    if (head_) queue.soon(resume(pop().handle));
  }
  void wake_all(event_queue& queue) {
    while (head_) wake_one(queue);
  }
  [[nodiscard]] auto wait() {
    struct awaiter : node {
      wait_list& list;
      explicit awaiter(wait_list& l) : list(l) {}
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> h) {
        this->handle = h;
        list.push(*this);
      }
      void await_resume() const {}
    };
    return awaiter(*this);
  }

 private:
  node* head_ = nullptr;
  node* tail_ = nullptr;
  std::size_t size_ = 0;
};

class credits {
 public:
  credits(event_queue& queue, std::uint64_t total) : queue_(queue), total_(total), free_(total), use_(total) {}

  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::uint64_t available() const { return free_; }
  [[nodiscard]] std::uint64_t in_use() const { return total_ - free_; }
  [[nodiscard]] std::size_t waiting() const { return waiters_.size(); }
  [[nodiscard]] ps busy_until(ps t) const { return use_.busy_until(t); }

  bool try_take(std::uint64_t n = 1) {
    if (!waiters_.empty() || free_ < n) return false;
    occupy(n);
    return true;
  }
  // `co_await c.take(n)`; n must not exceed total().
  [[nodiscard]] auto take(std::uint64_t n = 1) {
    struct awaiter : wait_list::node {
      credits& owner;
      awaiter(credits& c, std::uint64_t amount_wanted) : owner(c) { this->amount = amount_wanted; }
      bool await_ready() { return owner.try_take(this->amount); }
      void await_suspend(std::coroutine_handle<> h) {
        this->handle = h;
        owner.waiters_.push(*this);
      }
      void await_resume() const {}
    };
    return awaiter(*this, n);
  }
  void give(std::uint64_t n = 1) {
    free_ += n;
    use_.add(-static_cast<std::int64_t>(n), now());
    while (!waiters_.empty() && waiters_.front().amount <= free_) {
      wait_list::node& w = waiters_.pop();
      occupy(w.amount);
      queue_.soon(resume(w.handle));
    }
  }

 private:
  void occupy(std::uint64_t n) {
    free_ -= n;
    use_.add(static_cast<std::int64_t>(n), now());
  }

  event_queue& queue_;
  std::uint64_t total_;
  std::uint64_t free_;
  pool_use use_;
  wait_list waiters_;
};

}  // namespace hcasim
