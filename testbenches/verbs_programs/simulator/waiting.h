// Threads of programs that sleep in the operating system: for descriptors, and in calls that the library does not know.
// Descriptors are looked at at checkpoints only, all together and in the order in which their threads lay down, so that the
// order in which threads go on is that of the simulated machine.
#pragma once

#include <poll.h>

#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "models/machine/host/cpu.h"
#include "testbenches/verbs_programs/channel/channel.h"

namespace hcasim::applications {

// A descriptor of ours.
class descriptor {
 public:
  explicit descriptor(int fd = -1) : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(other.release()) {}
  descriptor& operator=(descriptor&& other) noexcept;
  ~descriptor();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// The deeds of a thread that has run. The host may take a moment to deliver what it has written.
struct deeds {
  bool written = false;
  bool signalled = false;
};

class waiting {
 public:
  struct sleeper {
    std::vector<pollfd> fds;
    // Signals that end the sleep once they wait for the thread, bit n - 1 for signal n.
    std::uint64_t signals = 0;
    pid_t process = 0;
    pid_t thread = 0;
    const channel::page* unknown = nullptr;  // sleeps in a call that the library does not know, until its next request
    std::uint32_t seen = 0;
    const char* why = nullptr;  // the thread sleeps, as a report says it; null = it does not
    bool up = false;
    sc_core::sc_event wake;
    // Those found at once go on one after the other: the first is woken at `due`, each wakes the next.
    ps due{0};
    sleeper* before = nullptr;
    sleeper* behind = nullptr;
  };

  // Sleeps until one of its descriptors is ready, or `dismiss`. False = the time is over.
  bool sleep(cpu& c, sleeper& s, ps timeout);
  static void dismiss(sleeper& s);

  // Looks at everything; who is found ready goes on at t.
  void checkpoint(ps t, deeds done = {});
  // Nothing is left to do: waits for the outside world, in wall-clock time. False = nothing came.
  bool wait_outside(int milliseconds, ps t);
  // Told when the descriptor is readable; until it is unwatched.
  void watch(int fd, std::function<void()> ready);
  void unwatch(int fd);

  [[nodiscard]] std::size_t sleeping() const { return sleepers_.size(); }

 private:
  struct watched {
    int fd;
    std::function<void()> ready;
  };

  struct finding {
    bool sleepers = false;
    bool watched = false;
    explicit operator bool() const { return sleepers || watched; }
  };
  finding look(ps t, int milliseconds, bool signals);
  bool look_at_sleepers(ps t, int milliseconds, bool signals);
  static void leave_row(sleeper& s);

  std::list<sleeper*> sleepers_;
  std::list<watched> watched_;
  std::vector<pollfd> polled_;
};

}  // namespace hcasim::applications
