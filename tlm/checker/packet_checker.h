// Rules of packets: a sent packet can be parsed and carries its ICRC. On a binding declared to lose and repeat nothing, the
// PSNs of each connected queue pair go forward.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "tlm/checker/protocol_checker.h"
#include "tlm/packet.h"

namespace hcasim {

struct packet_rules {
  bool sealed = true;    // false = behind a link that corrupts
  bool ordered = false;  // RC and UC: requests strictly forward, responses never back; no loss, no retransmission
};

class packet_checker : public protocol_checker<packet> {
 public:
  packet_checker(std::string binding, violation_log& log, packet_rules r, socket_observer<packet>* next = nullptr)
      : protocol_checker(std::move(binding), log, next), rules_(r) {}

 private:
  void requested(const packet& p, ps t) override;

  const packet_rules rules_;
  std::map<std::uint64_t, std::uint32_t> last_psn_;  // keys: destination LID, QPN, and kind
};

}  // namespace hcasim
