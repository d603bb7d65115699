// A queue that a coroutine empties. One runs while there are items, and ends with the last.
//
//   if (inbox.push(p)) serve();                         // none runs
//   process serve() { while (packet* p = inbox.next()) ... }
#pragma once

#include "tlm/base/ring.h"

namespace hcasim {

template <class T>
class served_queue {
 public:
  // Appends an item; true = no coroutine runs, and the caller starts one.
  [[nodiscard]] bool push(T& item) {
    items_.push(&item);
    return !served_;
  }
  // Takes the oldest item for the coroutine; null = the queue is empty, and the coroutine ends.
  T* next() {
    served_ = !items_.empty();
    return served_ ? items_.pop() : nullptr;
  }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool served() const { return served_; }

 private:
  ring<T*> items_;
  bool served_ = false;
};

}  // namespace hcasim
