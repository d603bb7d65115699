#include "testbenches/checks/hostile/protection_monitor.h"

#include <algorithm>

#include "testbenches/kit/grant_monitor.h"

namespace hcasim::kit {
namespace {

constexpr std::size_t kept_arrivals = 96;
constexpr std::size_t kept_requests = 8;
constexpr std::size_t kept_fetches = 32;
constexpr std::size_t most_shown = 256;  // the adapter can repeat less
constexpr std::uint32_t most_caused = 64;

template <class T>
void keep_last(std::deque<T>& d, T x, std::size_t most) {
  d.push_back(std::move(x));
  if (d.size() > most) d.pop_front();
}

bool is_atomic(const packet_header& h) {
  return h.shape().atomic;
}
bool is_write(const packet_header& h) {
  const std::uint8_t op = kind_bits(h.opcode);
  return op >= wire::write_first && op <= wire::write_only_imm;
}
bool is_send(const packet_header& h) {
  const std::uint8_t op = kind_bits(h.opcode);
  return op <= wire::send_only_imm || op == wire::send_last_inv || op == wire::send_only_inv;
}

// Returns whether the bytes of `r` equal the payload from `offset` on.
bool holds(const target_qp::arrival& a, std::uint64_t offset, const dma_request& r) {
  return offset <= a.payload.size() && r.bytes <= a.payload.size() - offset &&
         std::equal(r.data, r.data + r.bytes, a.payload.begin() + static_cast<std::ptrdiff_t>(offset));
}
bool holds_anywhere(const target_qp::arrival& a, const dma_request& r) {
  return std::search(a.payload.begin(), a.payload.end(), r.data, r.data + r.bytes) != a.payload.end();
}
// Returns the same for a datagram, from `offset` of its receive on; the receive begins with the room of a GRH.
bool holds_datagram(const target_qp::arrival& a, std::uint64_t offset, const dma_request& r) {
  if (offset >= wire::grh_bytes) return holds(a, offset - wire::grh_bytes, r);
  return offset + r.bytes <= a.grh.size() &&
         std::equal(r.data, r.data + r.bytes, a.grh.begin() + static_cast<std::ptrdiff_t>(offset));
}

// Its check sequence, its versions, and the lengths that its LRH and its GRH name.
bool whole(const packet& p) {
  const std::span<const std::byte> b = p.on_wire();
  const auto at = [b](std::size_t i) { return std::to_integer<unsigned>(b[i]); };
  const bool global = (at(1) & 3) == 3;
  const std::size_t bth = wire::lrh_bytes + (global ? wire::grh_bytes : 0);
  if (!icrc_ok(p, b.size()) || b.size() <= bth + wire::bth_bytes || (at(0) & 0xf) != 0 || (at(1) & 3) < 2 ||
      ((at(4) << 8 | at(5)) & 0x7ff) * std::size_t{4} != b.size() || (at(bth + 1) & 0xf) != 0)
    return false;
  return !global || (at(8) >> 4 == 6 && at(14) == 0x1b && (at(12) << 8 | at(13)) == b.size() - bth);
}

bool is_named(const shared_receives& s, const target_qp& q, const target_qp::arrival& a) {
  return (s.number == a.header.srqn || s.number == shared_receives::any) && s.domain == q.domain && s.until >= a.at;
}

bool within(std::uint64_t begin, std::uint64_t length, std::uint64_t va, std::uint64_t bytes) {
  return va >= begin && va - begin <= length && bytes <= length - (va - begin);
}

}  // namespace

protection_monitor::protection_monitor(hcasim::system& s, const shadow& memory, const virtual_memory& frames)
    : memory_(memory),
      victim_(static_cast<std::uint16_t>(s.config().nodes[0].hca.port.lid)),
      gid_(hca_port_gid(victim_)),
      requests_(s.at(0).hca.port.responder, [this](const packet& p) { came(p); }),
      responses_(s.at(0).hca.port.requester, [this](const packet& p) { came(p); }),
      answers_(s.at(0).hca.responder.egress.front(), [this](const packet& p) { answered(p); }),
      asked_(s.at(0).hca.requester.egress.front(), [this](const packet& p) { asked(p); }),
      responder_(s.at(0).hca.responder.dma, [this](const dma_request& r) { moved(r); }),
      requester_(s.at(0).hca.requester.dma, [this](const dma_request& r) { moved(r); }) {
  constexpr std::uint64_t page = grant_monitor::page_bytes;
  for (std::uint64_t at = memory.begin(); at < memory.begin() + memory.bytes(); at += page) {
    frames_[frames.translate(at) / page] = at;
  }
}

std::string protection_monitor::violation() const {
  if (!violation_.empty() || keys.misused() == 0) return violation_;
  return "a packet whose key did not allow it was executed";
}

void protection_monitor::note(bool ok, std::uint64_t& count, std::uint64_t bytes, const char* what) {
  if (ok) return;
  count += bytes;
  if (violation_.empty()) violation_ = what;
}

// Returns whether the packet has the victim's LID, and its GID if it has a GRH, or is a complete multicast datagram.
bool protection_monitor::for_victim(const packet& p) const {
  const packet_header& h = p.header;
  if (h.dest_lid == victim_) return !h.global || p.grh.dest == gid_;
  return h.dest_lid >= 0xc000 && h.dest_lid != 0xffff && h.global && p.grh.dest.byte[0] == 0xff &&
         h.dest_qpn == wire::group_qpn && h.shape().datagram;
}

void protection_monitor::came(const packet& p) {
  note(whole(p) && for_victim(p), misused_, p.payload + 1, "a packet was let in that is damaged, or for another port");
  const packet_header& h = p.header;
  for (target_qp& q : target_qps) {
    if (q.qpn == 0 || (h.dest_qpn == wire::group_qpn ? q.type != IBV_QPT_UD : q.qpn != h.dest_qpn)) continue;
    arrival a{h, {p.data(), p.data() + p.payload}, {}, now(), q.here, q.type, p.grh};
    if (h.global) {
      const auto grh = p.on_wire().subspan(wire::lrh_bytes, wire::grh_bytes);
      a.grh.assign(grh.begin(), grh.end());
    }
    keep_last(q.came, a, kept_arrivals);
    if (kind_bits(h.opcode) == wire::write_first) {
      a.payload.clear();
      keep_last(q.firsts, std::move(a), kept_arrivals);
    }
  }
}

// Keys are judged by the PD of the grants: the QP's, or that of an SRQ existing at the time in the target's domain.
bool protection_monitor::reaches(const target_qp& q, const arrival& a) const {
  if (a.type != IBV_QPT_XRC_RECV) return q.granted;
  return std::any_of(srqs.begin(), srqs.end(), [&](const shared_receives& s) { return s.granted && is_named(s, q, a); });
}

// Returns whether port and QP admit the packet: right partition, from the peer, and the QP had the right at some time since.
bool protection_monitor::admitted(const target_qp& q, const arrival& a, unsigned access) const {
  const packet_header& h = a.header;
  const bool datagram = a.type == IBV_QPT_UD;
  if (((h.pkey ^ wire::default_pkey) & 0x7fff) != 0) return false;
  if ((h.opcode & wire::transport_mask) != transport_of(a.type)) return false;
  if (datagram) {
    if (h.qkey != qkey) return false;
  } else if (h.source_lid != lid || h.global != q.global || (h.global && !(a.route.source == peer_gid_))) {
    return false;
  }
  if (a.type == IBV_QPT_XRC_SEND && !h.shape().response) return false;
  if (a.type == IBV_QPT_XRC_RECV && h.shape().response) return false;
  if (h.dest_qpn == wire::group_qpn &&
      std::none_of(q.memberships.begin(), q.memberships.end(), [&](const target_qp::membership& m) {
        return m.until >= a.at && group_lids[m.group] == h.dest_lid && group_gid(m.group) == a.route.dest;
      }))
    return false;
  return std::any_of(q.agreed.begin(), q.agreed.end(), [&](const target_qp::terms& t) {
    return t.life == a.life && (access & ~t.access) == 0 && t.until >= a.at;
  });
}

target_qp* protection_monitor::peer_of(const packet_header& h) {
  const auto found = std::find_if(target_qps.begin(), target_qps.end(),
                                  [&](const target_qp& q) { return q.here == h.dest_qpn && q.here != 0; });
  return found == target_qps.end() ? nullptr : &*found;
}

void protection_monitor::moved(const dma_request& r) {
  constexpr std::uint64_t page = grant_monitor::page_bytes;
  if (r.op == dma_op::read || r.source != dma_source::payload) return;
  const auto frame = frames_.find(r.address / page);
  if (frame != frames_.end()) placed(r, frame->second + r.address % page);
}

// Looks for a packet that may place these bytes. A response or a SEND settles the matter. WRITEs and atomics are granted by
// keys, which the ledger judges.
void protection_monitor::placed(const dma_request& r, std::uint64_t va) {
  std::vector<key_ledger::use> uses;
  for (const target_qp& q : target_qps) {
    for (const arrival& a : q.came) {
      if (placed_without_key(q, a, r, va)) return;
      if (a.header.shape().response) continue;
      if (r.op == dma_op::write) {
        add_writes(uses, q, a, r, va);
      } else {
        add_atomic(uses, q, a, va);
      }
    }
  }
  if (uses.empty()) {
    note(false, misused_, r.bytes, "bytes were placed by a packet that its QP did not allow");
  } else {
    keys.note(uses, r.bytes);
  }
}

bool protection_monitor::placed_without_key(const target_qp& q, const arrival& a, const dma_request& r,
                                            std::uint64_t va) const {
  if (a.header.shape().response) return responds(q, a, r, va);
  return r.op == dma_op::write && is_send(a.header) && admitted(q, a, 0) && received(q, a, r, va);
}

void protection_monitor::add_atomic(std::vector<key_ledger::use>& uses, const target_qp& q, const arrival& a,
                                    std::uint64_t va) const {
  const packet_header& h = a.header;
  if (!is_atomic(h) || h.va != va || va % 8 != 0 || !reaches(q, a) || !admitted(q, a, IBV_ACCESS_REMOTE_ATOMIC)) return;
  uses.push_back({h.rkey, IBV_ACCESS_REMOTE_ATOMIC, h.va, 8, a.at, now()});
}

// A packet behind the first one has no RETH: the key stands in any first packet whose PSN and VA fit. Of the message counts the
// part that begins with this packet, since earlier parts have been judged.
void protection_monitor::add_writes(std::vector<key_ledger::use>& uses, const target_qp& q, const arrival& a,
                                    const dma_request& r, std::uint64_t va) const {
  const packet_header& h = a.header;
  if (!is_write(h) || !reaches(q, a) || !admitted(q, a, IBV_ACCESS_REMOTE_WRITE)) return;
  if (h.shape().first) {
    if (va >= h.va && holds(a, va - h.va, r))
      uses.push_back({h.rkey, IBV_ACCESS_REMOTE_WRITE, h.va, h.dma_length, a.at, now()});
    return;
  }
  for (const arrival& first : q.firsts) {
    const packet_header& f = first.header;
    if (first.life != a.life || f.srqn != h.srqn || va < f.va || va - f.va >= f.dma_length) continue;
    const std::uint64_t offset = va - f.va;
    const std::uint64_t before = offset / mtu * mtu;
    if (psn_distance(f.psn, h.psn) != static_cast<std::int64_t>(offset / mtu)) continue;
    if (!holds(a, offset - before, r) || !admitted(q, first, IBV_ACCESS_REMOTE_WRITE)) continue;
    uses.push_back({f.rkey, IBV_ACCESS_REMOTE_WRITE, f.va + before, f.dma_length - before, a.at, now()});
  }
}

// Judges the bytes of a SEND, in a posted receive, of its SRQ if it names one.
bool protection_monitor::received(const target_qp& q, const arrival& a, const dma_request& r, std::uint64_t va) const {
  const auto into = [&](const posted_receive& one) {
    if (!within(one.va, one.bytes, va, r.bytes)) return false;
    return a.type == IBV_QPT_UD ? holds_datagram(a, va - one.va, r) : holds_anywhere(a, r);
  };
  if (a.type != IBV_QPT_XRC_RECV) return std::any_of(q.receives.begin(), q.receives.end(), into);
  return std::any_of(srqs.begin(), srqs.end(), [&](const shared_receives& s) {
    return is_named(s, q, a) && std::any_of(s.receives.begin(), s.receives.end(), into);
  });
}

// Returns whether the packet is a response to the QP's own request. READ responses must end inside the inbox.
bool protection_monitor::responds(const target_qp& q, const arrival& a, const dma_request& r, std::uint64_t va) const {
  const packet_header& h = a.header;
  const std::uint8_t op = kind_bits(h.opcode);
  if (op == wire::acknowledge || !within(q.inbox.addr, q.inbox.length, va, r.bytes) || !admitted(q, a, 0)) return false;
  const std::uint64_t end = q.inbox.addr + q.inbox.length;
  return std::any_of(q.fetches.begin(), q.fetches.end(), [&](const packet_header& to) {
    if (is_atomic(to)) return op == wire::atomic_acknowledge && h.psn == to.psn && va == end - 8;
    const std::int64_t index = psn_distance(to.psn, h.psn);
    const std::uint32_t count = psns_of(to, 10);
    const bool last = op == wire::read_last || op == wire::read_only;
    if (!is_read(to) || op == wire::atomic_acknowledge || index < 0 || index >= count || last != (index + 1 == count)) {
      return false;
    }
    const std::uint64_t begin = end - to.dma_length + static_cast<std::uint64_t>(index) * mtu;
    return va >= begin && holds(a, va - begin, r);
  });
}

// Each READ and each atomic causes each of its responses once. An atomic is answered again from its result, whatever has become
// of rights and its key since.
std::vector<protection_monitor::cause> protection_monitor::causes(target_qp& q, const packet& p) {
  const packet_header& h = p.header;
  const bool atomic = h.shape().atomic_ack;
  const bool again = q.shown.contains(h.psn);
  const unsigned access = !atomic ? IBV_ACCESS_REMOTE_READ : again ? 0 : IBV_ACCESS_REMOTE_ATOMIC;
  std::vector<cause> all;
  for (arrival& one : q.came) {
    const packet_header& r = one.header;
    const std::int64_t index = psn_distance(r.psn, h.psn);
    if (one.life != q.here || index < 0 || (atomic ? !is_atomic(r) || index != 0 : !is_read(r))) continue;
    if (index < most_caused && (one.caused >> index & 1) != 0) continue;
    const std::uint64_t bytes = atomic ? 8 : r.dma_length;
    const auto offset = static_cast<std::uint64_t>(index) * mtu;
    if (!atomic) {
      if (offset >= bytes || p.payload != std::min<std::uint64_t>(mtu, bytes - offset)) continue;
      if (!memory_.may_show(r.va + offset, {p.data(), p.payload})) continue;
    }
    if (!(atomic && again) && !reaches(q, one)) continue;
    if (!admitted(q, one, access)) continue;
    all.push_back({&one, static_cast<std::uint32_t>(index), {r.opcode, r.rkey, r.va + offset, r.va + bytes}});
  }
  return all;
}

// Bytes shown for the first time must be the next ones. Behind them, bytes already shown there may come again, or fewer of
// them. The first possible cause of an answer counts as its cause.
void protection_monitor::shows(target_qp& q, const packet& p) {
  const std::uint32_t psn = p.header.psn;
  const std::uint64_t bytes = p.header.shape().atomic_ack ? 8 : p.payload;
  std::vector<cause> any = causes(q, p);
  note(!any.empty(), wrongly_shown_, bytes, "a response carries bytes that no request could show");
  if (any.empty()) return;
  const auto before = q.shown.find(psn);
  const bool again = before != q.shown.end();
  const bool next = psn_distance(q.answered, psn) > 0;
  note(again || next, wrongly_shown_, bytes, "a READ or an atomic that never ran was repeated");
  if (next) q.answered = psn;
  const auto first = q.shown.find(psn_add(psn, wire::psn_mask));
  std::erase_if(any, [&](const cause& c) {
    if (again) {
      return std::none_of(before->second.begin(), before->second.end(),
                          [&](const target_qp::place& ran) { return ran.has(c.what); });
    }
    if (c.index == 0) return false;
    target_qp::place part = c.what;  // the READ goes on
    part.va -= mtu;
    return first == q.shown.end() || std::none_of(first->second.begin(), first->second.end(), [&](const target_qp::place& ran) {
             return ran.has(part) && ran.end == part.end;
           });
  });
  note(!any.empty(), wrongly_shown_, bytes, "another READ or atomic than the one that ran was repeated");
  if (any.empty()) return;
  if (any.front().index < most_caused) any.front().by->caused |= std::uint64_t{1} << any.front().index;
  if (again) {
    std::erase_if(before->second, [&](const target_qp::place& ran) {
      return std::none_of(any.begin(), any.end(), [&](const cause& c) { return ran.has(c.what); });
    });
  } else {
    if (q.shown_in_order.size() == most_shown) q.shown.erase(q.shown_in_order.front());
    keep_last(q.shown_in_order, psn, most_shown);
    for (const cause& c : any) q.shown[psn].push_back(c.what);
  }
  const bool atomic = p.header.shape().atomic_ack;
  if (atomic && again) return;
  std::vector<key_ledger::use> uses;
  for (const cause& c : any) {
    const packet_header& r = c.by->header;
    uses.push_back(
        {r.rkey, atomic ? IBV_ACCESS_REMOTE_ATOMIC : IBV_ACCESS_REMOTE_READ, r.va, c.what.end - r.va, c.by->at, now()});
  }
  keys.note(uses, bytes);
}

void protection_monitor::answered(const packet& p) {
  const packet_header& h = p.header;
  if (h.dest_lid != lid) return;
  target_qp* const q = peer_of(h);
  const std::uint64_t bytes = h.shape().atomic_ack ? 8 : p.payload;
  shown_ += bytes;
  if (!q) return note(bytes == 0, wrongly_shown_, bytes, "a response carries bytes for a QP that is none");
  note(!q->refused, wrongly_shown_, bytes + 1, "there is an answer behind a request that was refused");
  if (bytes != 0) return shows(*q, p);
  if (kind_bits(h.opcode) != wire::acknowledge || psn_distance(q->answered, h.psn) <= 0) return;
  if (h.syndrome == wire::ack_no_credits) q->answered = h.psn;
  q->refused = h.syndrome == wire::nak_invalid_request || h.syndrome == wire::nak_remote_access ||
               h.syndrome == wire::nak_remote_operation;
}

// Notes an invalidation by a packet that named the key, of the PD of the grants unless another QP of the PD was first.
void protection_monitor::invalidated(std::uint32_t qpn, std::uint32_t key) {
  bool any = false;
  ps gone{0};
  for (const target_qp& q : target_qps) {
    for (const arrival& a : q.came) {
      if (!a.header.shape().invalidate || a.header.invalidate_key != key || !keys.may_go(key, a.at)) continue;
      any |= reaches(q, a) || (q.qpn == qpn && !keys.holds(key, a.at));
      if (reaches(q, a)) gone = std::max(gone, a.at);
    }
  }
  note(any, misused_, 1, "a key was invalidated by a packet that may not do it");
  keys.invalidated(key, gone);
}

void protection_monitor::asked(const packet& p) {
  if (p.header.dest_lid != lid) return;
  if (target_qp* const q = peer_of(p.header)) {
    keep_last(q->asked, p.header, kept_requests);
    if (is_read(p.header) || is_atomic(p.header)) {
      keep_last(q->fetches, p.header, kept_fetches);
      keep_last(q->due, p.header, kept_requests);
    }
  }
  const std::span<const std::byte> bytes(p.data(), p.payload);
  shown_ += p.payload;
  note(std::all_of(bytes.begin(), bytes.end(), shadow::is_public), wrongly_shown_, p.payload,
       "a request carries bytes that no L_Key showed");
}

}  // namespace hcasim::kit
