// Accesses of the peer and of the owner itself.
#include "testbenches/checks/key_walk/walk_owner.h"

namespace hcasim::testing {

std::uint64_t walk_owner::piece_host(std::uint32_t i, std::uint32_t k) const {
  return arena_ + (regions + fasts) * region_bytes + ((i - first_space) * pieces + k) * page;
}

std::uint64_t walk_owner::host_of(const thing& t, std::uint64_t va, std::uint32_t i) const {
  if (t.what != oracle::kind::space) return t.host + (va - t.start);
  for (std::uint32_t k = 0; k < pieces; ++k) {
    if (t.piece_va[k] != 0 && va >= t.piece_va[k] && va < t.piece_va[k] + page) return piece_host(i, k) + (va - t.piece_va[k]);
  }
  return 0;
}

void walk_owner::access(std::uint32_t lane, std::uint32_t i, use how, std::uint32_t first, std::uint32_t length, bool stale) {
  const thing& t = things_[i];
  wait_lane(lane);
  lane_state& l = lanes_[lane];
  l.order = {.lane = lane,
             .how = how,
             .va = place(t, first),
             .key = key_of(t, stale),
             .bytes = 1 + length % static_cast<std::uint32_t>(page)};
  if (how == use::atomic) {
    l.order.va &= ~std::uint64_t{7};
    l.order.bytes = 8;
  }
  l.order.pattern = static_cast<std::uint8_t>(++patterns_ | 1);
  l.busy = true;
  l.may_pass = l.may_fail = false;
  see(l);
  s_.orders.send(c_, l.order);
  if (s_.o.racing) return;
  const peer_answer a = answer_of(lane);
  if (a.status == IBV_WC_SUCCESS && !failed()) moved(t, i, l.order, a);
}

void walk_owner::moved(const thing& t, std::uint32_t i, const peer_order& o, const peer_answer& a) {
  std::uint64_t before = 0;
  for (std::uint32_t k = 0; k < o.bytes; ++k) {
    std::uint8_t& byte = shadow_.at(host_of(t, o.va + k, i) - arena_);
    if (o.how == use::write) byte = pattern_byte(o.pattern, k);
    if (o.how == use::read && byte != a.data[k]) return problem("a READ brought other bytes");
    if (o.how == use::atomic) before |= std::uint64_t{byte} << 8 * k;
  }
  if (o.how != use::atomic) return;
  std::uint64_t brought = 0;
  for (std::uint32_t k = 0; k < 8; ++k) brought |= std::uint64_t{a.data[k]} << 8 * k;
  if (brought != before) return problem("an atomic brought another value");
  for (std::uint32_t k = 0; k < 8; ++k) {
    shadow_.at(host_of(t, o.va + k, i) - arena_) = static_cast<std::uint8_t>((before + o.pattern) >> 8 * k);
  }
}

void walk_owner::local(std::uint32_t lane, std::uint32_t i, bool write, std::uint32_t first, std::uint32_t length, bool stale) {
  const thing& t = things_[i];
  if (t.key == 0) return;
  wait_lane(lane);
  lane_state& l = lanes_[lane];
  const std::uint64_t va = place(t, first);
  const std::uint32_t bytes = 1 + length % page;
  const std::uint32_t key = key_of(t, stale);
  if (write && s_.peer) s_.peer->fill(l.scratch.addr, bytes, static_cast<std::uint8_t>(++patterns_));
  const bool allowed = told_.allowed(key, write ? use::local_write : use::local_read, l.who, va, bytes);
  for (std::uint32_t k = 0; k < bytes && allowed; ++k) may_grant(host_of(t, va + k, i), 1);
  const ibv_wc wc = complete(c_, l.qp,
                             {.opcode = write ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                              .id = 9,
                              .sges = {{va, bytes, key}},
                              .remote = l.scratch.addr,
                              .rkey = l.scratch.lkey});
  const bool passed = wc.status == IBV_WC_SUCCESS;
  c_.sync();
  show_grants();
  ++(passed ? s_.result.granted : s_.result.denied);
  if (passed != allowed || (!passed && wc.status != IBV_WC_LOC_PROT_ERR)) {
    return problem(std::string("a local access ended with ") + ibv_wc_status_str(wc.status));
  }
  if (!passed) return repair(lane);
  const std::vector<std::uint8_t> there = s_.peer->bytes(l.scratch.addr, bytes);
  for (std::uint32_t k = 0; k < bytes && !s_.o.racing; ++k) {
    std::uint8_t& byte = shadow_.at(host_of(t, va + k, i) - arena_);
    if (write) byte = there[k];
    if (byte != there[k]) return problem("a local access moved other bytes");
  }
}

bool walk_owner::denies(ibv_wc_status status) const {
  return status == IBV_WC_REM_ACCESS_ERR || (s_.nak_may_be_lost && status == IBV_WC_RETRY_EXC_ERR);
}

std::string walk_owner::describe(const peer_order& o) {
  static constexpr const char* names[] = {"local read", "local write", "READ", "WRITE", "FETCH_ADD"};
  return std::string(names[static_cast<std::size_t>(o.how)]) + " of " + std::to_string(o.bytes) + " bytes at " +
         std::to_string(o.va) + " under key " + std::to_string(o.key) + " on lane " + std::to_string(o.lane) + ": ";
}

void walk_owner::finish(const peer_answer& a) {
  lane_state& l = lanes_[a.lane];
  l.busy = false;
  const bool passed = a.status == IBV_WC_SUCCESS;
  ++(passed ? s_.result.granted : s_.result.denied);
  if (!passed && !denies(a.status)) problem(std::string("an access ended with ") + ibv_wc_status_str(a.status));
  if (passed && !l.may_pass) problem("an access was granted that the oracle denies: " + describe(l.order));
  if (!passed && !l.may_fail)
    problem("an access was denied that the oracle grants: " + describe(l.order) + ibv_wc_status_str(a.status));
  if (!passed) broken_.push_back(a.lane);
}

}  // namespace hcasim::testing
