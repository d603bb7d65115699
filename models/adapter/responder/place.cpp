// SEND and WRITE: receive WQEs and placement. Each packet is judged when it is placed [O8a, O8b].
#include <cstring>

#include "models/adapter/responder/responder.h"

namespace hcasim {
namespace {

std::uint32_t slots_of(const hca_qpc& q) {
  return 1U << (q.rq.log_bytes - q.rq_stride_shift);
}

}  // namespace

// WQEs `slot`, `slot + 1`.. of a receive queue or an SRQ, whose context `q` is, into c.fetched.
task<bool> responder::read_receives(connection& c, const hca_qpc& q, std::uint32_t slot, std::uint32_t count, ps& t) {
  const std::uint32_t bytes = count << q.rq_stride_shift;
  c.fetched.resize(bytes);
  c.fetched_stride = q.rq_stride_shift;
  const translation map{.index = HCA_TAG_RQ | c.qpn, .levels = q.rq.levels, .page_shift = q.rq.page_shift, .table = q.rq.pages};
  const std::uint64_t offset = (std::uint64_t{slot} << q.rq_stride_shift) + (q.rq.page_shift ? 0 : q.rq.pages);
  memory_access::transfer& tr = memory_.begin(c.operation);
  const bool mapped =
      co_await memory_.move_mapped(tr, dma_op::read, dma_source::receive_wqe, map, offset, c.fetched.data(), bytes, t);
  const bool reached = co_await memory_.landed(tr, t);
  co_return mapped&& reached;
}

// Makes the next receive WQE the one in use; false = none is posted.
task<bool> responder::take_receive(connection& c, hca_qpc& q, ps& t) {
  if (q.in_wqe_held) co_return true;
  if (q.rq_ci == c.rq_pi || q.rq.log_bytes == 0) co_return false;
  const std::uint32_t stride = 1U << q.rq_stride_shift;
  const auto slots = static_cast<std::uint16_t>(slots_of(q));
  const auto behind = static_cast<std::uint16_t>(q.rq_ci - c.fetched_first);
  if (behind >= c.fetched_count || c.fetched_stride != q.rq_stride_shift) {
    const auto posted = static_cast<std::uint16_t>(c.rq_pi - q.rq_ci);
    const auto slot = static_cast<std::uint16_t>(q.rq_ci & (slots - 1));
    const auto to_end = static_cast<std::uint16_t>(slots - slot);
    const std::uint32_t n = std::min<std::uint32_t>({posted, to_end, config_.receive_prefetch});
    const bool read = co_await read_receives(c, q, slot, n, t);
    if (!read) {
      put_into_error(c, q, HCA_WC_LOC_QP_OP_ERR, HCA_EVENT_QP_FATAL, t);
      co_return false;
    }
    c.fetched_first = q.rq_ci;
    c.fetched_count = static_cast<std::uint16_t>(n);
  }
  const std::byte* wqe = c.fetched.data() + static_cast<std::size_t>(q.rq_ci - c.fetched_first) * stride;
  c.receive.assign(wqe, wqe + stride);
  c.receive_pd = q.pd;
  q.in_wqe = q.rq_ci++;
  q.in_wqe_held = 1;
  co_return true;
}

// The WQEs of an SRQ around the one that the list names next are read with it. A WQE may be used as far along the list as WQEs
// were posted at the time of the read.
bool responder::is_fetched(const connection& s, const hca_qpc& q, std::uint16_t slot) {
  const auto behind = static_cast<std::uint16_t>(slot - s.fetched_first);
  return s.fetched_posted != 0 && behind < s.fetched_count && s.fetched_stride == q.rq_stride_shift;
}

task<bool> responder::read_around(connection& s, const hca_qpc& q, std::uint16_t slot, ps& t) {
  const std::uint32_t first = slot - slot % config_.receive_prefetch;
  const std::uint32_t count = std::min(config_.receive_prefetch, slots_of(q) - first);
  s.fetched_posted = static_cast<std::uint16_t>(s.rq_pi - q.rq_ci);
  s.fetched_first = static_cast<std::uint16_t>(first);
  s.fetched_count = static_cast<std::uint16_t>(count);
  const bool read = co_await read_receives(s, q, first, count, t);
  if (!read) s.fetched_count = 0;
  co_return read;
}

// The same from the SRQ of the QP.
task<bool> responder::take_shared(connection& c, context_request& ctx, ps& t) {
  if (ctx.as<const hca_qpc>().in_wqe_held) co_return true;
  const std::uint32_t srqn = ctx.as<const hca_qpc>().srqn;
  connection* const s = connections_.find(srqn);
  ctx.dirty = true;
  qpc.release(ctx);
  taken_receive taken;
  if (s && s->shared && !asked_to_stop(s->state)) {
    taken = co_await take_from(*s, c, t);
  } else {
    taken.broken = true;
  }

  co_await qpc.request(ctx, t);
  if (ctx.failed) {
    lose(c, t);
    co_return false;
  }
  auto& q = ctx.as<hca_qpc>();
  if (taken.found) {
    q.in_wqe = taken.slot;
    q.in_wqe_held = 1;
    if (in_error(c.state)) {  // meanwhile; its receives have been flushed
      q.in_wqe_held = 0;
      report_receive(c, q, taken.slot, HCA_WC_WR_FLUSH_ERR, nullptr, 0, t);
    }
  }
  if (taken.broken && !in_error(c.state)) put_into_error(c, q, HCA_WC_LOC_QP_OP_ERR, HCA_EVENT_QP_FATAL, t);
  co_return taken.found;
}

// The next WQE of SRQ `s` becomes the one in use of `c`.
task<responder::taken_receive> responder::take_from(connection& s, connection& c, ps& t) {
  while (s.state.has(connection_mark::taking)) {
    co_await s.takers.wait();
    t = std::max(t, now());
  }
  s.on(connection_event::take_begins);
  ++s.busy;
  taken_receive taken;
  context_request shared;
  shared.index = s.qpn;
  shared.operation = s.operation = c.operation;  // it is alone at the list
  co_await qpc.request(shared, t);
  taken.broken = shared.failed;
  if (!shared.failed) {
    auto& q = shared.as<hca_qpc>();
    if (q.transport == HCA_TRANSPORT_SRQ && q.rq_ci != s.rq_pi) {
      taken.slot = static_cast<std::uint16_t>(q.in_wqe & (slots_of(q) - 1));
      taken.found = is_fetched(s, q, taken.slot);
      if (!taken.found) taken.found = co_await read_around(s, q, taken.slot, t);
      taken.broken = !taken.found;
    }
    if (taken.found) {
      const auto wqe = std::span(s.fetched).subspan(std::size_t(taken.slot - s.fetched_first) << q.rq_stride_shift,
                                                    std::size_t{1} << q.rq_stride_shift);
      hca_wqe_next next;
      std::memcpy(&next, wqe.data(), sizeof next);
      c.receive.assign(wqe.begin() + sizeof next, wqe.end());
      c.receive_pd = q.pd;
      q.in_wqe = static_cast<std::uint16_t>(next.slot & (slots_of(q) - 1));
      ++q.rq_ci;
      --s.fetched_posted;
      ++shared_taken_;
      if (q.srq_limit != 0 && static_cast<std::uint16_t>(s.rq_pi - q.rq_ci) < q.srq_limit) {
        q.srq_limit = 0;
        raise(HCA_EVENT_SRQ_LIMIT, s.qpn, c.operation, t);
      }
      shared.dirty = true;
    }
    qpc.release(shared);
  }
  if (taken.broken && !std::exchange(s.lost, true)) raise(HCA_EVENT_SRQ_ERROR, s.qpn, c.operation, t);
  s.on(connection_event::take_ends);
  s.takers.wake_one(queue_);
  --s.busy;
  check_stopped(s);
  co_return taken;
}

void responder::hold_until_landed(memory_access::transfer& tr, packet& p, ps t) {
  p.holder = this;
  memory_.detach(
      tr,
      [](void* arrived, memory_access::transfer&, ps) {
        auto& held = *static_cast<packet*>(arrived);
        static_cast<responder*>(held.holder)->release_packet(held);
      },
      &p, t);
}

task<bool> responder::do_send(connection& c, hca_qpc& q, packet& p, ps& t) {
  const wire::shape& s = p.header.shape();
  if (s.first) q.in_received = q.transport == HCA_TRANSPORT_UD ? std::uint32_t{HCA_GRH_BYTES} : 0U;
  access_owner owner = owner_of(q, c.qpn);
  owner.pd = c.receive_pd;
  const std::size_t segments = c.receive.size() / sizeof(hca_wqe_data);
  // A datagram's GRH comes first [H3]. Its place is judged with the rest when no GRH has come, and stays as it is.
  const std::uint32_t header = p.header.global && s.datagram ? std::uint32_t{HCA_GRH_BYTES} : 0U;
  std::uint64_t blank = s.datagram ? HCA_GRH_BYTES - header : 0;
  const std::uint32_t whole = header + p.payload;
  std::uint64_t offset = q.in_received - header - blank;
  std::uint32_t placed = 0;
  verdict v = verdict::granted;
  memory_access::transfer& tr = memory_.begin(p.operation);
  for (std::size_t i = 0; i < segments && (placed < whole || blank != 0); ++i) {
    hca_wqe_data seg;
    std::memcpy(&seg, c.receive.data() + i * sizeof seg, sizeof seg);
    if (seg.key == HCA_RECV_END && seg.length == 0) break;
    if (offset >= seg.length) {
      offset -= seg.length;
      continue;
    }
    const std::uint64_t skip = std::min<std::uint64_t>(blank, seg.length);
    blank -= skip;
    if (skip != 0 && (skip == seg.length || whole == 0)) {
      const memory_range place{
          .key = seg.key, .rights = HCA_ACCESS_LOCAL_WRITE, .owner = owner, .va = seg.address, .checked = skip};
      v = co_await memory_.look(tr, place, 0, t);
      if (v != verdict::granted) break;
      continue;
    }
    offset += skip;
    while (offset < seg.length && placed < whole) {
      const bool in_header = placed < header;
      std::byte* const from = in_header ? p.grh_bytes() + placed : p.data() + (placed - header);
      const auto n =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(seg.length - offset, (in_header ? header : whole) - placed));
      memory_range range{.key = seg.key,
                         .rights = HCA_ACCESS_LOCAL_WRITE,
                         .owner = owner,
                         .va = seg.address + offset,
                         .checked = n,
                         .before = offset == skip ? skip : 0};
      v = co_await memory_.move(tr, dma_op::write, range, from, n, t);
      if (v != verdict::granted) break;
      placed += n;
      offset += n;
    }
    if (v != verdict::granted) break;
    offset = 0;
  }
  if (!is_live(c.state)) {
    hold_until_landed(tr, p, t);
    co_return true;
  }
  if (v == verdict::page_fault) {
    page_missing(c, q, p, tr.missing, HCA_WC_LOC_PROT_ERR, t);
  } else if (v != verdict::granted) {
    refuse(c, q, wire::nak_remote_operation, HCA_WC_LOC_PROT_ERR, t);
  } else if (placed < whole || blank != 0) {
    refuse(c, q, wire::nak_invalid_request, HCA_WC_LOC_LEN_ERR, t);
  } else {
    payload_written_ += p.payload;
    q.in_received += p.payload;
    if (s.invalidate) {
      const bool done = co_await invalidate(c, q, p, t);
      if (!done) {
        hold_until_landed(tr, p, t);
        co_return true;
      }
    }
    q.inbound = s.last ? static_cast<std::uint8_t>(HCA_INBOUND_NONE) : wire::send_first;
    end_message(c, q, p, t);
  }
  hold_until_landed(tr, p, t);
  co_return true;
}

// Invalidates the key that came with a SEND; false = it could not be invalidated, and the QP is in error [C6.9], or the QP is
// being stopped. A key that was invalidated is reported even if the QP goes into error meanwhile: no other request can have
// done it [C6.10].
task<bool> responder::invalidate(connection& c, hca_qpc& q, const packet& p, ps& t) {
  const auto held = std::exchange(q.in_wqe_held, std::uint8_t{0});  // the receive is not flushed meanwhile
  const access_owner owner = owner_of(q, c.qpn);
  window_request r;
  r.operation = p.operation;
  r.op = window_op::invalidate;
  r.remote = true;
  r.function = owner.function;
  r.qpn = owner.qpn;
  r.generation = owner.generation;
  r.pd = owner.pd;
  r.key = p.header.invalidate_key;
  co_await windows.request(r, t);
  if (asked_to_stop(c.state)) co_return false;
  q.in_wqe_held = held;
  if (r.fault == window_fault::none) co_return true;
  if (in_error(c.state)) {
    if (held) report_receive(c, q, q.in_wqe, HCA_WC_WR_FLUSH_ERR, nullptr, 0, t);
    q.in_wqe_held = 0;
    co_return false;
  }
  if (config_.class_j != class_j_answer::silent) {
    const bool good = config_.class_j == class_j_answer::ack;
    acknowledge(c, route_of(c, q), p.header.psn, good ? wire::ack_no_credits : wire::nak_remote_access, t);
  }
  put_into_error(c, q, HCA_WC_REM_INV_REQ_ERR, HCA_EVENT_QP_ACCESS, t);
  co_return false;
}

task<bool> responder::do_write(connection& c, hca_qpc& q, packet& p, ps& t) {
  const packet_header& h = p.header;
  const wire::shape& s = h.shape();
  if (s.first) {
    q.in_address = h.va;
    q.in_key = h.rkey;
    q.in_remaining = h.dma_length;
    q.in_received = 0;
  }
  memory_access::transfer& tr = memory_.begin(p.operation);
  verdict v = verdict::granted;
  if (p.payload != 0) {  // [D7] a zero-length WRITE looks at no key
    memory_range range{.key = q.in_key,
                       .remote = true,
                       .rights = HCA_ACCESS_REMOTE_WRITE,
                       .owner = owner_of(q, c.qpn),
                       .va = q.in_address,
                       .checked = q.in_remaining};
    v = co_await memory_.move(tr, dma_op::write, range, p.data(), p.payload, t);
  }
  if (!is_live(c.state)) {
    hold_until_landed(tr, p, t);
    co_return true;
  }
  if (v == verdict::page_fault) {
    page_missing(c, q, p, tr.missing, HCA_WC_LOC_ACCESS_ERR, t);
  } else if (v != verdict::granted) {
    refuse(c, q, wire::nak_remote_access, HCA_WC_LOC_ACCESS_ERR, t);
  } else {
    payload_written_ += p.payload;
    q.in_address += p.payload;
    q.in_remaining -= p.payload;
    q.in_received += p.payload;
    q.inbound = s.last ? static_cast<std::uint8_t>(HCA_INBOUND_NONE) : wire::write_first;
    end_message(c, q, p, t);
  }
  hold_until_landed(tr, p, t);
  co_return true;
}

// The request comes back after the RNR delay, and as often as the page is not there. A page that there is none of refuses it:
// a receive buffer's (LOC_PROT_ERR) as a bad receive, any other as a bad key [D14].
void responder::page_missing(connection& c, hca_qpc& q, const packet& p, const missing_page& page, std::uint8_t receive_status,
                             ps t) {
  const bool same = c.missing.for_page(page);
  const page_faults::state known = same ? c.missing.status : page_faults::state::idle;
  if (known != page_faults::state::pending) faults_.forget(c.missing);
  if (known == page_faults::state::refused) {
    const bool receive = receive_status == HCA_WC_LOC_PROT_ERR;
    refuse(c, q, receive ? wire::nak_remote_operation : wire::nak_remote_access, receive_status, t);
    return;
  }
  if (known != page_faults::state::pending) {
    faults_.forget(c.missing);
    faults_.note(c.missing, page, c.qpn, &c, t);
  }
  if (!hca_transport_reliable(q.transport)) {
    drop_message(c, q, HCA_WC_SUCCESS, t);
    return;
  }
  q.nak_sent = 1;
  acknowledge(c, route_of(c, q), p.header.psn, static_cast<std::uint8_t>(wire::rnr_nak | (q.min_rnr_timer & 0x1f)), t);
}

// A packet of SEND or WRITE was executed: PSN, completion of a receive, acknowledge.
void responder::end_message(connection& c, hca_qpc& q, const packet& p, ps t) {
  const wire::shape& s = p.header.shape();
  q.expected_psn = psn_add(q.expected_psn, 1);
  if (s.last) {
    ++messages_;
    q.msn = psn_add(q.msn, 1);
    if (q.in_wqe_held) {
      report_receive(c, q, q.in_wqe, HCA_WC_SUCCESS, &p, p.operation, t);
      q.in_wqe_held = 0;
    }
  }
  if (p.header.ack_request) ++c.acks_owed;
}

}  // namespace hcasim
