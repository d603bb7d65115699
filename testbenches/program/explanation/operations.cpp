#include "testbenches/program/explanation/operations.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "firmware/abi/cqe.h"
#include "tlm/operation.h"
#include "tlm/wqe.h"

namespace hcasim {
namespace {

constexpr std::size_t waits_kept = 64;   // doorbells and fetches of a queue pair that an operation to come may have waited for
constexpr std::uint8_t rnr_mask = 0xe0;  // the kind in a syndrome; the rest is the timer
constexpr unsigned transport_shift = 5;

}  // namespace

operation_follower::operation_follower()
    : sc_module(sc_core::sc_module_name(sc_core::sc_gen_unique_name("operation_follower"))) {}

operation_follower::~operation_follower() = default;

operation_follower::operation* operation_follower::find(std::uint64_t number) {
  const auto found = live_.find(number);
  return found == live_.end() ? nullptr : &found->second;
}

void operation_follower::ring(const doorbell_ring& r, ps t) {
  if (r.kind != bell::send || r.operation == 0) return;
  auto& rings = queues_[operation_queue(r.operation)].rings;
  rings.push_back({operation_at(r.operation, static_cast<std::uint16_t>(r.value - 1)), t});
  if (rings.size() > waits_kept) rings.erase(rings.begin());
}

operation_follower::part operation_follower::held_by(issue_block why) {
  if (why == issue_block::depth) return under_way;
  return why == issue_block::read_depth ? reads_under_way : fence;
}

void operation_follower::begin_work(const work_request& w, ps t) {
  if (w.operation == 0) return;
  operation& o = live_[w.operation];
  o.opcode = w.control().opcode;
  wqe_view view;
  o.fails = w.status != HCA_WC_SUCCESS ||
            parse_wqe({w.bytes.data(), std::size_t{w.blocks} * HCA_WQE_BLOCK}, view) != wqe_fault::none || view.is_local();
  o.fetches = view.fetches();
  o.bytes = view.length;
  const queue& q = queues_[operation_queue(w.operation)];
  const auto rung = std::find_if(q.rings.begin(), q.rings.end(), [&](const queue::ring& r) { return r.last >= w.operation; });
  const ps begin = rung == q.rings.end() ? t : rung->at;
  o.marks.push_back({begin, send_queue});
  // Fetches of other WQEs do not hold up one that is on the chip.
  const ps fetched = std::clamp(w.fetched, begin, t);
  for (const wait& x : q.fetches) {
    if (x.end > begin && x.begin < fetched) o.waits.push_back({std::max(x.begin, begin), std::min(x.end, fetched), x.what});
  }
  if (w.held != issue_block::none && fetched < t) o.waits.push_back({fetched, t, held_by(w.held)});
  o.marks.push_back({t, requester});
}

void operation_follower::end_work(const work_request& w, ps t) {
  const auto o = live_.find(w.operation);
  if (o == live_.end()) return;
  o->second.fails |= w.status != HCA_WC_SUCCESS;
  if (!o->second.reported) finish(o, t);
}

// A fetch of the send queue serves all waiting operations, and carries the number of the first one.
void operation_follower::asked(std::uint64_t number, part what, ps begin, ps end) {
  if (end <= begin) return;
  if (side_of(what) == side_of(send_queue)) {
    auto& fetches = queues_[operation_queue(number)].fetches;
    fetches.push_back({begin, end, what});
    if (fetches.size() > waits_kept) fetches.erase(fetches.begin());
  } else if (operation* const o = find(number)) {
    o->waits.push_back({begin, end, what});
  }
}

void operation_follower::passes(std::string_view unit, std::string_view socket, const packet& p, ps t) {
  const wire::shape& s = p.header.shape();
  if (s.response) return comes_back(unit, socket, p, t);
  operation* const o = find(p.operation);
  if (!o) return;
  if (unit == "requester") return leaves(*o, p, t);
  if (!o->sent || p.header.psn != o->last_psn) return;
  if (socket == "link_out") {
    o->marks.push_back({t, wire});
  } else if (socket == "responder") {
    o->marks.push_back({t, responder});
  }
}

void operation_follower::leaves(operation& o, const packet& p, ps t) {
  o.started = true;
  o.transport = p.header.opcode >> transport_shift;
  const bool rested = std::exchange(o.resting, false);
  if (!p.header.shape().last) {
    if (rested) o.marks.push_back({t, requester});
    return;
  }
  o.last_psn = p.header.psn;
  if (o.sent && !rested && o.marks.back().where != requester) o.marks.push_back({o.marks.back().at, lost});
  o.sent = true;
  o.answered = false;
  o.marks.push_back({t, port});
}

// Data and the results of atomics answer their operation. An acknowledgement answers all earlier operations, an RNR NAK refuses
// all later ones.
void operation_follower::comes_back(std::string_view unit, std::string_view socket, const packet& p, ps t) {
  const packet_header& h = p.header;
  const bool data = h.shape().payload || h.shape().atomic_ack;
  const bool not_now = !data && (h.syndrome & rnr_mask) == wire::rnr_nak;
  if (!data && !not_now && h.syndrome > wire::ack_no_credits) return;
  if (data && !h.shape().last) return;
  const auto answer = [&](operation& o) {
    if (!o.sent || o.resting) return;
    if (socket == "egress" && !o.answered) {
      o.answered = true;
      o.marks.push_back({t, far_port});
    } else if (socket == "link_out" && o.marks.back().where == far_port) {
      o.marks.push_back({t, wire_back});
    } else if (unit == "port" && socket == "requester" && o.marks.back().where != requester_answer) {
      o.marks.push_back({t, requester_answer});
    }
  };
  if (data) {
    if (operation* const o = find(p.operation)) answer(*o);
    return;
  }
  const std::uint32_t of = operation_queue(p.operation);
  for (auto o = live_.lower_bound(not_now ? p.operation : std::uint64_t{of} << operation_place_bits);
       o != live_.end() && operation_queue(o->first) == of; ++o) {
    if (not_now) {
      refused(o->second, o->first != p.operation, unit, socket, t);
    } else if (!o->second.fetches && psn_distance(o->second.last_psn, h.psn) >= 0) {
      answer(o->second);
    }
  }
}

// An RNR NAK on its way back, and on its arrival the rest it asks for: of its own operation, and of the later ones.
void operation_follower::refused(operation& o, bool behind, std::string_view unit, std::string_view socket, ps t) {
  if (!o.started || o.answered || o.resting) return;
  if (unit == "port" && socket == "requester") {
    o.marks.push_back({t, not_ready});
    o.resting = true;
  } else if (socket == "egress" && !behind) {
    o.marks.push_back({t, far_port});
  } else if (socket == "link_out" && !behind && o.marks.back().where == far_port) {
    o.marks.push_back({t, wire_back});
  }
}

// A completion, or that the requester asks the driver for a page: to land a response in, or to gather from.
void operation_follower::reported(const report& r, ps t) {
  operation* const o = find(r.operation);
  if (!o || o->reported) return;
  if (r.event) {
    if (r.type != HCA_EVENT_PAGE_FAULT || (r.flags & HCA_FAULT_REMOTE)) return;
    o->marks.push_back({t, no_page});
    o->resting = true;
  } else if (!(r.cqe.flags & HCA_CQE_RECEIVE)) {
    o->reported = true;
    o->fails |= r.cqe.status != HCA_WC_SUCCESS;
    o->marks.push_back({t, completion});
  }
}

// A CQE is in host memory; a receive's CQE carries the number, too.
void operation_follower::written(const dma_request& d, ps begin, ps t) {
  if (d.op != dma_op::write || d.source != dma_source::completion || d.bytes != sizeof(hca_cqe)) return;
  const auto flags = static_cast<unsigned>(d.data[offsetof(hca_cqe, flags)]);
  const auto o = live_.find(d.operation);
  if (o == live_.end() || !o->second.reported || (flags & HCA_CQE_RECEIVE)) return;
  o->second.marks.push_back({begin, cqe});
  finish(o, t);
}

}  // namespace hcasim
