#include "testbenches/verbs_programs/simulator/waiting.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "testbenches/verbs_programs/channel/handoff.h"

namespace hcasim::applications {

namespace {

// Returns the waiting signals of a thread and of its process, from /proc.
std::uint64_t signals_waiting_for(pid_t process, pid_t thread) {
  std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/status");
  std::uint64_t waiting = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("SigPnd:") || line.starts_with("ShdPnd:")) waiting |= std::strtoull(line.c_str() + 7, nullptr, 16);
  }
  return waiting;
}

}  // namespace

waiting::place::place(waiting& in, sleeper& s, bool listed) : in_(in), s_(s), listed_(listed) {
  s.up = false;
  s.due = ps(0);
  s.wake.cancel();
  if (listed) at_ = in.sleepers_.insert(in.sleepers_.end(), &s);
}

waiting::place::~place() {
  if (!listed_) return;
  in_.sleepers_.erase(at_);
  leave_row(s_);
}

bool waiting::sleep(cpu& c, sleeper& s, ps timeout) {
  // The thread is listed before the kernel reaches its time, so that an event until then finds the sleeper: the thread itself
  // has looked already.
  const place here(*this, s);
  c.sync();
  const ps end = timeout == never ? never : now() + timeout;
  while (!here.goes_on() && now() < end) {
    if (end == never) {
      sc_core::wait(s.wake);
    } else {
      sc_core::wait(to_sc(end - now()), s.wake);
    }
  }
  return s.up;
}

// Takes a sleeper out of its row, and wakes the next one. The row is needed because the kernel does not order events of one
// time.
void waiting::leave_row(sleeper& s) {
  sleeper* const before = std::exchange(s.before, nullptr);
  sleeper* const behind = std::exchange(s.behind, nullptr);
  if (before) before->behind = behind;
  if (!behind) return;
  behind->before = before;
  if (!before) wake_at(behind->wake, std::max(s.due, now()));
}

void waiting::dismiss(sleeper& s) {
  if (s.up) return;
  s.up = true;
  hcasim::wake(s.wake);
}

void waiting::checkpoint(ps t, thread_effects of) {
  constexpr std::chrono::milliseconds patience{500};  // other programs of the machine may use the loopback all the time
  if (of.written) loopback_.drain(patience);
  const finding found = look(t, 0, of.written || of.signalled);
  if (found.watched) {
    // A process closes its descriptors before its end. The first look may have passed them while they were open.
    look_at_sleepers(t, 0, true);
  } else if (!found.sleepers && of.written && !sleepers_.empty()) {
    // A kernel that does not tell what waits may still be about to deliver.
    constexpr int moment = 1;  // ms
    look(t, moment, true);
  }
}

bool waiting::wait_outside(int milliseconds, ps t) {
  // A thread in an unknown call, and a signal that waits, show in no descriptor.
  const bool hidden =
      std::any_of(sleepers_.begin(), sleepers_.end(), [](const sleeper* s) { return s->unknown || s->signals != 0; });
  if (!hidden) return static_cast<bool>(look(t, milliseconds, false));
  using clock = std::chrono::steady_clock;
  const clock::time_point end = clock::now() + std::chrono::milliseconds(milliseconds);
  while (clock::now() < end) {
    if (look(t, 1, true)) return true;
  }
  return false;
}

waiting::finding waiting::look(ps t, int milliseconds, bool signals) {
  finding found;
  found.sleepers = look_at_sleepers(t, milliseconds, signals);
  std::vector<int> ready;
  std::size_t at = polled_.size() - watched_.size();
  for (const watched& w : watched_) {
    if (polled_[at++].revents != 0) ready.push_back(w.fd);
  }
  for (const int fd : ready) {
    const auto w = std::find_if(watched_.begin(), watched_.end(), [fd](const watched& x) { return x.fd == fd; });
    if (w == watched_.end()) continue;
    const std::function<void()> tell = w->ready;  // which may unwatch
    tell();
    found.watched = true;
  }
  return found;
}

// The descriptors of sleepers come first in `polled_`, in their order.
bool waiting::look_at_sleepers(ps t, int milliseconds, bool signals) {
  polled_.clear();
  for (const sleeper* s : sleepers_) polled_.insert(polled_.end(), s->fds.begin(), s->fds.end());
  for (const watched& w : watched_) polled_.push_back({w.fd, POLLIN, 0});
  if (!polled_.empty()) ::poll(polled_.data(), polled_.size(), milliseconds);
  bool found = false;
  sleeper* last = nullptr;
  std::size_t at = 0;
  for (sleeper* s : sleepers_) {
    bool ready = s->unknown && channel::is_asked(*s->unknown, s->seen);
    for (std::size_t i = 0; i < s->fds.size(); ++i) ready |= polled_[at++].revents != 0;
    if (s->up) continue;
    if (!ready && signals && s->signals != 0) ready = (signals_waiting_for(s->process, s->thread) & s->signals) != 0;
    if (!ready) continue;
    s->up = true;
    s->due = t;
    found = true;
    if (last) {
      s->before = last;
      last->behind = s;
    } else {
      wake_at(s->wake, t);
    }
    last = s;
  }
  return found;
}

void waiting::watch(int fd, std::function<void()> ready) {
  watched_.push_back({fd, std::move(ready)});
}

void waiting::unwatch(int fd) {
  watched_.remove_if([fd](const watched& w) { return w.fd == fd; });
}

}  // namespace hcasim::applications
