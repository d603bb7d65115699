// Lists the requests that wait in the page walker.
#include "models/adapter/page_walker/page_walker.h"

namespace hcasim {

void page_walker::list_waiting(waiting_list& list) const {
  for (const walk* w : missed_) {
    list.add({.kind = "table walk",
              .text = std::string("table of ") + hex_text(w->map.index) + ", line " + hex_text(w->line) + ", " +
                      std::to_string(w->waiting.size()) + " wait for it",
              .since = w->missed,
              .at = name(),
              .waits_for = {dma.target()}});
  }
}

}  // namespace hcasim
