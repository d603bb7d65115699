// A wait queue, as of an operating system: software threads of a host sleep there until another one wakes them.
#pragma once

#include "models/machine/host/cpu.h"

namespace hcasim::driver {

class wait_queue {
 public:
  // Sleeps until `ready()`; it is asked again after every wake.
  template <class Predicate>
  void sleep_until(cpu& c, Predicate ready) {
    c.sync();
    while (!ready()) sc_core::wait(event_);
  }
  void wake() { hcasim::wake(event_); }

 private:
  sc_core::sc_event event_;
};

}  // namespace hcasim::driver
