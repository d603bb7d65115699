#include "testbenches/kit/world.h"

#include <cstring>
#include <sstream>
#include <stdexcept>

#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/implementations.h"

namespace hcasim::kit {
namespace {

std::string place_of(std::size_t host, const cpu& c) {
  std::ostringstream text;
  text << "; on node" << host << " at " << to_us(c.time()) << " us";
  return text.str();
}

}  // namespace

void start_program(system& s, std::size_t i, const std::string& name, program body,
                   std::function<void(const std::string&)> failed) {
  node& n = s.at(i);
  n.host.run(name, [&n, i, body = std::move(body), failed = std::move(failed)](cpu& c) {
    if (const int error = n.device().open(c); error != 0) {
      const std::string why = "node" + std::to_string(i) + ": the driver cannot open its adapter: " + std::strerror(error) +
                              ", when it was " + n.device().opening_step();
      if (!failed) throw std::runtime_error(why);
      failed(why);
      return;
    }
    try {
      body(c, n);
    } catch (const verb_error& e) {
      throw verb_error(std::string(e.what()) + place_of(i, c));
    }
    c.sync();
  });
}

world::world(const system_config& config) : system_("system", as_in_environment(config)) {}

system_config world::one_node() {
  system_config c;
  c.nodes.resize(1);
  return c;
}

system_config world::two_nodes() {
  system_config c;
  c.nodes.resize(2);
  return c;
}

bool world::run(const std::vector<program>& programs) {
  std::size_t finished = 0;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    program body = [&finished, p = programs[i]](cpu& c, node& n) {
      p(c, n);
      ++finished;
    };
    start_program(system_, i, "program" + std::to_string(i), std::move(body), [](const std::string&) {});
  }
  run_simulation();
  if (!system_.watch().stalled().empty()) throw std::runtime_error(system_.watch().stalled());
  return finished == programs.size();
}

}  // namespace hcasim::kit
