#include "models/system/watchdog.h"

#include <algorithm>

#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

void collect_units(const sc_core::sc_object& of, std::vector<const unit*>& out) {
  for (const sc_core::sc_object* o : of.get_child_objects()) {
    if (const auto* u = dynamic_cast<const unit*>(o)) out.push_back(u);
    collect_units(*o, out);
  }
}

}  // namespace

watchdog::watchdog(const sc_core::sc_object& top, std::vector<std::string> adapters, limits most)
    : top_(top), adapters_(std::move(adapters)), most_(most), after_events_(call<&watchdog::look_at_events>(this)) {
  if (most_.time != never) look_at_time_again();
  if (most_.events != 0) look_at_events_again();
}

std::uint64_t watchdog::progress() const {
  std::uint64_t sum = 0;
  for (const unit* u : units()) sum += u->completed();
  return sum;
}

void watchdog::look_at_time_again() {
  queue_.at(now() + most_.time / looks, call<&watchdog::time_is_up>(this));
  queue_.disregard(1);
}

void watchdog::time_is_up() {
  queue_.disregard(-1);
  look_at_time();
}

void watchdog::look_at_time() {
  if (const std::uint64_t now_done = progress(); now_done != progress_) {
    progress_ = now_done;
    since_ = now();
  }
  if (now() - since_ >= most_.time && ends(now() - most_.time)) return;
  look_at_time_again();
}

void watchdog::look_at_events_again() {
  after_events_.set(std::max<std::uint64_t>(most_.events / looks, 1));
}

void watchdog::look_at_events() {
  if (const std::uint64_t now_done = progress(); now_done != counted_) {
    counted_ = now_done;
    quiet_ = 0;
  }
  ps& oldest = looked_[quiet_ % looks];
  if (quiet_ >= looks && ends(oldest)) return;
  oldest = now();
  ++quiet_;
  look_at_events_again();
}

bool watchdog::ends(ps begin) {
  const waiting_list l = list();
  const bool stands = std::any_of(l.notes().begin(), l.notes().end(), [&](const waiting_note& n) { return n.since <= begin; });
  if (!stands) return false;
  stalled_ = "the run stands still; " + waiting_report(l.notes(), now());
  queue_.run_ahead(false);
  sc_core::sc_stop();
  return true;
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
