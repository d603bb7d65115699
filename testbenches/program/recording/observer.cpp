#include "testbenches/program/recording/observer.h"

#include <algorithm>

namespace hcasim {
namespace {

std::vector<observer_registry::factory>& factories() {
  static std::vector<observer_registry::factory> all;
  return all;
}

}  // namespace

observer_list observer_registry::make_all() {
  observer_list all;
  for (const factory make : factories()) all.push_back(make());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a->rank() < b->rank(); });
  return all;
}

void observer_registry::add(factory make) {
  factories().push_back(make);
}

}  // namespace hcasim
