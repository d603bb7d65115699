// Lists the changes that wait in the window unit.
#include "models/adapter/window_unit/window_unit.h"

namespace hcasim {

void window_unit::list_waiting(waiting_list& list) const {
  for (const begun& b : begun_) {
    list.add({.kind = "change of a key",
              .text = std::string("key ") + hex_text(b.request->key),
              .since = b.at,
              .at = name(),
              .waits_for = {keys.target() + " drains", mrc.target(), walker.target(), qpc.target()}});
  }
}

}  // namespace hcasim
