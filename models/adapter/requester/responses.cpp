// Responses: acknowledges, NAKs, READ and atomic responses.
#include <cstring>

#include "models/adapter/requester/requester.h"
#include "models/adapter/requester/requester_rules.h"

namespace hcasim {
namespace {

constexpr std::uint8_t page_is_missing = 0xff;  // instead of a completion status

}  // namespace

process requester::serve(flow& f) {
  f.serving = true;
  ++f.busy;
  while (!f.inbox.empty()) {
    packet& p = *f.inbox.pop();
    ps t = now();
    const bool held = react(f, p, t) == response_action::place && co_await on_data(f, p, t);
    if (!held) release_packet(p);
  }
  f.serving = false;
  --f.busy;
  if (is_live(f.state)) pump(f, now());
  check_stopped(f);
}

// All but the placing of bytes, which takes its time.
response_action requester::react(flow& f, const packet& p, ps t) {
  const std::uint32_t psn = p.header.psn;
  const response_arrival arrival = arrival_of(f, p);
  const response_action action = reaction_to(arrival);
  const bool data = arrival.what == response_class::data;
  if (action != response_action::discard && !data) ++acknowledges_;
  switch (action) {
    case response_action::discard:
      ++discarded_;
      break;
    case response_action::complete:
      progress_to(f, psn, t);
      settle(f, t);
      break;
    case response_action::ask_again:
      if (data) ++discarded_;
      progress_to(f, psn, t);
      break;
    case response_action::rest:
    case response_action::go_back:
    case response_action::fail:
      on_nak(f, p, t);
      break;
    case response_action::place:
      break;
  }
  return action;
}

response_arrival requester::arrival_of(flow& f, const packet& p) {
  response_arrival a{.waits = is_live(f.state) && f.state.has(flow_mark::numbered) && !f.qp.unreliable(),
                     .from_peer = p.header.source_lid == f.qp.dest_lid &&
                                  (p.header.opcode & wire::transport_mask) == transport_bits(f.qp.transport) &&
                                  comes_from(f.qp.route, p.header.global, p.grh),  // [H2]
                     .landing = f.state.has(flow_mark::landing),
                     .what = class_of(p.header)};
  if (a.waits) a.place = place_of(f, p.header.psn);
  return a;
}

response_place requester::place_of(flow& f, std::uint32_t psn) {
  if (psn_distance(f.una_psn, psn) < 0) return response_place::behind;
  if (psn_distance(psn, f.sent_psn) <= 0) return response_place::unsent;
  if (f.read_psns == 0) return response_place::message;
  for (std::uint64_t n = f.operations.begin_number(); n != f.operations.end_number(); ++n) {
    const operation& op = *f.operations.at_number(n);
    if (op.psns == 0) continue;
    if (op.view.fetches()) {
      if (psn == psn_add(op.first_psn, op.responses)) return response_place::due;
      const operation* const meant = operation_at(f, psn);
      return meant && meant->view.fetches() ? response_place::past : response_place::past_message;
    }
    if (psn_distance(psn, op.last_psn()) >= 0) return response_place::message;
  }
  return response_place::message;
}

// It acknowledges everything before the PSN it names.
void requester::on_nak(flow& f, const packet& p, ps t) {
  if (!progress_to(f, psn_add(p.header.psn, wire::psn_mask), t)) return;
  settle(f, t);
  if (in_error(f.state) || f.operations.empty()) return;
  const response_meaning m = meaning_of(p.header.syndrome);
  switch (m.kind) {
    case response_kind::rnr:
      ++rnr_naks_;
      if (f.state.has(flow_mark::resting)) break;  // of what was sent before: it has been asked to come back already
      if (f.qp.rnr_retry != 7 && f.rnr_retries >= f.qp.rnr_retry) {
        fail_front(f, HCA_WC_RNR_RETRY_EXC_ERR, t);
      } else {
        ++f.rnr_retries;
        rest_for(f, t, m.timer);
      }
      break;
    case response_kind::sequence:
      ++naks_;
      retry(f, t);
      break;
    default:
      ++naks_;
      fail_front(f, m.status, t);
      break;
  }
}

bool requester::progress_to(flow& f, std::uint32_t psn, ps t) {
  if (psn_distance(f.una_psn, psn) < 0) return true;
  if (f.state.has(flow_mark::landing)) return false;  // all from the READ on is asked for again
  while (!f.operations.empty()) {
    operation& op = *f.operations.front();
    if (op.psns == 0) {
      if (op.status != HCA_WC_SUCCESS || !op.view.is_local() || f.cursor <= op.number) break;
      complete(f, HCA_WC_SUCCESS, t);
      continue;
    }
    if (psn_distance(op.first_psn, psn) < 0) break;
    if (op.view.fetches()) {
      // Something after this request was answered, so its response was lost (IBA 9.7.5.1.1: implied NAK).
      if (!f.state.has(flow_mark::repeating)) retry(f, t);
      return false;
    }
    if (psn_distance(op.last_psn(), psn) < 0) {
      f.una_psn = psn_add(psn, 1);
      made_progress(f, t);
      return true;
    }
    f.una_psn = psn_add(op.last_psn(), 1);
    complete(f, HCA_WC_SUCCESS, t);
    made_progress(f, t);
  }
  return true;
}

requester::operation* requester::operation_at(flow& f, std::uint32_t psn) {
  for (std::uint64_t n = f.operations.begin_number(); n != f.operations.end_number(); ++n) {
    operation* op = f.operations.at_number(n);
    if (op->psns == 0) continue;
    if (psn_distance(op->first_psn, psn) >= 0 && psn_distance(psn, op->last_psn()) >= 0) return op;
  }
  return nullptr;
}

task<bool> requester::on_data(flow& f, packet& p, ps& t) {
  const std::uint32_t psn = p.header.psn;
  operation* const op = operation_at(f, psn);
  if (!progress_to(f, psn_add(op->first_psn, wire::psn_mask), t)) co_return false;
  settle(f, t);
  if (in_error(f.state) || f.operations.empty() || f.operations.front() != op) co_return false;
  ++op->pins;
  memory_access::transfer& tr = memory_.begin(op->work->operation);
  const std::uint8_t status = co_await place(f, *op, p, tr, t);
  const bool live = !op->completed && is_live(f.state);
  if (live && status == HCA_WC_SUCCESS) {
    payload_received_ += p.payload;
    ++op->responses;
    --f.read_psns;
    f.una_psn = psn_add(psn, 1);
    if (op->responses == op->psns) complete(f, HCA_WC_SUCCESS, t);
    made_progress(f, t);
    settle(f, t);
  } else if (live && status == page_is_missing) {
    f.on(flow_event::response_faults);
    ask_again(f, op->number, tr.missing, t);
  } else if (live) {
    fail_front(f, status, t);
  }
  unpin(*op, t);
  p.holder = this;
  memory_.detach(
      tr,
      [](void* arrived, memory_access::transfer&, ps) {
        auto& held = *static_cast<packet*>(arrived);
        static_cast<requester*>(held.holder)->release_packet(held);
      },
      &p, t);
  co_return true;
}

// The response that found no page was dropped, and what follows it is; all of it is asked for again when there is one.
process requester::ask_again(flow& f, std::uint64_t number, missing_page page, ps t) {
  ++f.busy;
  auto answer = faults_.wait(page, f.qpn, &f, t);
  const page_faults::state outcome = co_await answer;
  f.on(flow_event::response_answered);
  const bool live = is_live(f.state) && f.operations.begin_number() == number && !f.operations.empty();
  if (live && outcome == page_faults::state::ready) {
    restart_timer(f, now());
    go_back(f, now());
  } else if (live) {
    fail_front(f, HCA_WC_LOC_PROT_ERR, now());
  }
  --f.busy;
  check_stopped(f);
}

// Scatters a response into the operation's data segments [D.2: needs LOCAL_WRITE].
task<std::uint8_t> requester::place(flow& f, operation& op, packet& p, memory_access::transfer& tr, ps& t) {
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
