#include "models/adapter/responder/held_packets.h"

namespace hcasim {

packet& held_packets::copy_of(replication& r) {
  packet& own = pool_.get();
  copy(*r.original, own);
  own.waiter = {};
  own.via = nullptr;  // no socket waits for its response
  own.context = &r;
  own.holder = r.original->holder;
  return own;
}

void held_packets::release_copy(packet& p) {
  auto& r = *static_cast<replication*>(p.context);
  pool_.put(p);
  if (--r.left != 0) return;
  packet& original = *r.original;
  replications_.put(r);
  release(original);
}

}  // namespace hcasim
