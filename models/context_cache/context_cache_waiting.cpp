// What waits here, for who asks.
#include "models/context_cache/context_cache.h"

namespace hcasim {

void context_cache::list_waiting(waiting_list& list) const {
  pendings_.each_in_use([&](const pending& p) {
    const bool drop = p.request->op == context_op::drop;
    list.add({.kind = drop ? "context to drop" : "context to fetch",
              .text = std::to_string(p.request->index) + ", " + std::to_string(pins_) + " entries are lent",
              .since = p.t,
              .at = name(),
              .waits_for = {dma.target()}});
  });
}

}  // namespace hcasim
