// Multicast: a packet to a group becomes as many as the group has QPs here, each with a copy of its own. The packet itself
// holds its receive buffer until the last one is done with.
#include <cstring>

#include "models/adapter/responder/responder.h"

namespace hcasim {
namespace {

constexpr unsigned longest_list = 4096;  // of groups of one hash; a longer one is a circle

}  // namespace

// The members of the group that a packet is for, in their order; none = it has no group here.
task<bool> responder::find_group(const packet& p, hca_group& g, ps& t) {
  std::uint32_t number = groups_[hca_group_hash(&p.grh.dest)];
  for (unsigned steps = 0; number != 0 && steps < longest_list; ++steps) {
    context_request c;
    c.index = number;
    c.operation = p.operation;
    co_await qpc.request(c, t);
    if (c.failed) co_return false;
    std::memcpy(&g, c.entry, sizeof g);
    qpc.release(c);
    if (g.transport != HCA_TRANSPORT_GROUP) co_return false;  // it has ended meanwhile
    if (g.gid == p.grh.dest && g.lid == p.header.dest_lid) co_return true;
    number = g.next;
  }
  co_return false;
}

// Packets of groups are looked up one after the other, so that they come to their QPs in the order in which they came here.
process responder::serve_groups() {
  serving_groups_ = true;
  while (!group_inbox_.empty()) {
    packet& p = *group_inbox_.pop();
    ps t = now();
    hca_group g;
    const bool found = co_await find_group(p, g, t);
    if (found && g.members != 0) {
      ++group_packets_;
      replicate(p, g);
    } else {
      ++dropped_;
      release_packet(p);
    }
  }
  serving_groups_ = false;
}

void responder::replicate(packet& p, const hca_group& g) {
  replication& r = replications_.get();
  r = {this, &p, g.members};
  for (std::uint32_t i = 0; i < g.members; ++i) {
    packet& own = packet_pool_.get();
    copy(p, own);
    own.header.dest_qpn = g.qpn[i];
    own.waiter = {};
    own.via = nullptr;  // no socket waits for its answer
    own.context = &r;
    own.holder = this;
    ++group_copies_;
    engine_.ask(requests, {[](void* x) {
                             auto& due = *static_cast<packet*>(x);
                             static_cast<responder*>(due.holder)->arrive(due);
                           },
                           &own});
  }
}

void responder::copy_done(packet& p) {
  auto& r = *static_cast<replication*>(p.context);
  packet_pool_.put(p);
  if (--r.left != 0) return;
  packet& original = *r.original;
  replications_.put(r);
  release_packet(original);
}

}  // namespace hcasim
