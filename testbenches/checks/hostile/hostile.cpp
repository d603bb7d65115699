#include "testbenches/checks/hostile/hostile.h"

#include <memory>

#include "testbenches/checks/hostile/victim.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {

void start_hostile(hcasim::system& s, const hostile_options& o, std::uint64_t seed, hostile_outcome& out) {
  auto options = std::make_shared<hostile_options>(o);
  random_options good;
  good.operations = o.operations != 0 ? o.operations : std::max<std::uint64_t>(o.packets / 10, 1);
  good.max_size = 4_KiB;
  start_random(s, good, seed, out.good);
  start_program(s, 0, "victim", [&s, options, seed, &out](cpu& c, node& n) { victim(s, *options, seed, out, c, n).run(); });
}

}  // namespace hcasim::kit
