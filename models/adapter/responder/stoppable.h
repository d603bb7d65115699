// A record that a command stops. The stop is answered when no coroutine uses the record.
#pragma once

#include <cstdint>
#include <utility>

#include "tlm/control.h"

namespace hcasim {

// `Table`: the states, with the events stop_later, stop_now and left.
template <const auto& Table>
struct stoppable {
  using table = std::remove_cvref_t<decltype(Table)>;
  using event = typename table::event;

  std::uint32_t busy = 0;  // coroutines that use the record
  typename table::state state;
  control_request* stopping = nullptr;  // a stop that is owed an answer

  void on(event e) { state = Table.step(state, e); }
  void enter() { ++busy; }
  void leave() {
    --busy;
    if (stopping && busy == 0) left();
  }
  // Returns whether the stop is answered at once.
  bool stop(control_request& r) {
    if (busy == 0) {
      on(event::stop_now);
      return true;
    }
    on(event::stop_later);
    stopping = &r;
    return false;
  }

 private:
  void left() {
    on(event::left);
    target_socket<control_request>::respond(*std::exchange(stopping, nullptr), now());
  }
};

}  // namespace hcasim
