// QPs whose peer is the hostile one.
#include "testbenches/checks/hostile/victim.h"

#include <algorithm>
#include <bit>

namespace hcasim::kit {
namespace {

constexpr ibv_gid gid_of(const hca_gid& g) {
  return std::bit_cast<ibv_gid>(g);
}

}  // namespace

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
      return l.options.type == IBV_QPT_UD ? change_membership(l, random_.below(groups)) : change_access(l);
    case 2:
      return post_receives(l);
    default:
      return post_sends(l);
  }
}

void victim::make_qp(std::size_t i) {
  lair& l = lairs_[i];
  const std::uint64_t x = random_.below(20);
  static constexpr ibv_qp_type others[] = {IBV_QPT_UC,       IBV_QPT_UC,       IBV_QPT_UD,       IBV_QPT_UD,
                                           IBV_QPT_XRC_RECV, IBV_QPT_XRC_RECV, IBV_QPT_XRC_RECV, IBV_QPT_XRC_SEND};
  static const ibv_global_route to_peer{
      .dgid = gid_of(hca_port_gid(attacker::lid)), .flow_label = 0, .sgid_index = 0, .hop_limit = 1, .traffic_class = 0};
  l.options = {.type = x < std::size(others) ? others[x] : IBV_QPT_RC, .qkey = attacker::qkey};
  if (random_.chance(0.25)) l.options.global = &to_peer;
  l.options.send_depth = l.options.receive_depth = 16;
  l.options.timeout = static_cast<std::uint8_t>(random_.chance(0.3) ? 0 : 4 + random_.below(4));
  l.options.retry = static_cast<std::uint8_t>(random_.below(8));
  l.options.read_depth = static_cast<std::uint8_t>(random_.chance(0.2) ? 0 : 4 + random_.below(13));
  l.options.rnr_retry = static_cast<std::uint8_t>(random_.below(8));
  l.qp = l.options.type == IBV_QPT_XRC_RECV ? target(i % domains_.size()) : p_.create_qp(l.options, l.pd, cq_);
  need(l.qp != nullptr, "a QP could not be made");
  if (!l.qp) return;
  ++out_.lives;
  c_.sync();
  prey& q = witness_.preys[i];
  q.type = l.options.type;
  q.granted = l.pd == p_.pd;
  q.global = l.options.global && l.options.type != IBV_QPT_UD;
  q.domain = i % domains_.size();
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
    for (std::size_t g = 0; g < groups; ++g) {
      if (l.member[g]) change_membership(l, g);
    }
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
  if (l.options.type == IBV_QPT_UD || l.options.type == IBV_QPT_XRC_SEND) return;
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
  if (l.options.type == IBV_QPT_XRC_RECV) return;  // it only hears
  const bool asks = is_reliable(l.options.type);
  const bool fetching = random_.chance(0.5);
  for (std::uint64_t n = 1 + random_.below(6); n != 0; --n) {
    request r{.remote = random_.next(), .rkey = static_cast<std::uint32_t>(random_.next())};
    r.srqn = static_cast<std::uint32_t>(random_.below(64));
    r.opcode = asks                           ? reliable[random_.below(std::size(reliable))]
               : l.options.type == IBV_QPT_UC ? unreliable[random_.below(std::size(unreliable))]
                                              : IBV_WR_SEND;
    if (fetching && asks) r.opcode = IBV_WR_RDMA_READ;
    const bool fetches =
        r.opcode == IBV_WR_RDMA_READ || r.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || r.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    const region& at = fetches ? l.inbox : l.outbox;
    // Placed bytes end where the region does: a byte too many would not.
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

template <class Queue>
void victim::post_receives(Queue* queue, const region& at, std::deque<posted_receive>& posted) {
  for (std::uint32_t k = 0; k < receives; ++k) {
    const std::uint64_t bytes = random_.chance(0.7) ? receive_bytes : 1 + random_.below(receive_bytes);
    const std::uint64_t end = at.addr + (k + 1) * receive_bytes;
    posted.push_back({++receives_posted_, end - bytes, bytes});
    if (post_receive(c_, queue, receives_posted_, {{end - bytes, static_cast<std::uint32_t>(bytes), at.mr->lkey}}) != 0) {
      posted.pop_back();
      return;
    }
  }
}

// A target has none of its own; those of its domain get some.
void victim::post_receives(lair& l) {
  const auto i = static_cast<std::size_t>(&l - lairs_.data());
  if (l.options.type != IBV_QPT_XRC_RECV) return post_receives(l.qp, l.receive, witness_.preys[i].receives);
  for (const shared_end& e : ends_) {
    if (e.domain != i % domains_.size() || !e.srq) continue;
    std::uint32_t number = 0;
    ibv_get_srq_num(e.srq, &number);
    for (shared_receives& s : witness_.srqs) {
      if (s.number == number && s.until == never) post_receives(e.srq, e.receive[e.granted], s.receives);
    }
  }
}

ibv_qp* victim::target(std::size_t domain) {
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_RECV;
  init.xrcd = domains_[domain];
  return ibv_create_qp_ex(c_, p_.context, &init);
}

// Until it is out of the group packets may come, and from the order that makes it a member on.
void victim::change_membership(lair& l, std::size_t group) {
  prey& q = witness_.preys[static_cast<std::size_t>(&l - lairs_.data())];
  const ibv_gid gid = gid_of(group_gid(group));
  const bool joins = !l.member[group];
  c_.sync();
  if (joins) q.join(group);
  need((joins ? ibv_attach_mcast : ibv_detach_mcast)(c_, l.qp, &gid, group_lids[group]) == 0,
       "a membership could not be changed");
  c_.sync();
  if (!joins) q.part(group, now());
  l.member[group] = joins;
}

// A peer can guess its number before it is told.
void victim::make_srq(shared_end& e) {
  constexpr std::size_t kept = 32;
  std::deque<shared_receives>& all = witness_.srqs;
  c_.sync();
  if (all.size() == kept) {
    all.erase(std::find_if(all.begin(), all.end(), [](const shared_receives& s) { return s.until != never; }));
  }
  e.granted = random_.chance(0.6);
  all.push_back({shared_receives::any, e.domain, e.granted, never, {}});
  ibv_srq_init_attr_ex init{};
  init.attr = {16, 1, 0};
  init.srq_type = IBV_SRQT_XRC;
  init.pd = e.granted ? p_.pd : other_pd_;
  init.xrcd = domains_[e.domain];
  init.cq = cq_;
  e.srq = ibv_create_srq_ex(c_, p_.context, &init);
  c_.sync();
  need(e.srq && ibv_get_srq_num(e.srq, &all.back().number) == 0, "an SRQ could not be made");
  for (std::size_t i = e.domain; i < lairs_.size(); i += domains_.size()) {
    witness_.preys[i].srqns[e.granted ? 0 : 1] = all.back().number;
  }
}

void victim::destroy_srq(shared_end& e) {
  std::uint32_t number = 0;
  ibv_get_srq_num(e.srq, &number);
  need(ibv_destroy_srq(c_, std::exchange(e.srq, nullptr)) == 0, "an SRQ could not be destroyed");
  c_.sync();
  for (shared_receives& s : witness_.srqs) {
    if (s.number == number) s.until = std::min(s.until, now());
  }
}

}  // namespace hcasim::kit
