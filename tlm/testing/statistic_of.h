// For tests: the statistics of a unit, by name. An unknown name throws std::out_of_range.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "tlm/base/unit.h"

namespace hcasim::testing {

inline const statistic& statistic_of(const unit& u, std::string_view name) {
  for (const statistic& s : u.stats().all()) {
    if (s.name == name) return s;
  }
  throw std::out_of_range(std::string(u.name()) + " has no statistic " + std::string(name));
}

inline const histogram& histogram_of(const unit& u, std::string_view name) {
  return *std::get<histogram*>(statistic_of(u, name).value);
}

inline std::uint64_t count_of(const unit& u, std::string_view name) {
  return std::get<const counter*>(statistic_of(u, name).value)->value();
}

// Returns the value of a counter or a formula, the mean of a level, or the number of samples of a histogram.
inline double value_of(const unit& u, std::string_view name) {
  struct reader {
    double operator()(const counter* c) const { return static_cast<double>(c->value()); }
    double operator()(const histogram* h) const { return static_cast<double>(h->count()); }
    double operator()(const level* l) const { return l->mean(now()); }
    double operator()(const formula& f) const { return f(now()); }
  };
  return std::visit(reader{}, statistic_of(u, name).value);
}

}  // namespace hcasim::testing
