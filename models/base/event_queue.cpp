#include "models/base/event_queue.h"

#include <algorithm>

namespace hcasim {

std::uint64_t event_queue::activations_ = 0;

event_queue::event_queue(const char* name) {
  sc_core::sc_spawn_options options;
  options.spawn_method();
  options.set_sensitivity(&wake_);
  options.dont_initialize();
  sc_core::sc_spawn([this] { run(); }, name, &options);
}

void event_queue::at(ps when, action a) {
  future_.push_back({when, posted_++, a});
  std::push_heap(future_.begin(), future_.end());
  if (!running_) arm(when);
}

void event_queue::soon(action a) {
  ready_.push_back(a);
  if (!running_) arm(now());
}

void event_queue::arm(ps when) {
  if (when >= armed_) return;
  armed_ = when;
  const ps t = now();
  wake_.notify(when > t ? to_sc(when - t) : sc_core::SC_ZERO_TIME);
}

void event_queue::drain_ready() {
  while (ready_head_ < ready_.size()) ready_[ready_head_++]();
  ready_.clear();
  ready_head_ = 0;
}

void event_queue::run() {
  ++activations_;
  running_ = true;
  armed_ = never;
  const ps t = now();
  drain_ready();
  while (!future_.empty() && future_.front().when <= t) {
    std::pop_heap(future_.begin(), future_.end());
    const action act = future_.back().act;
    future_.pop_back();
    act();
    drain_ready();
  }
  running_ = false;
  if (!future_.empty()) arm(future_.front().when);
}

}  // namespace hcasim
