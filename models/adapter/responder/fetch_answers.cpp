#include "models/adapter/responder/fetch_answers.h"

namespace hcasim {

// The first response of an on-demand region must have its pages before the READ begins; the others wait for theirs.
//
// The verdict over the whole length comes first: later requests of this QP run only when the READ is good. Each response is
// judged again when its bytes are read [O8c].
task<> fetch_answers::read(receive_qp& c, hca_qpc& q, packet& p, bool again, ps& t) {
  const packet_header& h = p.header;
  const std::uint32_t count = psns_of(h, q.mtu_shift);
  if (again && c.owed.size() > 2 * std::size_t{q.max_read_in}) co_return;  // repeated again and again
  if (h.dma_length != 0) {
    memory_range whole{.key = h.rkey,
                       .remote = true,
                       .rights = HCA_ACCESS_REMOTE_READ,
                       .owner = owner_of(q, c.qpn),
                       .va = h.va,
                       .checked = h.dma_length};
    memory_access::transfer& tr = memory_.begin(p.operation);
    const std::uint32_t first = again ? 0 : std::min(h.dma_length, 1U << q.mtu_shift);
    const verdict v = co_await memory_.look(tr, whole, first, t);
    const missing_page page = tr.missing;
    co_await memory_.landed(tr, t);
    if (!is_live(c.state)) co_return;
    if (v == verdict::page_fault) {
      errors_.page_missing(c, q, p, page, HCA_WC_LOC_ACCESS_ERR, t);
      co_return;
    }
    if (v != verdict::granted) {
      if (again) {
        refuse_repetition(c, q, p, wire::nak_remote_access, t);
      } else {
        errors_.refuse(c, q, wire::nak_remote_access, HCA_WC_LOC_ACCESS_ERR, t);
      }
      co_return;
    }
  }
  if (!again) {
    q.expected_psn = psn_add(q.expected_psn, count);
    q.msn = psn_add(q.msn, 1);
    ++counters_.messages;
    remember(c, q, {.psn = h.psn, .key = h.rkey, .length = h.dma_length, .srqn = h.srqn, .opcode = h.opcode, .va = h.va});
    c.acks_owed = 0;  // the responses acknowledge earlier requests
    ++c.reads;
  } else if (++c.repetitions == 0) {
    c.repetitions = 1;
  }
  c.owed.push({nullptr,
               {.to = response_sender::route_of(c, q),
                .psn = h.psn,
                .key = h.rkey,
                .length = h.dma_length,
                .count = count,
                .repetition = again ? c.repetitions : 0,
                .va = h.va,
                .since = t}});
  if (!c.state.has(receive_qp_mark::answering)) answer_owed(c);
}

void fetch_answers::remember(receive_qp& c, const hca_qpc& q, const executed_fetch& e) {
  while (c.executed.size() >= std::max<std::size_t>(q.max_read_in, 1)) c.executed.pop();
  c.executed.push(e);
}

const executed_fetch* fetch_answers::repeated_by(const receive_qp& c, const hca_qpc& q, const packet_header& h) {
  for (std::size_t i = c.executed.size(); i-- > 0;) {
    if (repeats(c.executed[i], h, q.mtu_shift)) return &c.executed[i];
  }
  return nullptr;
}

// The NAK carries the READ's PSN: a requester that still waits for the READ reacts; after an old packet none does.
void fetch_answers::refuse_repetition(receive_qp& c, const hca_qpc& q, const packet& p, std::uint8_t syndrome, ps t) {
  const std::uint32_t owed = c.acks_owed;  // of requests behind it
  responses_.acknowledge(c, response_sender::route_of(c, q), p.header.psn, syndrome, t);
  c.acks_owed = owed;
}

// Responses leave in the order of their requests, and a READ has many. Requests are taken meanwhile, since a waiting request
// would hold the receive buffer needed for the peer's responses.
process fetch_answers::answer_owed(receive_qp& c) {
  c.on(receive_qp_event::answers_begin);
  c.enter();
  while (may_answer(c)) {
    if (c.owed.front().response) {
      responses_.send(c, *c.owed.pop().response);
      continue;
    }
    co_await responses_.buffers().take();
    if (may_answer(c)) co_await engine_.turn(packet_engine::response);
    if (may_answer(c)) co_await steps_.done(step_of(c));
    if (!may_answer(c)) {
      responses_.buffers().give();
      break;
    }
    const read_job job = c.owed.front().read;
    if (++c.owed.front().read.index == job.count) c.owed.pop();
    c.enter();
    read_response(c, job, c.out.reserve(), now());
  }
  forget_owed(c);
  c.on(receive_qp_event::answers_end);
  c.leave();
}

// The step of the next response of a READ.
processing_steps::step fetch_answers::step_of(const receive_qp& c) {
  const read_job& job = c.owed.front().read;
  const std::uint32_t offset = job.index << job.to.mtu_shift;
  return {c.qpn, processing_step::response_out, std::min(job.length - offset, 1U << job.to.mtu_shift), job.to.operation};
}

// A refused request is answered behind the READs before it; any other error ends them.
bool fetch_answers::may_answer(const receive_qp& c) {
  if (c.owed.empty() || asked_to_stop(c.state)) return false;
  const packet* const last = c.owed[c.owed.size() - 1].response;
  return !in_error(c.state) || (last && last->header.syndrome != wire::ack_no_credits);
}

void fetch_answers::forget_owed(receive_qp& c) {
  while (!c.owed.empty()) {
    const owed_answer gone = c.owed.pop();
    if (gone.response) {
      responses_.drop(*gone.response);
    } else {
      read_ended(c, gone.read);
    }
  }
}

void fetch_answers::read_ended(receive_qp& c, const read_job& job) {
  if (job.repetition == 0 && c.reads != 0) --c.reads;  // the QP may have begun anew meanwhile, without READs
}

process fetch_answers::read_response(receive_qp& c, read_job job, std::uint64_t ticket, ps t) {
  const bool last = job.index + 1 == job.count;
  packet& p = responses_.new_response(job.to, response_opcode(job.index, job.count), psn_add(job.psn, job.index));
  const std::uint32_t offset = job.index << job.to.mtu_shift;
  p.payload = std::min(job.length - offset, 1U << job.to.mtu_shift);
  p.tag = ticket;
  verdict v = verdict::granted;
  if (p.payload != 0) {
    memory_range range{.key = job.key,
                       .remote = true,
                       .rights = HCA_ACCESS_REMOTE_READ,
                       .owner = job.to.owner,
                       .va = job.va + offset,
                       .checked = job.length - offset};
    v = co_await fetch_response(c, range, p, t);
  }
  if (v == verdict::page_fault) {  // the QP has gone into error, or is being reset, while the page was missing
    c.last_ticket = std::min(c.last_ticket, ticket);
    c.out.complete(ticket, nullptr, t);
    responses_.drop(p);
    responses_.buffers().give();
    if (last) read_ended(c, job);
    responses_.emit(c);
    c.leave();
    co_return;
  }
  if (v != verdict::granted) {
    // The key went away: the rest of the responses is replaced by one NAK.
    const bool told = tells_refusal(c, job, ticket, t);
    p.header.opcode = static_cast<std::uint8_t>(wire::acknowledge | job.to.transport_bits);
    p.header.syndrome = wire::nak_remote_access;
    p.payload = 0;
    responses_.buffers().give();
    if (told) {
      ++counters_.naks;
      encode(p);
    } else {
      responses_.drop(p);
    }
    c.out.complete(ticket, told ? &p : nullptr, t);
  } else {
    counters_.payload_read += p.payload;
    encode(p);
    c.out.complete(ticket, &p, t);
  }
  if (last) read_ended(c, job);
  responses_.emit(c);
  c.leave();
}

// The QP is in error then, except after a repetition, which only ends.
bool fetch_answers::tells_refusal(receive_qp& c, const read_job& job, std::uint64_t ticket, ps t) {
  if (job.repetition == 0) {
    if (ticket >= c.last_ticket) return false;
    c.last_ticket = ticket;
    errors_.fail_later(c, HCA_EVENT_QP_ACCESS, t);
    return true;
  }
  if (!c.owed.empty() && !c.owed.front().response && c.owed.front().read.repetition == job.repetition) c.owed.pop();
  if (c.refused == job.repetition && ticket > c.refused_ticket) return false;
  c.refused = job.repetition;
  c.refused_ticket = ticket;
  return true;
}

task<verdict> fetch_answers::fetch_response(receive_qp& c, memory_range range, packet& p, ps& t) {
  for (;;) {
    memory_access::transfer& tr = memory_.begin(p.operation);
    const verdict v = co_await memory_.move(tr, dma_op::read, range, p.data(), p.payload, t);
    const missing_page page = tr.missing;
    const bool reached = co_await memory_.landed(tr, t);
    if (v != verdict::page_fault) co_return v == verdict::granted && !reached ? verdict::table_error : v;
    if (!is_live(c.state)) co_return v;
    auto answer = faults_.wait(page, c.qpn, &c, t);
    const page_faults::state outcome = co_await answer;
    t = std::max(t, now());
    if (outcome == page_faults::state::cancelled) co_return v;
    if (outcome == page_faults::state::refused) co_return verdict::bad_bounds;
  }
}

task<> fetch_answers::atomic(receive_qp& c, hca_qpc& q, packet& p, ps& t) {
  const packet_header& h = p.header;
  memory_range range{
      .key = h.rkey, .remote = true, .rights = HCA_ACCESS_REMOTE_ATOMIC, .owner = owner_of(q, c.qpn), .va = h.va, .checked = 8};
  std::uint64_t original = 0;
  const dma_op op = kind_bits(h.opcode) == wire::compare_swap ? dma_op::compare_swap : dma_op::fetch_add;
  memory_access::transfer& tr = memory_.begin(p.operation);
  if (!atomic_aligned(h)) [[unlikely]] {  // atomic_align_first is off
    const verdict key = co_await memory_.move(tr, dma_op::read, range, nullptr, 0, t);
    co_await memory_.landed(tr, t);
    if (!is_live(c.state)) co_return;
    const bool good = key == verdict::granted;
    errors_.refuse(c, q, good ? wire::nak_invalid_request : wire::nak_remote_access, HCA_WC_LOC_ACCESS_ERR, t);
    co_return;
  }
  verdict v = co_await memory_.atomic(tr, op, range, h.swap_add, h.compare, reinterpret_cast<std::byte*>(&original), t);
  const missing_page page = tr.missing;
  const bool reached = co_await memory_.landed(tr, t);
  if (!is_live(c.state)) co_return;
  if (v == verdict::page_fault) {
    errors_.page_missing(c, q, p, page, HCA_WC_LOC_ACCESS_ERR, t);
    co_return;
  }
  if (v != verdict::granted || !reached) {
    errors_.refuse(c, q, wire::nak_remote_access, HCA_WC_LOC_ACCESS_ERR, t);
    co_return;
  }
  q.expected_psn = psn_add(q.expected_psn, 1);
  q.msn = psn_add(q.msn, 1);
  ++counters_.messages;
  c.acks_owed = 0;
  const executed_fetch e{.psn = h.psn, .key = h.rkey, .srqn = h.srqn, .opcode = h.opcode, .va = h.va, .original = original};
  remember(c, q, e);
  repeat_atomic(c, q, e);
}

void fetch_answers::repeat_atomic(receive_qp& c, const hca_qpc& q, const executed_fetch& e) {
  packet& p = responses_.new_response(response_sender::route_of(c, q), wire::atomic_acknowledge, e.psn);
  p.header.original = e.original;
  responses_.answer(c, p);
}

}  // namespace hcasim
