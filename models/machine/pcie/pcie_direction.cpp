#include "models/machine/pcie/pcie_direction.h"

#include <algorithm>

#include "tlm/base/kernel.h"

namespace hcasim {

pcie_direction::stream pcie_direction::book(ps t, const tlp_shape& shape, std::uint64_t header) {
  const ps work = timing_.wire_time(shape, header);
  const bool again = (garbled_ | unacknowledged_) != 0;
  const link_schedule::span s = again ? replay(t, work) : link_.book(t, work, now());
  tlps_ += shape.tlps;
  header_bytes_ += shape.tlps * header;
  payload_bytes_ += shape.payload;
  busy_.set(1, s.begin);
  busy_.set(0, s.end);
  return {s.begin, s.end, work / static_cast<std::int64_t>(shape.tlps)};
}

pcie_direction::stream pcie_direction::cross(const stream& in, ps latency, const tlp_shape& shape, std::uint64_t header) {
  stream out = book(in.begin + in.each + latency, shape, header);
  out.end = std::max(out.end, in.end + latency + out.each);
  return out;
}

// Garbled TLPs are asked for again after their arrival. TLPs sent meanwhile are dropped too, so the link is lost until the TLPs
// come again. TLPs without an acknowledge have arrived, and take the link once more when the sender's timer has run out.
link_schedule::span pcie_direction::replay(ps t, ps work) {
  ++replays_;
  if (garbled_ != 0) {
    --garbled_;
    corrected |= PCI_CORRECTED_RECEIVER;
    const link_schedule::span s = link_.book(t, 2 * work + 2 * timing_.config.link_latency, now());
    return {s.end - work, s.end};
  }
  --unacknowledged_;
  corrected |= PCI_CORRECTED_REPLAY_TIMEOUT;
  const link_schedule::span s = link_.book(t, work, now());
  link_.book(s.end + timing_.config.replay_timer, work, now());
  return s;
}

void pcie_direction::list(const std::string& name, statistics& s, probes& p) {
  s.add(name + "_tlps", "1", "TLPs on this direction of the link", tlps_);
  s.add(name + "_header_bytes", "B", "bytes around the payloads: framing, sequence number, header, LCRC", header_bytes_);
  s.add(name + "_payload_bytes", "B", "payload bytes, in whole doublewords", payload_bytes_);
  s.add(name + "_replays", "1", "bursts that were sent again", replays_);
  s.share(name + "_utilisation", "share of the time that TLPs were on this direction of the link", link_);
  p.add(name + "_busy", 1, busy_);
}

}  // namespace hcasim
