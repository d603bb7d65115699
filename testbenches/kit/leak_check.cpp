#include "testbenches/kit/leak_check.h"

#include <variant>

namespace hcasim::kit {
std::vector<std::string> leak_check(hcasim::system& s) {
  std::vector<std::string> found;
  const std::size_t prefix = std::string(s.name()).size() + 1;
  for (const unit* u : s.watch().units()) {
    for (const statistic& one : u->stats().all()) {
      const auto* const* l = std::get_if<level*>(&one.value);
      if (!l || (*l)->value() == 0) continue;
      found.push_back(std::string(u->name()).substr(prefix) + "." + one.name + " is " + std::to_string((*l)->value()));
    }
  }
  if (s.packets().in_use() != 0)
    found.push_back(std::to_string(s.packets().in_use()) + " packets were not given back to the pool");
  const std::uint64_t all = s.config().link.buffer / 64;
  for (std::size_t i = 0; i < s.links() && all != 0; ++i) {
    for (unsigned end = 0; end < 2; ++end) {
      const std::uint64_t free = s.cable(i).free_blocks(end, 0, never);  // with the ones on their way
      if (free == all) continue;
      found.push_back("link" + std::to_string(i) + " end " + std::to_string(end) + ": " + std::to_string(free) + " of " +
                      std::to_string(all) + " credits are back");
    }
  }
  if (const std::string waits = s.watch().waiting(); !waits.empty()) found.push_back(waits);
  return found;
}

}  // namespace hcasim::kit
