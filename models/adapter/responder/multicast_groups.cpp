#include "models/adapter/responder/multicast_groups.h"

#include <cstring>

#include "models/adapter/responder/request_arrivals.h"
#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

constexpr unsigned longest_list = 4096;  // of groups of one hash; a longer one is a circle

}  // namespace

// Finds the group of a packet with its members in order; false = the packet's group has no members here.
task<bool> multicast_groups::find(const packet& p, hca_group& g, ps& t) {
  std::uint32_t number = first_[hca_group_hash(&p.grh.dest)];
  for (unsigned steps = 0; number != 0 && steps < longest_list; ++steps) {
    context_request c;
    c.index = number;
    c.operation = p.operation;
    co_await qpc_.request(c, t);
    if (c.failed) co_return false;
    std::memcpy(&g, c.entry, sizeof g);
    qpc_.release(c);
    if (g.transport != HCA_TRANSPORT_GROUP) co_return false;  // the group has ended meanwhile
    if (g.gid == p.grh.dest && g.lid == p.header.dest_lid && g.port == p.port) co_return true;
    number = g.next;
  }
  co_return false;
}

process multicast_groups::serve() {
  while (packet* const p = inbox_.next()) {
    ps t = now();
    hca_group g;
    const bool found = co_await find(*p, g, t);
    if (found && g.members != 0) {
      ++counters_.group_packets;
      replicate(*p, g);
    } else {
      ++counters_.dropped;
      held_.release(*p);
    }
  }
}

void multicast_groups::replicate(packet& p, const hca_group& g) {
  held_packets::replication& r = held_.replicate(p, g.members);
  for (std::uint32_t i = 0; i < g.members; ++i) {
    packet& own = held_.copy_of(r);
    own.header.dest_qpn = g.qpn[i];
    ++counters_.group_copies;
    engine_.ask(packet_engine::request, call_holder<&packet::holder, &request_arrivals::arrive>(own));
  }
}

}  // namespace hcasim
