// One direction of a link: when its TLPs are on the wire, and their retransmission.
#pragma once

#include "firmware/abi/pci_config.h"
#include "models/machine/pcie/pcie_config.h"
#include "tlm/base/probe.h"
#include "tlm/base/statistics.h"

namespace hcasim {

// The configuration, and what follows from it.
struct pcie_timing {
  const pcie_config& config;
  const bit_rate rate = config.rate();
  const std::uint64_t completion_payload = config.most_of_a_completion();

  [[nodiscard]] ps wire_time(const tlp_shape& shape, std::uint64_t header) const {
    return rate.time_for(shape.payload + shape.tlps * header);
  }
};

class pcie_direction {
 public:
  // The TLPs of a burst on a link.
  struct stream {
    ps begin;
    ps end;
    ps each;  // one TLP
  };

  explicit pcie_direction(const pcie_timing& timing) : timing_(timing) {}

  stream book(ps t, const tlp_shape& shape, std::uint64_t header);
  // Books a burst that comes from another link. This link takes every TLP whole before it goes on, but a burst streams through.
  stream cross(const stream& in, ps latency, const tlp_shape& shape, std::uint64_t header);

  // Requests faults of bursts to come: garbled TLPs, or no acknowledge.
  void garble(std::uint32_t bursts) { garbled_ += bursts; }
  void lose_acknowledges(std::uint32_t bursts) { unacknowledged_ += bursts; }
  [[nodiscard]] std::uint32_t to_garble() const { return garbled_; }
  [[nodiscard]] std::uint32_t acknowledges_to_lose() const { return unacknowledged_; }
  void withdraw() { garbled_ = unacknowledged_ = 0; }

  std::uint32_t corrected = 0;  // enum pci_corrected

  void list(const std::string& name, statistics& s, probes& p);

 private:
  link_schedule::span replay(ps t, ps work);

  const pcie_timing& timing_;
  link_schedule link_;
  std::uint32_t garbled_ = 0;
  std::uint32_t unacknowledged_ = 0;
  counter tlps_, header_bytes_, payload_bytes_, replays_;
  probe busy_;
};

}  // namespace hcasim
