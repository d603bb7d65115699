// QPs whose peer is the hostile one.
#include "testbenches/hostile/victim.h"

namespace hcasim::kit {

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

}  // namespace hcasim::kit
