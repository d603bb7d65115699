#include "testbenches/hostile/victim.h"

#include <algorithm>

namespace hcasim::kit {
namespace {

std::uint8_t shadow_rights(unsigned access) {
  if ((access & IBV_ACCESS_REMOTE_ATOMIC) != 0) return shadow::anything;
  return static_cast<std::uint8_t>(((access & IBV_ACCESS_REMOTE_READ) != 0 ? shadow::read : 0) |
                                   ((access & IBV_ACCESS_REMOTE_WRITE) != 0 ? shadow::write : 0));
}

}  // namespace

victim::victim(hcasim::system& s, const hostile_options& o, std::uint64_t seed, hostile_outcome& out, cpu& c, node& n)
    : o_(o),
      out_(out),
      c_(c),
      p_(c, n),
      random_(seed, "victim"),
      memory_(p_, (o.qps + grounds + 1) * slot_bytes),
      witness_(s, memory_, p_.memory),
      attacker_(s, witness_.preys, seed, out) {}

void victim::run() {
  set_up();
  o_.parts.begin(c_);
  attacker_.start(o_.packets, o_.apart);
  while (good() && !attacker_.done() && memory_.violations() + witness_.seen() == 0) step();
  attacker_.stop();
  o_.parts.end(c_);
  while (good() && !out_.good.ok && out_.good.problem.empty()) {
    c_.spend(50_us);
    drain();
  }
  if (good()) clean_up();
  memory_.check();
  out_.outside = memory_.violations();
  out_.moved = memory_.bytes_moved();
  out_.shown = witness_.bytes_shown();
  out_.wrongly_shown = witness_.wrongly_shown();
  out_.misused = witness_.misused();
  need(out_.outside == 0, memory_.violation().c_str());
  need(out_.wrongly_shown + out_.misused == 0, witness_.violation().c_str());
  out_.ok = good();
}

region victim::part(std::uint64_t va, std::uint64_t bytes, int access, std::uint8_t rights, ibv_pd* pd) {
  memory_.grant(va, bytes, rights);
  region r{va, bytes, ibv_reg_mr(c_, pd, va, bytes, access)};
  need(r.mr != nullptr, "a region could not be registered");
  return r;
}

void victim::set_up() {
  other_pd_ = ibv_alloc_pd(c_, p_.context);
  cq_ = ibv_create_cq(c_, p_.context, static_cast<int>(256 * o_.qps), nullptr, nullptr, 0);
  binds_ = ibv_create_cq(c_, p_.context, 64, nullptr, nullptr, 0);
  control_ = p_.create_qp({.privileged = true}, nullptr, binds_);
  need(other_pd_ && cq_ && p_.connect(control_, p_.address_of(control_)) == 0, "the victim cannot be set up");
  lairs_.resize(o_.qps);
  witness_.preys.resize(o_.qps);
  for (std::size_t i = 0; i < lairs_.size(); ++i) {
    lair& l = lairs_[i];
    l.pd = i % 4 == 3 ? other_pd_ : p_.pd;
    const std::uint64_t at = memory_.begin() + i * slot_bytes;
    l.inbox = part(at + 256, inbox_bytes, IBV_ACCESS_LOCAL_WRITE, shadow::anything, l.pd);
    l.receive = part(at + page + 100, receives * receive_bytes, IBV_ACCESS_LOCAL_WRITE, shadow::anything, l.pd);
    l.outbox = part(at + 2 * page + 33, inbox_bytes, 0, shadow::read, l.pd);
    witness_.preys[i].inbox = l.inbox;
    attacker_.baits.push_back({l.inbox.mr->rkey, l.inbox.addr, l.inbox.length});  // no right of a peer's
  }
  grounds_.resize(grounds);
  for (std::size_t i = 0; i < grounds_.size(); ++i) {
    ground& g = grounds_[i];
    g.begin = memory_.begin() + (o_.qps + i) * slot_bytes;
    attacker_.baits.push_back({1, g.begin, slot_bytes});
    attacker_.baits.push_back({1, g.begin, slot_bytes});
    if (i < regions) continue;
    if (i >= regions + windows) {
      g.way = kind::fast_region;
      g.mr = hcax_alloc_fast_mr(c_, p_.pd, static_cast<int>(slot_bytes / page));
      need(g.mr != nullptr, "a region for fast registration could not be made");
      continue;
    }
    g.way = kind::window;
    g.mr = ibv_reg_mr(c_, p_.pd, g.begin, slot_bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    g.mw = ibv_alloc_mw(c_, p_.pd, IBV_MW_TYPE_1);
    need(g.mr && g.mw, "a window could not be made");
  }
  const std::uint64_t tied = memory_.begin() + (o_.qps + grounds) * slot_bytes;
  for (int k = 0; k < 4; ++k) attacker_.baits.push_back({1, tied, slot_bytes});
  tied_region_ = ibv_reg_mr(c_, p_.pd, tied, slot_bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  need(tied_region_ != nullptr, "a window could not be made");
  c_.sync();
}

void victim::step() {
  if (random_.chance(0.6)) {
    step_qp(some_lair());
  } else if (random_.chance(0.1)) {
    change_ties();
  } else {
    ground& g = grounds_[random_.below(grounds_.size())];
    ++out_.changes;
    c_.sync();
    switch (g.way) {
      case kind::region:
        change(g);
        break;
      case kind::window:
        change_window(g);
        break;
      case kind::fast_region:
        change_fast_region(g);
        break;
    }
  }
  drain();
  c_.spend(ps(static_cast<std::int64_t>(random_.below(2'000'000))));
  c_.sync();
}

// Mostly one that is of no use as it is.
std::size_t victim::some_lair() {
  const std::size_t first = random_.below(lairs_.size());
  if (random_.chance(0.5)) return first;
  for (std::size_t n = 0; n < lairs_.size(); ++n) {
    const std::size_t i = (first + n) % lairs_.size();
    if (!lairs_[i].connected || witness_.preys[i].broken) return i;
  }
  return first;
}

void victim::step_qp(std::size_t i) {
  lair& l = lairs_[i];
  if (!l.qp) return make_qp(i);
  if (!l.connected) return random_.chance(0.1) ? leave(i, true) : connect(i);
  const ibv_qp_state state = p_.state(l.qp);
  const bool broken = state == IBV_QPS_ERR || state == IBV_QPS_SQE;
  if (random_.chance(broken ? 0.7 : 0.1)) return leave(i, random_.chance(0.4));
  switch (random_.below(6)) {
    case 0:
      return modify(l);
    case 1:
      return change_access(l);
    case 2:
      return post_receives(l);
    default:
      return post_sends(l);
  }
}

void victim::make_qp(std::size_t i) {
  lair& l = lairs_[i];
  const std::uint64_t x = random_.below(20);
  l.options = {.type = x < 16 ? IBV_QPT_RC : x < 18 ? IBV_QPT_UC : IBV_QPT_UD, .qkey = attacker::qkey};
  l.options.send_depth = l.options.receive_depth = 16;
  l.options.timeout = static_cast<std::uint8_t>(random_.chance(0.3) ? 0 : 4 + random_.below(4));
  l.options.retry = static_cast<std::uint8_t>(random_.below(8));
  l.options.read_depth = static_cast<std::uint8_t>(random_.chance(0.2) ? 0 : 4 + random_.below(13));
  l.options.rnr_retry = static_cast<std::uint8_t>(random_.below(8));
  l.qp = p_.create_qp(l.options, l.pd, cq_);
  ++out_.lives;
  c_.sync();
  prey& q = witness_.preys[i];
  q.type = l.options.type;
  q.granted = l.pd == p_.pd;
  q.begin(l.qp->qp_num, peers_++, static_cast<std::uint32_t>(random_.next()) & wire::psn_mask);
}

// The hostile peer is told first: what it sends comes before, between and behind the changes of state.
void victim::connect(std::size_t i) {
  lair& l = lairs_[i];
  c_.sync();
  prey& q = witness_.preys[i];
  q.begin(l.qp->qp_num, peers_++, static_cast<std::uint32_t>(random_.next()) & wire::psn_mask);
  l.options.psn = static_cast<std::uint32_t>(random_.next()) & wire::psn_mask;
  l.options.access = qp_rights & static_cast<unsigned>(random_.chance(0.6) ? ~0ULL : random_.next());
  q.agree(effective(l), now());
  need(p_.connect(l.qp, {attacker::lid, q.here, q.expected}, l.options) == 0 || p_.state(l.qp) == IBV_QPS_ERR,
       "a QP could not be connected");
  l.connected = true;
  for (int k = 0; k < 6; ++k) post_receives(l);
}

void victim::leave(std::size_t i, bool for_ever) {
  lair& l = lairs_[i];
  if (for_ever) {
    need(ibv_destroy_qp(c_, l.qp) == 0, "a QP could not be destroyed");
    l.qp = nullptr;
  } else {
    need(p_.reset(l.qp) == 0, "a QP could not be reset");
  }
  l.connected = false;
  c_.sync();
  prey& q = witness_.preys[i];
  q.end_terms(0, now());
  q.receives.clear();
  if (for_ever) q.here = 0;  // it goes on sending to the number
}

// Whether a change is possible depends on what the hostile peer has made of the QP.
void victim::modify(lair& l) {
  ibv_qp_attr a{};
  int what = IBV_QP_STATE;
  switch (random_.below(8)) {
    case 0:
      a.qp_state = IBV_QPS_SQD;
      break;
    case 1:
    case 2:
      a.qp_state = IBV_QPS_RTS;
      break;
    case 3:
      if (random_.chance(0.7)) return;
      a.qp_state = IBV_QPS_ERR;
      break;
    default:
      return change_access(l);
  }
  ibv_modify_qp(c_, l.qp, &a, what);
}

// Until the change is complete the old rights hold beside the new ones.
void victim::change_access(lair& l) {
  if (l.options.type == IBV_QPT_UD) return;
  prey& q = witness_.preys[static_cast<std::size_t>(&l - lairs_.data())];
  const unsigned before = l.options.access;
  ibv_qp_attr a{};
  a.qp_access_flags = l.options.access = qp_rights & static_cast<unsigned>(random_.next());
  c_.sync();
  q.agree(effective(l), now());
  const bool changed = ibv_modify_qp(c_, l.qp, &a, IBV_QP_ACCESS_FLAGS) == 0;
  c_.sync();
  if (changed) {
    q.end_terms(1, now());
    q.nudges = 4;
  } else {
    l.options.access = before;
    q.agreed.pop_back();
  }
}

void victim::post_sends(lair& l) {
  static constexpr ibv_wr_opcode reliable[] = {
      IBV_WR_RDMA_WRITE,           IBV_WR_RDMA_READ,          IBV_WR_RDMA_READ,          IBV_WR_SEND,
      IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_RDMA_WRITE_WITH_IMM};
  static constexpr ibv_wr_opcode unreliable[] = {IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM};
  const bool fetching = random_.chance(0.5);
  for (std::uint64_t n = 1 + random_.below(6); n != 0; --n) {
    request r{.remote = random_.next(), .rkey = static_cast<std::uint32_t>(random_.next())};
    r.opcode = l.options.type == IBV_QPT_RC   ? reliable[random_.below(std::size(reliable))]
               : l.options.type == IBV_QPT_UC ? unreliable[random_.below(std::size(unreliable))]
                                              : IBV_WR_SEND;
    if (fetching && l.options.type == IBV_QPT_RC) r.opcode = IBV_WR_RDMA_READ;
    const bool fetches =
        r.opcode == IBV_WR_RDMA_READ || r.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || r.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    const region& at = fetches ? l.inbox : l.outbox;
    // What is placed ends where the region does: a byte too many would not.
    const auto bytes = static_cast<std::uint32_t>(fetches && r.opcode != IBV_WR_RDMA_READ ? 8
                                                  : l.options.type == IBV_QPT_UD          ? 1 + random_.below(attacker::mtu)
                                                                                          : 1 + random_.below(inbox_bytes));
    r.sges = {{at.addr + at.length - bytes, bytes, at.mr->lkey}};
    if (random_.chance(0.2)) r.flags = 0;
    if (l.options.type == IBV_QPT_UD) {
      ibv_ah_attr to{attacker::lid, 0, 1};
      if (!l.ah) l.ah = ibv_create_ah(c_, l.pd, &to);
      r.ah = l.ah;
      r.qpn = witness_.preys[static_cast<std::size_t>(&l - lairs_.data())].here;
    }
    if (post(c_, l.qp, r) != 0) return;  // it is full, or not in RTS
  }
}

void victim::post_receives(lair& l) {
  prey& q = witness_.preys[static_cast<std::size_t>(&l - lairs_.data())];
  for (std::uint32_t k = 0; k < receives; ++k) {
    const std::uint64_t bytes = random_.chance(0.7) ? receive_bytes : 1 + random_.below(receive_bytes);
    const std::uint64_t end = l.receive.addr + (k + 1) * receive_bytes;
    q.receives.push_back({++receives_posted_, end - bytes, bytes});
    if (post_receive(c_, l.qp, receives_posted_, {{end - bytes, static_cast<std::uint32_t>(bytes), l.receive.mr->lkey}}) != 0) {
      q.receives.pop_back();
      return;
    }
  }
}

void victim::choose(ground& g) {
  g.va = g.begin + random_.below(slot_bytes - page);
  g.bytes = 1 + random_.below(g.begin + slot_bytes - g.va);
  g.access = qp_rights & static_cast<unsigned>(random_.next());
  if (random_.chance(0.7)) g.access &= ~unsigned{IBV_ACCESS_REMOTE_ATOMIC};
}

void victim::set_bait(const ground& g, std::uint32_t key, ps order) {
  witness_.keys.give({key, g.access, g.va, g.bytes, g.way == kind::fast_region}, order, now());
  show_bait(o_.qps + 2 * static_cast<std::size_t>(&g - grounds_.data()),
            {key, g.va, g.bytes, g.access & qp_rights, g.way == kind::fast_region});
}

// The old key stays known beside the new one.
void victim::show_bait(std::size_t place, const bait& b) {
  attacker_.baits[place + 1] = attacker_.baits[place];
  attacker_.baits[place + 1].access = 0;
  attacker_.baits[place] = b;
}

void victim::take(ground& g) {
  if (g.bytes != 0) memory_.revoke(g.va, g.bytes);
  g.bytes = 0;
  attacker_.baits[o_.qps + 2 * static_cast<std::size_t>(&g - grounds_.data())].access = 0;
}

void victim::change(ground& g) {
  if (!g.mr) {
    choose(g);
    memory_.grant(g.va, g.bytes, shadow_rights(g.access));
    const ps order = now();
    g.mr = ibv_reg_mr(c_, p_.pd, g.va, g.bytes, static_cast<int>(g.access | IBV_ACCESS_LOCAL_WRITE));
    need(g.mr != nullptr, "a region could not be registered");
    if (g.mr) set_bait(g, g.mr->rkey, order);
  } else if (random_.chance(0.3)) {
    hand_over(g);
  } else if (random_.chance(0.5)) {  // from the order on the new rights as well, until it is complete the old ones
    const auto access = qp_rights & static_cast<unsigned>(random_.next());
    memory_.grant(g.va, g.bytes, shadow_rights(access));
    const ps order = now();
    const std::uint32_t old = g.mr->rkey;
    need(ibv_rereg_mr(c_, g.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, static_cast<int>(access | IBV_ACCESS_LOCAL_WRITE)) ==
             0,
         "a region could not be re-registered");
    c_.sync();
    const std::uint64_t bytes = g.bytes;
    witness_.keys.take(old, now());
    take(g);
    g.access = access;
    g.bytes = bytes;
    memory_.grant(g.va, g.bytes, shadow_rights(access));
    set_bait(g, g.mr->rkey, order);
  } else {
    const std::uint32_t old = g.mr->rkey;
    need(ibv_dereg_mr(c_, g.mr) == 0, "a region could not be deregistered");
    c_.sync();
    witness_.keys.take(old, now());
    g.mr = nullptr;
    take(g);
  }
}

// The bytes stay granted, by another key: only the old key tells that it is none any more.
void victim::hand_over(ground& g) {
  const ps order = now();
  ibv_mr* const next = ibv_reg_mr(c_, p_.pd, g.va, g.bytes, static_cast<int>(g.access | IBV_ACCESS_LOCAL_WRITE));
  need(next != nullptr, "a region could not be registered a second time");
  if (!next) return;
  const std::uint32_t old = g.mr->rkey;
  need(ibv_dereg_mr(c_, g.mr) == 0, "a region could not be deregistered");
  c_.sync();
  witness_.keys.take(old, now());
  g.mr = next;
  set_bait(g, next->rkey, order);
}

void victim::change_window(ground& g) {
  ibv_mw_bind_info what{g.mr, 0, 0, 0};
  ground fresh = g;
  if (g.bytes == 0 || random_.chance(0.4)) {
    choose(fresh);
    if (g.bytes != 0) {  // beside what is bound, so that each has its time
      fresh.va = g.va > g.begin + slot_bytes / 2 ? g.begin : g.begin + slot_bytes - page;
      fresh.bytes = g.va > g.begin + slot_bytes / 2 ? page : g.va + g.bytes <= fresh.va ? page : 0;
    }
    if (fresh.bytes == 0) return;
    memory_.grant(fresh.va, fresh.bytes, shadow_rights(fresh.access));
    what = {g.mr, fresh.va, fresh.bytes, fresh.access};
  } else {
    fresh.bytes = 0;
  }
  const ps order = now();
  const std::uint32_t old = g.mw->rkey;
  need(bind_type_1(c_, control_, g.mw, what).status == IBV_WC_SUCCESS, "a window could not be bound");
  c_.sync();
  witness_.keys.take(old, now());
  take(g);
  g = fresh;
  if (g.bytes != 0) set_bait(g, g.mw->rkey, order);
}

// A region whose key stays, and which is free between two registrations.
void victim::change_fast_region(ground& g) {
  if (g.bytes != 0) {
    const std::uint32_t old = g.mr->rkey;
    need(local_inv(c_, control_, old).status == IBV_WC_SUCCESS, "a region could not be invalidated");
    c_.sync();
    witness_.keys.take(old, now());
    return take(g);
  }
  choose(g);
  memory_.grant(g.va, g.bytes, shadow_rights(g.access));
  const ps order = now();
  need(hcax_map_mr(p_.c, g.mr, g.va, g.bytes) == 0, "a region could not be mapped");
  const std::uint32_t key = random_.chance(0.5) ? ibv_inc_rkey(g.mr->rkey) : g.mr->rkey;
  need(reg_mr(c_, control_, g.mr, key, g.access | IBV_ACCESS_LOCAL_WRITE).status == IBV_WC_SUCCESS,
       "a region could not be registered fast");
  c_.sync();
  set_bait(g, g.mr->rkey, order);
}

// A window and an address space that one QP alone may be reached through, then no QP: its number comes round.
void victim::change_ties() {
  if (tied_) {
    need(ibv_destroy_qp(c_, std::exchange(tied_, nullptr)) == 0, "a QP could not be destroyed");
    return;
  }
  if (tied_window_ && random_.chance(0.9)) return;
  if (tied_window_) need(ibv_dealloc_mw(c_, std::exchange(tied_window_, nullptr)) == 0, "a window could not be freed");
  tied_ = p_.create_qp({}, nullptr, binds_);
  need(tied_ && p_.connect(tied_, p_.address_of(tied_)) == 0, "a QP could not be connected");
  if (good()) tie(tied_);
}

void victim::tie(ibv_qp* to) {
  const std::uint64_t begin = memory_.begin() + (o_.qps + grounds) * slot_bytes;
  const std::size_t place = o_.qps + 2 * grounds;
  tied_window_ = ibv_alloc_mw(c_, p_.pd, IBV_MW_TYPE_2);
  need(tied_window_ && bind(c_, to, tied_window_, ibv_inc_rkey(tied_window_->rkey),
                            {tied_region_, begin, slot_bytes, IBV_ACCESS_REMOTE_READ})
                               .status == IBV_WC_SUCCESS,
       "a window could not be bound");
  if (!tied_window_) return;
  show_bait(place, {tied_window_->rkey, begin, slot_bytes, IBV_ACCESS_REMOTE_READ, true});
  const x_buffer half{begin, slot_bytes / 2};
  x_result r;
  need(x_register(c_, p_.pd, to, {&half, 1}, qp_rights | IBV_ACCESS_LOCAL_WRITE, X_EXTEND, &r) == 0,
       "an address space could not be made");
  show_bait(place + 2, {r.key, r.added, half.length, qp_rights});
}

void victim::drain() {
  ibv_wc wc{};
  while (ibv_poll_cq(c_, cq_, 1, &wc) == 1) {
    ++out_.completions;
    for (prey& q : witness_.preys) {
      std::erase_if(q.receives, [&](const prey::receive& r) { return r.id == wc.wr_id; });
      q.broken |= q.qpn == wc.qp_num && wc.status != IBV_WC_SUCCESS;
    }
    if ((wc.wc_flags & IBV_WC_WITH_INV) != 0) {
      need(!tied_window_ || wc.invalidated_rkey != tied_window_->rkey, "a peer has invalidated a window of another QP");
      witness_.invalidated(wc.qp_num, wc.invalidated_rkey);
    }
  }
  c_.sync();
}

void victim::clean_up() {
  c_.spend(2_ms);
  c_.sync();
  for (std::size_t i = 0; i < lairs_.size(); ++i) {
    if (lairs_[i].qp) leave(i, true);
    if (lairs_[i].ah) ibv_destroy_ah(c_, lairs_[i].ah);
  }
  if (tied_) need(ibv_destroy_qp(c_, tied_) == 0, "a QP could not be destroyed");
  if (tied_window_) need(ibv_dealloc_mw(c_, tied_window_) == 0, "a window could not be freed");
  need(ibv_dereg_mr(c_, tied_region_) == 0, "a region could not be deregistered");
  for (ground& g : grounds_) {
    if (g.mw) need(ibv_dealloc_mw(c_, g.mw) == 0, "a window could not be freed");
    if (g.mr) need(ibv_dereg_mr(c_, g.mr) == 0, "a region could not be deregistered");
    c_.sync();
    take(g);
  }
  drain();
  need(p_.close(), "the victim's process could not be closed");
  c_.spend(2_ms);
  c_.sync();
}

}  // namespace hcasim::kit
