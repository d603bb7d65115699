// Sleeps of programs' threads in the operating system, for descriptors or in calls that the library does not know.
// Checkpoints alone look at descriptors: all together, and in the order in which their threads fell asleep. So threads go on in
// the order of the simulated machine.
#pragma once

#include <poll.h>

#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "models/machine/host/cpu.h"
#include "testbenches/verbs_programs/channel/channel.h"
#include "testbenches/verbs_programs/simulator/descriptor.h"
#include "testbenches/verbs_programs/simulator/loopback.h"

namespace hcasim::applications {

// Effects of a thread that has run. The host may take a moment to deliver written bytes.
struct thread_effects {
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
    const channel::page* unknown = nullptr;  // not null = the thread sleeps in an unknown call, until its next request
    std::uint32_t seen = 0;
    const char* why = nullptr;  // reason of the sleep in reports; null = the thread does not sleep
    bool up = false;
    sc_core::sc_event wake;
    // Sleepers that one look finds go on one after the other: the first is woken at `due`, and each wakes the next.
    ps due{0};
    sleeper* before = nullptr;
    sleeper* behind = nullptr;
  };

  // Keeps a sleeper in the list that checkpoints look at. A thread that waits for an event of the simulation lies there for
  // its signals; without any, `listed` is false.
  class place {
   public:
    place(waiting& in, sleeper& s, bool listed = true);
    ~place();
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    [[nodiscard]] bool goes_on() const { return s_.up && !s_.before && now() >= s_.due; }
    [[nodiscard]] const sc_core::sc_event& wake() const { return s_.wake; }

   private:
    waiting& in_;
    sleeper& s_;
    bool listed_;
    std::list<sleeper*>::iterator at_;
  };

  // Sleeps until one of its descriptors is ready, or `dismiss`. False = the time is over.
  bool sleep(cpu& c, sleeper& s, ps timeout);
  static void dismiss(sleeper& s);

  // Looks at all descriptors and signals. Ready threads go on at t.
  void checkpoint(ps t, thread_effects of = {});
  // Waits for the outside world in wall-clock time, because the simulation has nothing left to do. False = nothing came.
  bool wait_outside(int milliseconds, ps t);
  // Calls `ready` whenever the descriptor is readable, until `unwatch`.
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
  loopback loopback_;
};

}  // namespace hcasim::applications
