#include "models/system/watchdog.h"

#include <algorithm>

namespace hcasim {
namespace {

constexpr int looks = 4;  // within the limit

void collect_units(const sc_core::sc_object& of, std::vector<const unit*>& out) {
  for (const sc_core::sc_object* o : of.get_child_objects()) {
    if (const auto* u = dynamic_cast<const unit*>(o)) out.push_back(u);
    collect_units(*o, out);
  }
}

}  // namespace

watchdog::watchdog(const sc_core::sc_object& top, std::vector<std::string> adapters, ps limit)
    : top_(top), adapters_(std::move(adapters)), limit_(limit) {
  if (limit_ != never) look_again();
}

watchdog::~watchdog() = default;

void watchdog::look_again() {
  queue_.at(now() + limit_ / looks, {[](void* self) {
                                       auto& due = *static_cast<watchdog*>(self);
                                       due.queue_.disregard(-1);
                                       due.look();
                                     },
                                     this});
  queue_.disregard(1);
}

void watchdog::look() {
  std::uint64_t completed = 0;
  for (const unit* u : units()) completed += u->completed();
  if (completed != completed_) {
    completed_ = completed;
    since_ = now();
  }
  if (now() - since_ < limit_) return look_again();
  const waiting_list l = list();
  const bool stands =
      std::any_of(l.notes().begin(), l.notes().end(), [this](const waiting_note& n) { return now() - n.since >= limit_; });
  if (!stands) return look_again();
  stalled_ = "the run stands still; " + waiting_report(l.notes(), now());
  queue_.run_ahead(false);
  sc_core::sc_stop();
}

std::vector<const unit*> watchdog::units() const {
  std::vector<const unit*> all;
  collect_units(top_, all);
  return all;
}

waiting_list watchdog::list() const {
  waiting_list l(adapters_, top_.name() + std::string("."));
  for (const unit* u : units()) u->list_waiting(l);
  return l;
}

std::string watchdog::waiting() const {
  return waiting_report(list().notes(), now());
}

}  // namespace hcasim
