#include "testbenches/runner/explanation/operations.h"

#include <algorithm>
#include <cstring>

#include "firmware/abi/context.h"
#include "firmware/abi/cqe.h"
#include "testbenches/runner/recording/listen.h"
#include "tlm/wqe.h"

namespace hcasim {
namespace {

constexpr std::size_t kept = 64;  // doorbells and fetches of a queue pair that an operation to come may have waited for
constexpr std::uint32_t half_psn = 0x800000;
constexpr std::uint8_t rnr_mask = 0xe0;  // of a syndrome; the rest is the timer

// a is b, or after it.
bool reaches(std::uint32_t a, std::uint32_t b) {
  return ((a - b) & wire::psn_mask) < half_psn;
}
std::uint64_t peer_key(std::uint16_t lid, std::uint32_t qpn) {
  return std::uint64_t{lid} << 32 | qpn;
}

}  // namespace

template <class P>
class operation_follower::tap final : public chained_observer<P> {
 public:
  tap(initiator_socket<P>& socket, operation_follower& to, adapter& of, const std::string& unit)
      : chained_observer<P>(socket), to_(to), adapter_(of), unit_(unit), socket_(socket.basename()) {}

  void forward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (phase == tlm::BEGIN_REQ) begin(p, t);
    chained_observer<P>::forward(p, phase, t);
  }
  void forward_done(const P& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
    if (phase == tlm::BEGIN_REQ && status == tlm::TLM_COMPLETED) end(p, t, true);
    chained_observer<P>::forward_done(p, phase, status, t);
  }
  void backward(const P& p, tlm::tlm_phase phase, ps t) override {
    end(p, t, false);
    chained_observer<P>::backward(p, phase, t);
  }

 private:
  struct open_question {
    const P* payload;
    ps begin;
    question q;
  };

  void begin(const P& p, ps t) {
    if constexpr (std::is_same_v<P, doorbell_ring>) {
      to_.ring(adapter_, p, t);
    } else if constexpr (std::is_same_v<P, control_request>) {
      if (socket_ == "send_queue") order(adapter_, p);
    } else if constexpr (std::is_same_v<P, work_request>) {
      to_.begin_work(adapter_, p, t);
    } else if constexpr (std::is_same_v<P, packet>) {
      to_.passes(adapter_, unit_, socket_, p, t);
    } else if constexpr (std::is_same_v<P, report>) {
      to_.reported(adapter_, p, t);
    } else {
      open_.push_back({&p, t, to_.ask(adapter_, unit_, p)});
    }
  }
  void end(const P& p, ps t, bool at_once) {
    if constexpr (std::is_same_v<P, work_request>) to_.end_work(adapter_, p, t);
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (open_[i].payload != &p) continue;
      const open_question asked = open_[i];
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
      keep(asked.q, asked.begin, t, at_once);
      // What the unit does next is for the operation whose answer it has got.
      if (asked.q.of) (unit_ == "requester" ? adapter_.sending : adapter_.serving) = asked.q.of;
      if (asked.q.queue) adapter_.fetching = asked.q.queue;
      if constexpr (std::is_same_v<P, context_request>) to_.answer(adapter_, unit_, p);
      if constexpr (std::is_same_v<P, dma_request>) {
        if (unit_ == "completion") to_.written(adapter_, p, asked.begin, t);
      }
      return;
    }
  }

  operation_follower& to_;
  adapter& adapter_;
  std::string unit_;
  std::string socket_;
  std::vector<open_question> open_;
};

operation_follower::operation_follower()
    : sc_module(sc_core::sc_module_name(sc_core::sc_gen_unique_name("operation_follower"))) {}

operation_follower::~operation_follower() = default;

std::size_t operation_follower::adapter_of(const std::string& name) {
  const auto found = std::find_if(adapters_.begin(), adapters_.end(), [&](const adapter& a) { return a.name == name; });
  if (found != adapters_.end()) return static_cast<std::size_t>(found - adapters_.begin());
  adapters_.emplace_back();
  adapters_.back().name = name;
  return adapters_.size() - 1;
}

template <class P>
void operation_follower::listen() {
  for (initiator_socket<P>* s : sockets_of<P>()) {
    const std::string full = unit_of(*s);
    const std::size_t dot = full.rfind('.');
    if (dot == std::string::npos || !full.substr(0, dot).ends_with(".hca")) continue;
    const std::string unit = full.substr(dot + 1);
    constexpr std::string_view units[] = {"doorbell",   "send_queue", "requester",   "responder",
                                          "completion", "port",       "command_unit"};
    if (std::find(std::begin(units), std::end(units), unit) == std::end(units)) continue;
    taps_.push_back(std::make_shared<tap<P>>(*s, *this, adapters_[adapter_of(full.substr(0, dot))], unit));
  }
}

void operation_follower::end_of_elaboration() {
  listen<control_request>();
  listen<doorbell_ring>();
  listen<work_request>();
  listen<context_request>();
  listen<key_request>();
  listen<translate_request>();
  listen<dma_request>();
  listen<packet>();
  listen<report>();
}

operation_follower::held operation_follower::find(const flow& f, bool (*wanted)(const operation&)) {
  for (const held& o : f.live) {
    if (wanted(*o)) return o;
  }
  return nullptr;
}

operation_follower::question operation_follower::ask(adapter& a, std::string_view unit, const context_request& r) {
  if (r.op != context_op::fetch) return {};
  if (unit == "send_queue")
    return {.of = nullptr, .queue = &a.flows[r.index], .at_once = queue_context, .later = queue_context_miss};
  if (unit == "requester") {
    const auto unsent = [](const operation& o) { return !o.started; };
    return {.of = find(a.flows[r.index], unsent), .at_once = context, .later = context_miss};
  }
  const auto from = a.inbound.find(r.index);
  if (unit != "responder" || from == a.inbound.end()) return {};
  return {.of = find(*from->second, [](const operation& o) { return o.arrived && !o.answered; }),
          .at_once = far_context,
          .later = far_context_miss};
}

operation_follower::question operation_follower::ask(adapter& a, std::string_view unit, const key_request& r) {
  if (r.op == key_op::drain) return {};
  if (unit == "requester") {
    if (r.op == key_op::element) return {.of = a.sending, .at_once = key, .later = key_miss};
    flow& f = a.flows[r.qpn];
    held o = r.rights & HCA_ACCESS_LOCAL_WRITE ? find(f, [](const operation& x) { return x.fetches; })
                                               : find(f, [](const operation& x) { return !x.fetches && x.checks > 0; });
    if (o && o->checks > 0) --o->checks;
    a.sending = o;
    return {.of = std::move(o), .at_once = key, .later = key_miss};
  }
  const auto from = a.inbound.find(r.qpn);
  if (unit != "responder" || from == a.inbound.end()) return {};
  a.serving = find(*from->second, [](const operation& o) { return o.arrived && !o.answered; });
  return {.of = a.serving, .at_once = far_key, .later = far_key_miss};
}

operation_follower::question operation_follower::ask(adapter& a, std::string_view unit, const translate_request& r) {
  if (r.op != translate_op::walk) return {};
  if (unit == "send_queue") return {.of = nullptr, .queue = a.fetching, .at_once = wqe_table_hit, .later = wqe_table};
  if (unit == "requester") return {.of = a.sending, .at_once = walk, .later = walk_miss};
  if (unit == "responder") return {.of = a.serving, .at_once = far_walk, .later = far_walk_miss};
  return {};
}

operation_follower::question operation_follower::ask(adapter& a, std::string_view unit, const dma_request& r) {
  if (unit == "send_queue" && r.source == dma_source::wqe)
    return {.of = nullptr, .queue = a.fetching, .at_once = wqe, .later = wqe};
  if (unit == "requester") return {.of = a.sending, .at_once = payload, .later = payload};
  if (unit == "responder") return {.of = a.serving, .at_once = far_payload, .later = far_payload};
  return {};
}

void operation_follower::keep(const question& q, ps begin, ps end, bool at_once) {
  const wait w{begin, end, at_once ? q.at_once : q.later};
  if (end <= begin || w.what == parts) return;
  if (q.of) {
    q.of->waits.push_back(w);
  } else if (q.queue) {
    q.queue->fetches.push_back(w);
    if (q.queue->fetches.size() > kept) q.queue->fetches.pop_front();
  }
}

// The requester has read a queue pair's context: whom it talks to.
void operation_follower::answer(adapter& a, std::string_view unit, const context_request& r) {
  if (unit != "requester" || r.op != context_op::fetch || r.failed || !r.entry) return;
  const auto& q = r.as<const hca_qpc>();
  flow& f = a.flows[r.index];
  f.known = true;
  f.mtu_shift = q.mtu_shift;
  f.transport = q.transport;
  a.to_peer[peer_key(q.dest_lid, q.dest_qpn)] = r.index;
}

// A queue pair's number begins a new life: what was rung and fetched before was for the one that had it.
void operation_follower::order(adapter& a, const control_request& c) {
  if (c.op != control_op::start) return;
  flow& f = a.flows[c.number];
  f.rings.clear();
  f.fetches.clear();
}

void operation_follower::ring(adapter& a, const doorbell_ring& r, ps t) {
  if (r.kind != bell::send) return;
  auto& rings = a.flows[r.number].rings;
  rings.emplace_back(static_cast<std::uint16_t>(r.value), t);
  if (rings.size() > kept) rings.pop_front();
}

void operation_follower::begin_work(adapter& a, const work_request& w, ps t) {
  flow& f = a.flows[w.qpn];
  auto o = std::make_shared<operation>();
  o->work = &w;
  o->index = w.index;
  o->number = f.next++;
  o->opcode = w.control().opcode;
  wqe_view view;
  o->fails = w.status != HCA_WC_SUCCESS ||
             parse_wqe({w.bytes.data(), std::size_t{w.blocks} * HCA_WQE_BLOCK}, view) != wqe_fault::none || view.is_local();
  o->fetches = view.fetches();
  o->bytes = view.length;
  o->pieces = static_cast<std::uint32_t>(view.gather.size());
  const std::uint64_t mtu = std::uint64_t{1} << f.mtu_shift;
  if (!o->fetches && o->pieces != 0) o->checks = static_cast<std::uint32_t>((view.length + mtu - 1) / mtu) + o->pieces - 1;
  // The first doorbell that covers it.
  ps begin = t;
  for (const auto& [value, at] : f.rings) {
    const auto ahead = static_cast<std::uint16_t>(value - w.index);
    if (ahead == 0 || ahead >= 0x8000) continue;
    begin = std::min(at, t);
    break;
  }
  o->marks.push_back({begin, send_queue});
  for (const wait& x : f.fetches) {
    if (x.end > begin && x.begin < t) o->waits.push_back({std::max(x.begin, begin), std::min(x.end, t), x.what});
  }
  o->marks.push_back({t, requester});
  f.live.push_back(std::move(o));
}

void operation_follower::end_work(adapter& a, const work_request& w, ps t) {
  flow& f = a.flows[w.qpn];
  for (std::size_t i = 0; i < f.live.size(); ++i) {
    if (f.live[i]->work != &w) continue;
    f.live[i]->work = nullptr;
    f.live[i]->fails = f.live[i]->fails || w.status != HCA_WC_SUCCESS;
    if (!f.live[i]->reported) finish(f, i, t);
    return;
  }
}

// The queue pair whose operation a packet belongs to, request or answer.
operation_follower::flow* operation_follower::flow_of(const packet& p) {
  const packet_header& h = p.header;
  const bool answer = h.shape().response;
  const auto side = by_lid_.find(answer ? h.dest_lid : h.source_lid);
  if (side == by_lid_.end()) return nullptr;
  adapter& a = *side->second;
  std::uint32_t qpn = h.dest_qpn;
  if (h.shape().datagram) {
    qpn = h.source_qpn;
  } else if (!answer) {
    const auto found = a.to_peer.find(peer_key(h.dest_lid, h.dest_qpn));
    if (found == a.to_peer.end()) return nullptr;
    qpn = found->second;
  }
  const auto found = a.flows.find(qpn);
  return found == a.flows.end() ? nullptr : &found->second;
}

void operation_follower::passes(adapter& a, std::string_view unit, std::string_view socket, const packet& p, ps t) {
  if (socket == "egress") by_lid_[p.header.source_lid] = &a;
  flow* f = flow_of(p);
  if (!f) return;
  if (unit == "port" && socket == "responder") a.inbound[p.header.dest_qpn] = f;
  for (const held& o : f->live) passes(*f, *o, unit, socket, p, t);
}

// A receiver-not-ready answer on its way back, and where it arrives the rest that it asks for: of the operation that it is
// about, and of those behind it.
void operation_follower::refused(operation& o, std::string_view unit, std::string_view socket, const packet& p, ps t) {
  const bool behind = reaches(o.first_psn, p.header.psn) && o.first_psn != p.header.psn;
  if (!o.started || o.answered || o.resting || (o.sent && !behind && !reaches(o.last_psn, p.header.psn))) return;
  if (unit == "port" && socket == "requester") {
    o.marks.push_back({t, not_ready});
    o.resting = true;
  } else if (socket == "egress" && !behind) {
    o.marks.push_back({t, far_port});
  } else if (socket == "link_out" && !behind && o.marks.back().where == far_port) {
    o.marks.push_back({t, wire_back});
  }
}

void operation_follower::passes(flow& f, operation& o, std::string_view unit, std::string_view socket, const packet& p, ps t) {
  const packet_header& h = p.header;
  const wire::shape& s = h.shape();
  if (s.response) {
    if (s.aeth && !s.payload && (h.syndrome & rnr_mask) == wire::rnr_nak) return refused(o, unit, socket, p, t);
    if (!o.sent || o.resting || (s.aeth && !s.payload && h.syndrome > wire::ack_no_credits)) return;
    // An acknowledgement answers everything before it; of data the last packet counts.
    if (s.payload || s.atomic_ack ? h.psn != o.last_psn : o.fetches || !reaches(h.psn, o.last_psn)) return;
    if (socket == "egress" && !o.answered) {
      o.answered = true;
      o.marks.push_back({t, far_port});
    } else if (socket == "link_out" && o.marks.back().where == far_port) {
      o.marks.push_back({t, wire_back});
    } else if (unit == "port" && socket == "requester" && o.marks.back().where != requester_answer) {
      o.marks.push_back({t, requester_answer});
    }
    return;
  }
  if (unit == "requester" && p.tag == o.number) {
    if (!o.started) o.first_psn = h.psn;
    o.started = true;
    const bool rested = std::exchange(o.resting, false);
    if (!s.last && !o.fetches) {
      if (rested) o.marks.push_back({t, requester});
      return;
    }
    const std::uint64_t mtu = std::uint64_t{1} << f.mtu_shift;
    const auto answers =
        h.opcode == (wire::rc | wire::read_request) ? static_cast<std::uint32_t>((h.dma_length + mtu - 1) / mtu) : 1U;
    o.request_psn = h.psn;
    o.last_psn = (h.psn + std::max(answers, 1U) - 1) & wire::psn_mask;
    if (o.sent && !rested && o.marks.back().where != requester) o.marks.push_back({o.marks.back().at, lost});
    o.sent = true;
    o.answered = false;
    o.marks.push_back({t, port});
    return;
  }
  if (!o.started || unit == "requester" || unit == "responder") return;
  if (socket == "responder" && reaches(h.psn, o.first_psn) && (!o.sent || reaches(o.request_psn, h.psn))) o.arrived = true;
  if (!o.sent || h.psn != o.request_psn) return;
  if (socket == "link_out") {
    o.marks.push_back({t, wire});
  } else if (socket == "responder") {
    o.marks.push_back({t, responder});
  }
}

// The requester asks the driver for a page: to land a response in, or to gather from for the next operation to be sent.
void operation_follower::page_missed(adapter& a, const report& r, ps t) {
  const auto f = a.flows.find(r.qpn);
  if (f == a.flows.end()) return;
  const bool lands = (r.flags & HCA_FAULT_WRITE) != 0;
  for (const held& o : f->second.live) {
    if (o->reported || o->sent != lands || (lands && !o->fetches)) continue;
    o->marks.push_back({t, no_page});
    o->resting = true;
    return;
  }
}

void operation_follower::reported(adapter& a, const report& r, ps t) {
  if (r.event && r.type == HCA_EVENT_PAGE_FAULT && !(r.flags & HCA_FAULT_REMOTE)) return page_missed(a, r, t);
  if (r.event || (r.cqe.flags & HCA_CQE_RECEIVE)) return;
  const auto f = a.flows.find(r.cqe.qpn);
  if (f == a.flows.end()) return;
  for (const held& o : f->second.live) {
    if (o->index != r.cqe.index || o->reported) continue;
    o->reported = true;
    o->fails = o->fails || r.cqe.status != HCA_WC_SUCCESS;
    o->marks.push_back({t, completion});
    return;
  }
}

// CQEs are in host memory.
void operation_follower::written(adapter& a, const dma_request& d, ps begin, ps t) {
  if (d.op != dma_op::write || d.source != dma_source::completion || !d.data) return;
  for (std::uint32_t at = 0; at + sizeof(hca_cqe) <= d.bytes; at += sizeof(hca_cqe)) {
    hca_cqe entry;
    std::memcpy(&entry, d.data + at, sizeof entry);
    const auto f = a.flows.find(entry.qpn);
    if ((entry.flags & HCA_CQE_RECEIVE) || f == a.flows.end()) continue;
    auto& live = f->second.live;
    for (std::size_t i = 0; i < live.size(); ++i) {
      if (!live[i]->reported || live[i]->index != entry.index) continue;
      live[i]->marks.push_back({begin, cqe});
      finish(f->second, i, t);
      break;
    }
  }
}

}  // namespace hcasim
