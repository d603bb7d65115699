#include "testbenches/hostile/witness.h"

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

std::uint8_t transport_of(ibv_qp_type type) {
  return type == IBV_QPT_RC ? wire::rc : type == IBV_QPT_UC ? wire::uc : wire::ud;
}

bool is_atomic(const packet_header& h) {
  return h.opcode == wire::compare_swap || h.opcode == wire::fetch_add;
}
std::uint8_t without_transport(const packet_header& h) {
  return static_cast<std::uint8_t>(h.opcode & ~wire::transport_mask);
}
bool is_write(const packet_header& h) {
  const std::uint8_t op = without_transport(h);
  return op >= wire::write_first && op <= wire::write_only_imm;
}
bool is_send(const packet_header& h) {
  const std::uint8_t op = without_transport(h);
  return op <= wire::send_only_imm || op == wire::send_last_inv || op == wire::send_only_inv;
}

// The bytes of `r` are those of the payload from `offset` on.
bool holds(const prey::arrival& a, std::uint64_t offset, const dma_request& r) {
  return offset <= a.payload.size() && r.bytes <= a.payload.size() - offset &&
         std::equal(r.data, r.data + r.bytes, a.payload.begin() + static_cast<std::ptrdiff_t>(offset));
}
bool holds_anywhere(const prey::arrival& a, const dma_request& r) {
  return std::search(a.payload.begin(), a.payload.end(), r.data, r.data + r.bytes) != a.payload.end();
}

// Its check sequence, its versions, and the length that its LRH names.
bool whole(const packet& p) {
  const std::span<const std::byte> b = p.on_wire();
  const auto at = [b](std::size_t i) { return std::to_integer<unsigned>(b[i]); };
  return icrc_ok(p, b.size()) && b.size() > wire::lrh_bytes + wire::bth_bytes && (at(0) & 0xf) == 0 && (at(1) & 3) == 2 &&
         ((at(4) << 8 | at(5)) & 0x7ff) * std::size_t{4} == b.size() && (at(9) & 0xf) == 0;
}

bool within(std::uint64_t begin, std::uint64_t length, std::uint64_t va, std::uint64_t bytes) {
  return va >= begin && va - begin <= length && bytes <= length - (va - begin);
}

}  // namespace

witness::witness(hcasim::system& s, const shadow& memory, const virtual_memory& frames)
    : memory_(memory),
      victim_(static_cast<std::uint16_t>(s.config().nodes[0].hca.port.lid)),
      requests_(s.at(0).hca.port.responder, [this](const packet& p) { came(p); }),
      responses_(s.at(0).hca.port.requester, [this](const packet& p) { came(p); }),
      answers_(s.at(0).hca.responder.egress, [this](const packet& p) { answered(p); }),
      asked_(s.at(0).hca.requester.egress, [this](const packet& p) { asked(p); }),
      responder_(s.at(0).hca.responder.dma, [this](const dma_request& r) { moved(r); }),
      requester_(s.at(0).hca.requester.dma, [this](const dma_request& r) { moved(r); }) {
  constexpr std::uint64_t page = grant_monitor::page_bytes;
  for (std::uint64_t at = memory.begin(); at < memory.begin() + memory.bytes(); at += page) {
    frames_[frames.translate(at) / page] = at;
  }
}

std::string witness::violation() const {
  if (!violation_.empty() || keys.misused() == 0) return violation_;
  return "a packet whose key did not allow it was executed";
}

void witness::note(bool ok, std::uint64_t& count, std::uint64_t bytes, const char* what) {
  if (ok) return;
  count += bytes;
  if (violation_.empty()) violation_ = what;
}

void witness::came(const packet& p) {
  note(whole(p) && p.header.dest_lid == victim_, misused_, p.payload + 1,
       "a packet was let in that is damaged, or for another LID");
  for (prey& q : preys) {
    if (q.qpn != p.header.dest_qpn || q.qpn == 0) continue;
    keep_last(q.came, {p.header, {p.data(), p.data() + p.payload}, now(), q.here, q.type}, kept_arrivals);
    if (without_transport(p.header) == wire::write_first) {
      keep_last(q.firsts, {p.header, {}, now(), q.here, q.type}, kept_arrivals);
    }
  }
}

// By the port and its QP: it is of the partition, from the peer, and the QP had the right at some time since.
bool witness::admitted(const prey& q, const arrival& a, unsigned access) const {
  const packet_header& h = a.header;
  const bool datagram = a.type == IBV_QPT_UD;
  if (((h.pkey ^ wire::default_pkey) & 0x7fff) != 0) return false;
  if ((h.opcode & wire::transport_mask) != transport_of(a.type)) return false;
  if (datagram ? h.qkey != qkey : h.source_lid != lid) return false;
  return std::any_of(q.agreed.begin(), q.agreed.end(),
                     [&](const prey::terms& t) { return t.life == a.life && (access & ~t.access) == 0 && t.until >= a.at; });
}

prey* witness::peer_of(const packet_header& h) {
  const auto found =
      std::find_if(preys.begin(), preys.end(), [&](const prey& q) { return q.here == h.dest_qpn && q.here != 0; });
  return found == preys.end() ? nullptr : &*found;
}

void witness::moved(const dma_request& r) {
  constexpr std::uint64_t page = grant_monitor::page_bytes;
  if (r.op == dma_op::read || r.source != dma_source::payload) return;
  const auto frame = frames_.find(r.address / page);
  if (frame != frames_.end()) placed(r, frame->second + r.address % page);
}

void witness::placed(const dma_request& r, std::uint64_t va) {
  const bool atomic = r.op != dma_op::write;
  std::vector<key_ledger::use> uses;
  // Of its message, what begins with this packet: what was before is judged no more.
  const auto use = [&](const arrival& a, const packet_header& message, unsigned needs, std::uint64_t bytes,
                       std::uint64_t before = 0) {
    uses.push_back({message.rkey, needs, message.va + before, bytes - before, a.at, now()});
  };
  for (const prey& q : preys) {
    for (const arrival& a : q.came) {
      const packet_header& h = a.header;
      if (h.shape().response) {
        if (responds(q, a, r, va)) return;
      } else if (is_atomic(h)) {
        if (atomic && h.va == va && va % 8 == 0 && q.granted && admitted(q, a, IBV_ACCESS_REMOTE_ATOMIC))
          use(a, h, IBV_ACCESS_REMOTE_ATOMIC, 8);
      } else if (atomic) {
        continue;
      } else if (is_send(h)) {
        const bool posted = std::any_of(q.receives.begin(), q.receives.end(),
                                        [&](const prey::receive& one) { return within(one.va, one.bytes, va, r.bytes); });
        if (posted && admitted(q, a, 0) && holds_anywhere(a, r)) return;
      } else if (is_write(h) && q.granted && admitted(q, a, IBV_ACCESS_REMOTE_WRITE)) {
        if (h.shape().first) {
          if (va >= h.va && holds(a, va - h.va, r)) use(a, h, IBV_ACCESS_REMOTE_WRITE, h.dma_length);
          continue;
        }
        for (const arrival& first : q.firsts) {  // of its message
          const packet_header& f = first.header;
          if (first.life != a.life || va < f.va || va - f.va >= f.dma_length) continue;
          if (psn_distance(f.psn, h.psn) != static_cast<std::int64_t>((va - f.va) / mtu)) continue;
          if (holds(a, (va - f.va) % mtu, r) && admitted(q, first, IBV_ACCESS_REMOTE_WRITE)) {
            use(a, f, IBV_ACCESS_REMOTE_WRITE, f.dma_length, (va - f.va) / mtu * mtu);
          }
        }
      }
    }
  }
  if (uses.empty()) {
    note(false, misused_, r.bytes, "bytes were placed by a packet that its QP did not allow");
  } else {
    keys.note(uses, r.bytes);
  }
}

// A response to what the QP has asked for. What READs bring ends where the inbox does.
bool witness::responds(const prey& q, const arrival& a, const dma_request& r, std::uint64_t va) const {
  const packet_header& h = a.header;
  if (h.opcode == wire::acknowledge || !within(q.inbox.addr, q.inbox.length, va, r.bytes) || !admitted(q, a, 0)) return false;
  const std::uint64_t end = q.inbox.addr + q.inbox.length;
  return std::any_of(q.fetches.begin(), q.fetches.end(), [&](const packet_header& to) {
    if (is_atomic(to)) return h.opcode == wire::atomic_acknowledge && h.psn == to.psn && va == end - 8;
    const std::int64_t index = psn_distance(to.psn, h.psn);
    const std::uint32_t count = psns_of(to, 10);
    const bool last = h.opcode == wire::read_last || h.opcode == wire::read_only;
    if (!is_read(to) || h.opcode == wire::atomic_acknowledge || index < 0 || index >= count || last != (index + 1 == count)) {
      return false;
    }
    const std::uint64_t begin = end - to.dma_length + static_cast<std::uint64_t>(index) * mtu;
    return va >= begin && holds(a, va - begin, r);
  });
}

// Each READ and each atomic causes each of its responses once. An atomic is answered again from its result, whatever has become
// of rights and its key since.
std::vector<witness::cause> witness::causes(prey& q, const packet& p) {
  const packet_header& h = p.header;
  const bool atomic = h.opcode == wire::atomic_acknowledge;
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
    if (!admitted(q, one, access)) continue;
    all.push_back({&one, static_cast<std::uint32_t>(index), {r.opcode, r.rkey, r.va + offset, r.va + bytes}});
  }
  return all;
}

// What is shown for the first time is the next; behind it there may come again what has been shown there, or less of it. The
// first one that can have caused an answer is taken to have done it.
void witness::shows(prey& q, const packet& p) {
  const std::uint32_t psn = p.header.psn;
  const std::uint64_t bytes = p.header.opcode == wire::atomic_acknowledge ? 8 : p.payload;
  std::vector<cause> any = q.granted ? causes(q, p) : std::vector<cause>();
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
                          [&](const prey::place& ran) { return ran.has(c.what); });
    }
    if (c.index == 0) return false;
    prey::place part = c.what;  // of a READ that goes on
    part.va -= mtu;
    return first == q.shown.end() || std::none_of(first->second.begin(), first->second.end(),
                                                  [&](const prey::place& ran) { return ran.has(part) && ran.end == part.end; });
  });
  note(!any.empty(), wrongly_shown_, bytes, "another READ or atomic than the one that ran was repeated");
  if (any.empty()) return;
  if (any.front().index < most_caused) any.front().by->caused |= std::uint64_t{1} << any.front().index;
  if (again) {
    std::erase_if(before->second, [&](const prey::place& ran) {
      return std::none_of(any.begin(), any.end(), [&](const cause& c) { return ran.has(c.what); });
    });
  } else {
    if (q.shown_in_order.size() == most_shown) q.shown.erase(q.shown_in_order.front());
    keep_last(q.shown_in_order, psn, most_shown);
    for (const cause& c : any) q.shown[psn].push_back(c.what);
  }
  const bool atomic = p.header.opcode == wire::atomic_acknowledge;
  if (atomic && again) return;
  std::vector<key_ledger::use> uses;
  for (const cause& c : any) {
    const packet_header& r = c.by->header;
    uses.push_back(
        {r.rkey, atomic ? IBV_ACCESS_REMOTE_ATOMIC : IBV_ACCESS_REMOTE_READ, r.va, c.what.end - r.va, c.by->at, now()});
  }
  keys.note(uses, bytes);
}

void witness::answered(const packet& p) {
  const packet_header& h = p.header;
  if (h.dest_lid != lid) return;
  prey* const q = peer_of(h);
  const std::uint64_t bytes = h.opcode == wire::atomic_acknowledge ? 8 : p.payload;
  shown_ += bytes;
  if (!q) return note(bytes == 0, wrongly_shown_, bytes, "a response carries bytes for a QP that is none");
  note(!q->refused, wrongly_shown_, bytes + 1, "there is an answer behind a request that was refused");
  if (bytes != 0) return shows(*q, p);
  if (h.opcode != wire::acknowledge || psn_distance(q->answered, h.psn) <= 0) return;
  if (h.syndrome == wire::ack_no_credits) q->answered = h.psn;
  q->refused = h.syndrome == wire::nak_invalid_request || h.syndrome == wire::nak_remote_access ||
               h.syndrome == wire::nak_remote_operation;
}

// By a packet that named it, of the PD of the grants unless somebody of it was first.
void witness::invalidated(std::uint32_t qpn, std::uint32_t key) {
  bool any = false;
  ps gone{0};
  for (const prey& q : preys) {
    for (const arrival& a : q.came) {
      if (!a.header.shape().invalidate || a.header.invalidate_key != key || !keys.may_go(key, a.at)) continue;
      any |= q.granted || (q.qpn == qpn && !keys.holds(key, a.at));
      if (q.granted) gone = std::max(gone, a.at);
    }
  }
  note(any, misused_, 1, "a key was invalidated by a packet that may not do it");
  keys.invalidated(key, gone);
}

void witness::asked(const packet& p) {
  if (p.header.dest_lid != lid) return;
  if (prey* const q = peer_of(p.header)) {
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
