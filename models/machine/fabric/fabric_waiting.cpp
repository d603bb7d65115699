// Lists the packets that wait in links and switches, because they find no room at the other end.
#include "models/machine/fabric/ib_switch.h"
#include "models/machine/fabric/link.h"

namespace hcasim {

void link::list_waiting(waiting_list& list) const {
  for (unsigned end = 0; end < 2; ++end) {
    for (const lane& l : directions_[end].lanes) {
      if (l.queue.empty()) continue;
      list.add({.kind = "packet at a link",
                .text = std::string("without credits, ") + std::to_string(l.queue.size() - 1) + " behind it",
                .since = l.queue.front().since,
                .at = spot(std::string("end ") + std::to_string(end)),
                .waits_for = {out[1 - end].target()}});
    }
  }
}

void ib_switch::list_waiting(waiting_list& list) const {
  for (const output& o : outputs_) {
    for (const lane& l : o.lanes) {
      if (l.queue.empty()) continue;
      list.add({.kind = "packet in a switch",
                .text = std::string("to port ") + std::to_string(o.port) + ", " +
                        std::to_string(l.queue.size() + l.held.size() - 1) + " behind it",
                .since = l.queue.front().entered,
                .at = spot(std::string("port ") + std::to_string(o.port)),
                .waits_for = {out[o.port].target()}});
    }
  }
}

}  // namespace hcasim
