// A thread that works on one batch while the next one is being filled. Started with the first batch.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace hcasim {

class batch_thread {
 public:
  // `work` does a batch; what it touches is the thread's own between hand_over() and the next one, or stop().
  explicit batch_thread(std::function<void()> work) : work_(std::move(work)) {}
  ~batch_thread() { stop(); }
  batch_thread(const batch_thread&) = delete;
  batch_thread& operator=(const batch_thread&) = delete;

  // Waits until the batch before is done; `exchange` then puts the next one where `work` finds it.
  template <class Exchange>
  void hand_over(Exchange exchange) {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    {
      std::unique_lock lock(mutex_);
      turn_.wait(lock, [this] { return !busy_; });
      exchange();
      busy_ = true;
    }
    turn_.notify_all();
  }
  // Returns when the last batch is done.
  void stop();

 private:
  void run();

  std::function<void()> work_;
  std::mutex mutex_;
  std::condition_variable turn_;
  bool busy_ = false;
  bool leave_ = false;
  std::thread thread_;
};

}  // namespace hcasim
