#include "testbenches/checks/key_walk/key_walk.h"

#include "testbenches/checks/key_walk/walk_state.h"

namespace hcasim::testing {

system_config walk_config() {
  system_config c = world::two_nodes();
  c.nodes[1].hca.responder.class_j = class_j_answer::nak_rae;
  return c;
}

walk_result walk(const system_config& config, const std::vector<key_step>& script, const walk_options& o) {
  world w(config);
  walk_state s;
  s.script = &script;
  s.o = o;
  s.nak_may_be_lost = config.link.loss + config.link.corruption > 0;
  fw_usage before{};
  fw_usage after{};
  const bool finished = w.run({[&](cpu& c, node& n) { peer_program(s, c, n); },
                               [&](cpu& c, node& n) {
                                 before = n.hca.command_unit.usage();
                                 owner_program(s, c, n);
                                 after = n.hca.command_unit.usage();
                               }});
  if (!finished) s.problem("the programs did not come to their end");
  const bool clean = after.mrs == before.mrs && after.qps == before.qps && after.spaces == before.spaces &&
                     after.segments == before.segments && after.table_bytes == before.table_bytes;
  if (!clean) s.problem("objects are left over in the adapter");
  return s.result;
}

}  // namespace hcasim::testing
