#include "testbenches/program/recording/batch_thread.h"

namespace hcasim {

void batch_thread::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    leave_ = true;
  }
  turn_.notify_all();
  thread_.join();
}

void batch_thread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    turn_.wait(lock, [this] { return busy_ || leave_; });
    if (!busy_) return;
    lock.unlock();
    work_();
    lock.lock();
    busy_ = false;
    turn_.notify_all();
  }
}

}  // namespace hcasim
