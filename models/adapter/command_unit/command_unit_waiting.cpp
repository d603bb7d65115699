// Lists the requests that wait in the command unit.
#include "models/adapter/command_unit/command_unit.h"

namespace hcasim {

void command_unit::list_waiting(waiting_list& list) const {
  if (ci_ == pi_) return;
  waiting_note n{.kind = "command",
                 .text = std::string("opcode ") + hex_text(opcode_) + ", " + std::to_string(pi_ - ci_ - 1) + " behind it",
                 .since = begun_,
                 .at = name(),
                 .waits_for = {}};
  if (asked_) n.waits_for = {asked_target_(asked_)};
  list.add(std::move(n));
}

}  // namespace hcasim
