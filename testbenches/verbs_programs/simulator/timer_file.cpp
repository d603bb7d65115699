#include "testbenches/verbs_programs/simulator/timer_file.h"

#include <utility>

namespace hcasim::applications {

timer_file::timer_file() {
  sc_core::sc_spawn_options on_time;
  on_time.spawn_method();
  on_time.dont_initialize();
  on_time.set_sensitivity(&time_);
  sc_core::sc_spawn([this] { expire(); }, sc_core::sc_gen_unique_name("timer_file"), &on_time);
}

void timer_file::open(std::function<void(int)> count) {
  count_ = std::move(count);
}

void timer_file::close() {
  set(ps(0), ps(0));
  count_ = nullptr;
}

void timer_file::set(ps first, ps interval) {
  time_.cancel();
  if (std::exchange(counted_, false)) count_(-1);
  due_ = first == ps(0) ? never : now() + first;
  interval_ = interval;
  if (due_ != never) wake_at(time_, due_);
}

std::uint64_t timer_file::take() {
  if (due_ == never || now() < due_) return 0;
  if (std::exchange(counted_, false)) count_(-1);
  if (interval_ == ps(0)) {
    due_ = never;
    return 1;
  }
  const std::int64_t times = 1 + (now() - due_) / interval_;
  due_ += times * interval_;
  wake_at(time_, due_);
  return static_cast<std::uint64_t>(times);
}

void timer_file::expire() {
  if (counted_ || due_ == never || now() < due_) return;
  counted_ = true;
  count_(1);
}

}  // namespace hcasim::applications
