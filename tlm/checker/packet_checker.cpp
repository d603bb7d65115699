#include "tlm/checker/packet_checker.h"

namespace hcasim {

void packet_checker::requested(const packet& p, ps t) {
  const packet_header& h = p.header;
  const wire::shape& s = h.shape();
  if (rules_.sealed && (!s.known || !icrc_holds(p, p.on_wire().size()))) {
    broken(rule::packet_not_sealed, t, "opcode " + std::to_string(h.opcode) + ", PSN " + std::to_string(h.psn));
  }
  if (!rules_.ordered || (h.opcode & wire::transport_mask) == wire::ud) return;
  const std::uint64_t flow = std::uint64_t{h.dest_lid} << 32 | std::uint64_t{h.dest_qpn} << 1 | (s.response ? 1U : 0U);
  const auto [last, first] = last_psn_.try_emplace(flow, h.psn);
  if (first) return;
  const std::int32_t ahead = psn_distance(last->second, h.psn);
  if (ahead < 0 || (ahead == 0 && !s.response)) {
    broken(rule::packet_order, t,
           "QP " + std::to_string(h.dest_qpn) + ": PSN " + std::to_string(h.psn) + " after " + std::to_string(last->second));
  }
  last->second = h.psn;
}

}  // namespace hcasim
