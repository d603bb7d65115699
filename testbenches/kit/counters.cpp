#include "testbenches/kit/counters.h"

#include <stdexcept>

namespace hcasim::kit {
namespace {

double value_of(const statistic& s) {
  struct reader {
    double operator()(const counter* c) const { return static_cast<double>(c->value()); }
    double operator()(const histogram* h) const { return static_cast<double>(h->count_ever()); }
    double operator()(const level* l) const { return static_cast<double>(l->value()); }
    double operator()(const formula& f) const { return f(now()); }
  };
  return std::visit(reader{}, s.value);
}

}  // namespace

double statistic_of(const unit& u, std::string_view name) {
  for (const statistic& s : u.stats().all()) {
    if (s.name == name) return value_of(s);
  }
  throw std::logic_error(std::string(u.name()) + " has no statistic " + std::string(name));
}

double sum_of(const unit& u, std::string_view name) {
  for (const statistic& s : u.stats().all()) {
    if (s.name == name) return std::get<histogram*>(s.value)->sum_ever();
  }
  throw std::logic_error(std::string(u.name()) + " has no statistic " + std::string(name));
}

double statistics_ending_in(const unit& u, std::string_view suffix) {
  double sum = 0;
  for (const statistic& s : u.stats().all()) {
    if (s.name.ends_with(suffix)) sum += value_of(s);
  }
  return sum;
}

}  // namespace hcasim::kit
