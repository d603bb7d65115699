// The time in which programs have work under way, and the share of it in which all of them have.
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "tlm/base/units.h"

namespace hcasim::applications {

// From the first posted send to the last completion that was polled.
struct active_time {
  std::optional<ps> begin;
  ps end{0};

  void posted(ps t) {
    if (!begin) begin = t;
    end = std::max(end, t);
  }
  void completed(ps t) {
    if (begin) end = t;
  }
  void add(const active_time& other) {
    if (!other.begin) return;
    begin = begin ? std::min(*begin, *other.begin) : *other.begin;
    end = std::max(end, other.end);
  }
};

// Returns the share of the time from the first begin to the last end in which all were active; none = fewer than two ever were.
inline std::optional<double> overlap_of(std::span<const active_time> programs) {
  std::size_t active = 0;
  active_time any;
  ps last_begin{0};
  ps first_end = never;
  for (const active_time& p : programs) {
    if (!p.begin) continue;
    ++active;
    any.add(p);
    last_begin = std::max(last_begin, *p.begin);
    first_end = std::min(first_end, p.end);
  }
  if (active < 2 || any.end <= *any.begin) return std::nullopt;
  const ps both = std::max(first_end - last_begin, ps(0));
  return static_cast<double>(both.count()) / static_cast<double>((any.end - *any.begin).count());
}

}  // namespace hcasim::applications
