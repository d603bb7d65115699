// Lists the bursts that wait in the ATC.
#include "models/adapter/atc/atc.h"

namespace hcasim {

void atc::list_waiting(waiting_list& list) const {
  lookups_.each_in_use([&](const lookup& l) {
    list.add({.kind = l.status == lookup::state::page_asked ? "page request" : "translation request",
              .text = std::string("page ") + hex_text(l.page) + ", " + std::to_string(l.waiting.size()) + " bursts wait for it",
              .since = l.begun,
              .at = name(),
              .waits_for = {nearest("pcie")}});
  });
}

}  // namespace hcasim
