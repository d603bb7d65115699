#include "testbenches/applications/simulator/waiting.h"

#include <unistd.h>

#include <algorithm>

#include "testbenches/applications/channel/handoff.h"

namespace hcasim::applications {

descriptor& descriptor::operator=(descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

descriptor::~descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

bool waiting::sleep(cpu& c, sleeper& s, ps timeout) {
  c.sync();
  s.up = false;
  s.wake.cancel();
  const auto place = sleepers_.insert(sleepers_.end(), &s);
  const ps begin = now();
  if (timeout == never) {
    while (!s.up) sc_core::wait(s.wake);
  } else if (!s.up) {
    sc_core::wait(to_sc(timeout), s.wake);
  }
  sleepers_.erase(place);
  leave_row(s);
  return s.up || now() - begin < timeout;
}

// The kernel does not keep the order of events of one time.
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

void waiting::checkpoint(ps t, bool written) {
  // The loopback delivers before a write returns unless the host's kernel is in a hurry.
  constexpr int moment = 1;  // ms
  if (!look(t, 0) && written && !sleepers_.empty()) look(t, moment);
}

bool waiting::wait_outside(int milliseconds, ps t) {
  // A thread in an unknown call shows in no descriptor.
  const bool unknown = std::any_of(sleepers_.begin(), sleepers_.end(), [](const sleeper* s) { return s->unknown != nullptr; });
  if (!unknown) return look(t, milliseconds);
  for (int waited = 0; waited < milliseconds; ++waited) {
    if (look(t, 1)) return true;
  }
  return false;
}

bool waiting::look(ps t, int milliseconds) {
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
    if (!ready || s->up) continue;
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
  std::vector<int> ready;
  for (const watched& w : watched_) {
    if (polled_[at++].revents != 0) ready.push_back(w.fd);
  }
  for (const int fd : ready) {
    const auto w = std::find_if(watched_.begin(), watched_.end(), [fd](const watched& x) { return x.fd == fd; });
    if (w == watched_.end()) continue;
    const std::function<void()> tell = w->ready;  // which may unwatch
    tell();
    found = true;
  }
  return found;
}

void waiting::watch(int fd, std::function<void()> ready) {
  watched_.push_back({fd, std::move(ready)});
}

void waiting::unwatch(int fd) {
  watched_.remove_if([fd](const watched& w) { return w.fd == fd; });
}

std::vector<std::string> waiting::who_sleeps() const {
  std::vector<std::string> out;
  for (const sleeper* s : sleepers_) out.push_back(s->who);
  return out;
}

}  // namespace hcasim::applications
