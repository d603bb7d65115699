#include "testbenches/scenarios/rkey_reuse.h"

#include <memory>

#include "testbenches/kit/counters.h"
#include "testbenches/scenarios/reuse_state.h"

namespace hcasim::kit {

node_counts::node_counts(node& n)
    : commands(statistic_of(n.hca.command_unit, "commands")),
      pcie(statistics_ending_in(n.pcie, "header_bytes") + statistics_ending_in(n.pcie, "payload_bytes")),
      mrc(statistic_of(n.hca.mrc_cache, "misses")) {
  for (unsigned level = 0; level < 4; ++level) walks += statistic_of(n.hca.page_walker, "reads_level_" + std::to_string(level));
}

qp_options reuse_state::qp() const {
  qp_options q;
  q.mtu = o.mtu;
  q.send_depth = std::max(2 * o.outstanding, 4 * o.buffers);
  q.receive_depth = 4 * o.buffers;
  q.sge = 1;
  return q;
}

void reuse_state::target_finished(cpu& c, link& l) {
  if (++finished == o.targets) {
    finished = 0;
    o.parts.end(c);
    after.emplace(*host);
  }
  l.finished.send(c, c.time());
}

void count(reuse_outcome& out, const node_counts& before, const node_counts& after) {
  out.commands = static_cast<std::uint64_t>(after.commands - before.commands);
  out.pcie_bytes = static_cast<std::uint64_t>(after.pcie - before.pcie);
  out.mrc_misses = static_cast<std::uint64_t>(after.mrc - before.mrc);
  out.walk_reads = static_cast<std::uint64_t>(after.walks - before.walks);
}

std::string_view name_of(reuse_mode m) {
  static constexpr std::string_view names[reuse_modes] = {
      "R_Key kept, extend",        "R_Key kept, remap",      "R_Key kept, TCP window", "whole region re-registered",
      "each buffer re-registered", "de-register + register", "window rebound",         "one static region"};
  return names[static_cast<std::size_t>(m)];
}

void start_reuse(hcasim::system& s, const reuse_options& o, const std::vector<std::uint8_t>& stream,
                 const std::vector<reuse_mode>& modes, std::vector<reuse_outcome>& outcomes) {
  outcomes.assign(modes.size(), {});
  auto state = std::make_shared<reuse_state>(o, stream, modes, outcomes);
  start_program(s, 0, "host", [state](cpu& c, node& n) {
    for (std::size_t i = 0; i < state->modes.size(); ++i) {
      (state->modes[i] == reuse_mode::kept_tcp ? tcp_host : reuse_host)(*state, c, n, i);
    }
  });
  const std::size_t others = s.nodes() - 1;
  for (std::uint32_t t = 0; t < o.targets; ++t) {
    const std::string name = o.targets == 1 ? "target" : "target" + std::to_string(t);
    start_program(s, 1 + t % others, name, [state, t](cpu& c, node& n) {
      for (std::size_t i = 0; i < state->modes.size(); ++i) {
        (state->modes[i] == reuse_mode::kept_tcp ? tcp_target : reuse_target)(*state, c, n, i, t);
      }
    });
  }
}

}  // namespace hcasim::kit
