// Lists the requests that wait in the cache.
#include "models/adapter/context_cache/context_cache.h"

namespace hcasim {

void context_cache::list_waiting(waiting_list& list) const {
  pendings_.each_in_use([&](const pending& p) {
    list.add({.kind = p.request->op == context_op::fetch ? "context to fetch" : "context to drop",
              .text = std::to_string(p.request->index) + ", " + std::to_string(pins_) + " entries are lent",
              .since = p.t,
              .at = name(),
              .waits_for = {dma.target()}});
  });
}

}  // namespace hcasim
