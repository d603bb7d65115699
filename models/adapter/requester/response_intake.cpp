#include "models/adapter/requester/response_intake.h"

#include <cstring>

#include "models/adapter/requester/requester_rules.h"
#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

constexpr std::uint8_t page_is_missing = 0xff;  // instead of a completion status

}  // namespace

// Packets enter the engine one after the other. Its latency is the same for all, so packets reach their QPs in the same order.
tlm::tlm_sync_enum response_intake::on_packet(packet& p, tlm::tlm_phase, ps&) {
  p.holder = this;
  const ps due = engine_.start(now(), clock_.period()) + latency_;
  queue_.at(due, call_holder<&packet::holder, &response_intake::arrive>(p));
  return tlm::TLM_ACCEPTED;
}

void response_intake::arrive(packet& p) {
  if (!parts_.steps.used()) return take(p);
  const std::uint32_t qpn = parts_.records.started(p.header.dest_qpn).qpn;
  const bool data = class_of(p.header) == response_class::data;
  parts_.steps.run({qpn, data ? processing_step::response_in : processing_step::acknowledge_in, p.payload, p.operation},
                   call_holder<&packet::holder, &response_intake::take>(p));
}

void response_intake::take(packet& p) {
  send_qp& f = parts_.records.started(p.header.dest_qpn);
  if (f.inbox.push(p)) serve(f);
}

void response_intake::release(packet& p) {
  target_socket<packet>::respond(p, now());
  packet_pool_.put(p);
}

process response_intake::serve(send_qp& f) {
  ++f.busy;
  while (packet* const p = f.inbox.next()) {
    ps t = now();
    const bool held = react(f, *p, t) == response_action::place && co_await on_data(f, *p, t);
    if (!held) release(*p);
  }
  --f.busy;
  if (is_live(f.state)) parts_.sending.run(f, now());
  parts_.completion.check_stopped(f);
}

// All reactions but the placing of bytes, which takes time.
response_action response_intake::react(send_qp& f, const packet& p, ps t) {
  const std::uint32_t psn = p.header.psn;
  const response_arrival arrival = arrival_of(f, p);
  const response_action action = reaction_to(arrival);
  const bool data = arrival.what == response_class::data;
  if (action != response_action::discard && !data) ++counters_.acknowledges;
  switch (action) {
    case response_action::discard:
      ++counters_.discarded;
      break;
    case response_action::complete:
      progress_to(f, psn, t);
      parts_.completion.complete_in_order(f, t);
      break;
    case response_action::ask_again:
      if (data) ++counters_.discarded;
      progress_to(f, psn, t);
      break;
    case response_action::rnr_timer:
    case response_action::go_back:
    case response_action::fail:
      on_nak(f, p, t);
      break;
    case response_action::place:
      break;
  }
  return action;
}

response_arrival response_intake::arrival_of(send_qp& f, const packet& p) {
  response_arrival a{.waits = is_live(f.state) && f.state.has(send_qp_mark::numbered) && !f.qp.unreliable(),
                     .from_peer = p.header.source_lid == f.qp.dest_lid && p.port == f.qp.port &&
                                  (p.header.opcode & wire::transport_mask) == transport_bits(f.qp.transport) &&
                                  comes_from(f.qp.route, p.header.global, p.grh),  // [H2]
                     .landing = f.state.has(send_qp_mark::landing),
                     .what = class_of(p.header)};
  if (a.waits) a.place = place_of(f, p.header.psn);
  return a;
}

response_place response_intake::place_of(send_qp& f, std::uint32_t psn) {
  if (psn_distance(f.una_psn, psn) < 0) return response_place::behind;
  if (psn_distance(psn, f.sent_psn) <= 0) return response_place::unsent;
  if (f.read_psns == 0) return response_place::message;
  for (std::uint64_t n = f.operations.begin_number(); n != f.operations.end_number(); ++n) {
    const send_operation& op = *f.operations.at_number(n);
    if (op.psns == 0) continue;
    if (op.view.fetches()) {
      if (psn == psn_add(op.first_psn, op.responses)) return response_place::due;
      const send_operation* const meant = operation_at(f, psn);
      return meant && meant->view.fetches() ? response_place::past : response_place::past_message;
    }
    if (psn_distance(psn, op.last_psn()) >= 0) return response_place::message;
  }
  return response_place::message;
}

// A NAK acknowledges everything before its PSN.
void response_intake::on_nak(send_qp& f, const packet& p, ps t) {
  if (!progress_to(f, psn_add(p.header.psn, wire::psn_mask), t)) return;
  parts_.completion.complete_in_order(f, t);
  if (in_error(f.state) || f.operations.empty()) return;
  const response_meaning m = meaning_of(p.header.syndrome);
  switch (m.kind) {
    case response_kind::rnr:
      parts_.repeats.on_rnr_nak(f, t, m.timer);
      break;
    case response_kind::sequence:
      ++counters_.naks;
      parts_.repeats.retry(f, t);
      break;
    default:
      ++counters_.naks;
      parts_.completion.fail_front(f, m.status, t);
      break;
  }
}

bool response_intake::progress_to(send_qp& f, std::uint32_t psn, ps t) {
  if (psn_distance(f.una_psn, psn) < 0) return true;
  if (f.state.has(send_qp_mark::landing)) return false;  // all from the READ on is asked for again
  while (!f.operations.empty()) {
    send_operation& op = *f.operations.front();
    if (op.psns == 0) {
      if (op.status != HCA_WC_SUCCESS || !op.view.is_local() || f.cursor <= op.number) break;
      parts_.completion.complete(f, HCA_WC_SUCCESS, t);
      continue;
    }
    if (psn_distance(op.first_psn, psn) < 0) break;
    if (op.view.fetches()) {
      // Something after this request was answered, so its response was lost (IBA 9.7.5.1.1: implied NAK).
      if (!f.state.has(send_qp_mark::repeating)) parts_.repeats.retry(f, t);
      return false;
    }
    if (psn_distance(op.last_psn(), psn) < 0) {
      f.una_psn = psn_add(psn, 1);
      parts_.repeats.on_progress(f, t);
      return true;
    }
    f.una_psn = psn_add(op.last_psn(), 1);
    parts_.completion.complete(f, HCA_WC_SUCCESS, t);
    parts_.repeats.on_progress(f, t);
  }
  return true;
}

send_operation* response_intake::operation_at(send_qp& f, std::uint32_t psn) {
  for (std::uint64_t n = f.operations.begin_number(); n != f.operations.end_number(); ++n) {
    send_operation* op = f.operations.at_number(n);
    if (op->psns == 0) continue;
    if (psn_distance(op->first_psn, psn) >= 0 && psn_distance(psn, op->last_psn()) >= 0) return op;
  }
  return nullptr;
}

task<bool> response_intake::on_data(send_qp& f, packet& p, ps& t) {
  const std::uint32_t psn = p.header.psn;
  send_operation* const op = operation_at(f, psn);
  if (!progress_to(f, psn_add(op->first_psn, wire::psn_mask), t)) co_return false;
  parts_.completion.complete_in_order(f, t);
  if (in_error(f.state) || f.operations.empty() || f.operations.front() != op) co_return false;
  ++op->pins;
  memory_access::transfer& tr = memory_.begin(op->work->operation);
  const bool known = op->work->on_chip || co_await have_wqe(*op, t);
  const std::uint8_t status = known ? co_await place(f, *op, p, tr, t) : std::uint8_t{HCA_WC_LOC_QP_OP_ERR};
  const bool live = !op->completed && is_live(f.state);
  if (live && status == HCA_WC_SUCCESS) {
    counters_.payload_received += p.payload;
    ++op->responses;
    --f.read_psns;
    f.una_psn = psn_add(psn, 1);
    if (op->responses == op->psns) parts_.completion.complete(f, HCA_WC_SUCCESS, t);
    parts_.repeats.on_progress(f, t);
    parts_.completion.complete_in_order(f, t);
  } else if (live && status == page_is_missing) {
    f.on(send_qp_event::response_faults);
    ask_again(f, op->number, tr.missing, t);
  } else if (live) {
    parts_.completion.fail_front(f, status, t);
  }
  parts_.completion.unpin(*op, t);
  memory_.detach(tr, to_holder<&packet::holder, &response_intake::release>, &p, t);
  co_return true;
}

task<bool> response_intake::have_wqe(send_operation& op, ps& t) {
  wqe_refetch r;
  r.work = op.work;
  r.operation = op.work->operation;
  co_await refetch_.request(r, t);
  co_return !r.failed;
}

// The response whose page is missing was dropped, and later ones are too. All are asked for again when the page is there.
process response_intake::ask_again(send_qp& f, std::uint64_t number, missing_page page, ps t) {
  ++f.busy;
  auto answer = faults_.wait(page, f.qpn, &f, t);
  const page_faults::state outcome = co_await answer;
  f.on(send_qp_event::response_answered);
  const bool live = is_live(f.state) && f.operations.begin_number() == number && !f.operations.empty();
  if (live && outcome == page_faults::state::ready) {
    f.restart_timer(now());
    parts_.repeats.go_back(f, now());
  } else if (live) {
    parts_.completion.fail_front(f, HCA_WC_LOC_PROT_ERR, now());
  }
  parts_.completion.leave(f);
}

// Scatters a response into the operation's data segments [D.2: needs LOCAL_WRITE].
task<std::uint8_t> response_intake::place(send_qp& f, send_operation& op, packet& p, memory_access::transfer& tr, ps& t) {
  const std::uint64_t mtu = std::uint64_t{1} << f.qp.mtu_shift;
  std::uint64_t offset = op.responses * mtu;
  std::uint32_t bytes = 0;
  if (op.view.is_atomic()) {
    if (kind_bits(p.header.opcode) != wire::atomic_acknowledge) co_return HCA_WC_BAD_RESP_ERR;
    std::memcpy(p.data(), &p.header.original, 8);
    bytes = 8;
  } else {
    bytes = static_cast<std::uint32_t>(std::min(mtu, op.view.length - offset));
    if (p.payload != bytes || !answers_read(kind_bits(p.header.opcode), op.responses, op.psns)) co_return HCA_WC_BAD_RESP_ERR;
  }
  std::uint32_t placed = 0;
  for (const hca_wqe_data& s : op.view.gather) {
    if (placed == bytes) break;
    if (offset >= s.length) {
      offset -= s.length;
      continue;
    }
    const auto n = static_cast<std::uint32_t>(std::min<std::uint64_t>(s.length - offset, bytes - placed));
    memory_range range{.key = s.key,
                       .rights = HCA_ACCESS_LOCAL_WRITE,
                       .owner = f.qp.owner,
                       .va = s.address + offset,
                       .checked = s.length - offset};
    const verdict v = co_await memory_.move(tr, dma_op::write, range, p.data() + placed, n, t);
    if (v == verdict::page_fault) co_return page_is_missing;
    if (v != verdict::granted) co_return HCA_WC_LOC_PROT_ERR;
    placed += n;
    offset = 0;
  }
  co_return HCA_WC_SUCCESS;
}

}  // namespace hcasim
