// Rings at a deadline that may move. Most alarms never ring, and old deadlines do not pile up: a reminder waits only for a
// moment that was once the nearest deadline. A reminder alone does not keep the simulation going.
#pragma once

#include "tlm/base/event_queue.h"

namespace hcasim {

struct reminder;

class alarm {
 public:
  explicit alarm(action ring) : ring_(ring) {}
  ~alarm();
  alarm(const alarm&) = delete;
  alarm& operator=(const alarm&) = delete;

  void set(ps deadline);  // never = none
  void clear() { set(never); }
  [[nodiscard]] bool is_set() const { return deadline_ != never; }

 private:
  void remind(ps when);
  void forget();
  static void idle(reminder& r, bool on);
  static void due(void* context);

  action ring_;
  ps deadline_ = never;
  reminder* nearest_ = nullptr;
};

}  // namespace hcasim
