#include "testbenches/hostile/witness.h"

#include <algorithm>

#include "testbenches/kit/grant_monitor.h"

namespace hcasim::kit {
namespace {

constexpr std::size_t kept_arrivals = 96;
constexpr std::size_t kept_requests = 8;
constexpr std::size_t kept_fetches = 32;
constexpr std::size_t most_shown = 4096;

template <class T>
void keep_last(std::deque<T>& d, T x, std::size_t most) {
  d.push_back(std::move(x));
  if (d.size() > most) d.pop_front();
}

std::uint8_t transport_of(ibv_qp_type type) {
  return type == IBV_QPT_RC ? wire::rc : type == IBV_QPT_UC ? wire::uc : wire::ud;
}

bool is_read(const packet_header& h) {
  return h.opcode == wire::read_request;
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
  const bool whole = icrc_ok(p, p.on_wire().size());
  note(whole && p.header.dest_lid == victim_, misused_, p.payload + 1,
       "a packet was let in that is damaged, or for another LID");
  for (prey& q : preys) {
    if (q.qpn != p.header.dest_qpn || q.qpn == 0) continue;
    keep_last(q.came, {p.header, {p.data(), p.data() + p.payload}, now(), q.here, q.type}, kept_arrivals);
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
        if (atomic && h.va == va && q.granted && admitted(q, a, IBV_ACCESS_REMOTE_ATOMIC))
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
        for (const arrival& first : q.came) {  // of its message
          const packet_header& f = first.header;
          if (without_transport(f) != wire::write_first || first.life != a.life || va < f.va || va - f.va >= f.dma_length)
            continue;
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
    if (!is_read(to) || h.opcode == wire::atomic_acknowledge || index < 0 || index >= psns_of(to, 10)) return false;
    const std::uint64_t begin = end - to.dma_length + static_cast<std::uint64_t>(index) * mtu;
    return va >= begin && holds(a, va - begin, r);
  });
}

// A READ causes each of its responses once: the first one that can have caused this one is taken to have done it. An atomic is
// answered again from its result, whatever has become of its key since.
std::vector<prey::place> witness::causes(prey& q, const packet& p, std::vector<key_ledger::use>& uses) {
  const packet_header& h = p.header;
  const bool atomic = h.opcode == wire::atomic_acknowledge;
  const unsigned access = atomic ? IBV_ACCESS_REMOTE_ATOMIC : IBV_ACCESS_REMOTE_READ;
  std::vector<prey::place> places;
  bool taken = false;
  for (arrival& one : q.came) {
    const packet_header& r = one.header;
    const std::int64_t index = psn_distance(r.psn, h.psn);
    if (one.life != q.here || index < 0 || (atomic ? !is_atomic(r) || index != 0 : !is_read(r))) continue;
    const std::int64_t offset = index * mtu;
    const std::uint64_t bit = index < 64 ? std::uint64_t{1} << index : 0;
    if ((one.caused & bit) != 0) continue;
    if (!atomic) {
      if (offset >= r.dma_length || p.payload != std::min<std::int64_t>(mtu, r.dma_length - offset)) continue;
      const std::span<const std::byte> bytes(p.data(), p.payload);
      if (!memory_.may_show(r.va + static_cast<std::uint64_t>(offset), bytes)) continue;
    }
    if (!atomic && !std::exchange(taken, true)) one.caused |= bit;
    if (!admitted(q, one, access)) continue;
    uses.push_back({r.rkey, access, r.va, atomic ? 8 : std::uint64_t{r.dma_length}, one.at, now()});
    places.push_back({atomic, r.rkey, r.va + static_cast<std::uint64_t>(offset)});
  }
  return places;
}

// What has been answered before may be answered again, and nothing else behind it.
void witness::repeated(prey& q, std::uint32_t psn, const std::vector<prey::place>& any, std::uint64_t bytes) {
  const auto before = q.shown.find(psn);
  if (before == q.shown.end()) {
    const bool next = psn_distance(q.answered, psn) > 0;
    note(next || q.shown.size() >= most_shown, wrongly_shown_, bytes, "a READ or an atomic that never ran was repeated");
    if (next) q.answered = psn;
    if (q.shown.size() < most_shown) q.shown[psn] = any;
    return;
  }
  std::erase_if(before->second, [&](const prey::place& one) { return std::find(any.begin(), any.end(), one) == any.end(); });
  note(!before->second.empty(), wrongly_shown_, bytes, "another READ or atomic than the one that ran was repeated");
}

void witness::answered(const packet& p) {
  const packet_header& h = p.header;
  if (h.dest_lid != lid) return;
  prey* const q = peer_of(h);
  const bool atomic = h.opcode == wire::atomic_acknowledge;
  if (q && h.opcode == wire::acknowledge && h.syndrome == wire::ack_no_credits && psn_distance(q->answered, h.psn) > 0) {
    q->answered = h.psn;
  }
  const std::uint64_t bytes = atomic ? 8 : p.payload;
  if (bytes == 0) return;
  shown_ += bytes;
  std::vector<key_ledger::use> uses;
  const std::vector<prey::place> places = q && q->granted ? causes(*q, p, uses) : std::vector<prey::place>();
  note(!uses.empty(), wrongly_shown_, bytes, "a response carries bytes that no request could show");
  if (uses.empty()) return;
  keys.note(uses, bytes);
  repeated(*q, h.psn, places, bytes);
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
