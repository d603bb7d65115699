#include "models/adapter/responder/payload_placement.h"

#include <cstring>

#include "tlm/base/delegate.h"

namespace hcasim {

void payload_placement::release_when_landed(memory_access::transfer& tr, packet& p, ps t) {
  p.holder = &parts_.held;
  memory_.detach(tr, to_holder<&packet::holder, &held_packets::release>, &p, t);
}

// Scatters the bytes from `at` on into the segments of the receive in use.
task<verdict> payload_placement::scatter(memory_access::transfer& tr, receive_qp& c, access_owner owner, placed_bytes& at,
                                         packet& p, ps& t) {
  const std::size_t segments = c.receive.size() / sizeof(hca_wqe_data);
  owner.pd = c.receive_pd;
  for (std::size_t i = 0; i < segments && !at.all(); ++i) {
    hca_wqe_data seg;
    std::memcpy(&seg, c.receive.data() + i * sizeof seg, sizeof seg);
    if (seg.key == HCA_RECV_END && seg.length == 0) break;
    if (at.offset >= seg.length) {
      at.offset -= seg.length;
      continue;
    }
    const std::uint64_t skip = std::min<std::uint64_t>(at.blank, seg.length);
    at.blank -= skip;
    if (skip != 0 && (skip == seg.length || at.whole == 0)) {
      const memory_range place{
          .key = seg.key, .rights = HCA_ACCESS_LOCAL_WRITE, .owner = owner, .va = seg.address, .checked = skip};
      const verdict v = co_await memory_.look(tr, place, 0, t);
      if (v != verdict::granted) co_return v;
      continue;
    }
    at.offset += skip;
    while (at.offset < seg.length && at.placed < at.whole) {
      const bool in_header = at.placed < at.header;
      std::byte* const from = in_header ? p.grh_bytes() + at.placed : p.data() + (at.placed - at.header);
      const auto n = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(seg.length - at.offset, (in_header ? at.header : at.whole) - at.placed));
      memory_range range{.key = seg.key,
                         .rights = HCA_ACCESS_LOCAL_WRITE,
                         .owner = owner,
                         .va = seg.address + at.offset,
                         .checked = n,
                         .before = at.offset == skip ? skip : 0};
      const verdict v = co_await memory_.move(tr, dma_op::write, range, from, n, t);
      if (v != verdict::granted) co_return v;
      at.placed += n;
      at.offset += n;
    }
    at.offset = 0;
  }
  co_return verdict::granted;
}

task<bool> payload_placement::send(receive_qp& c, hca_qpc& q, packet& p, ps& t) {
  const wire::shape& s = p.header.shape();
  if (s.first) q.in_received = q.transport == HCA_TRANSPORT_UD ? std::uint32_t{HCA_GRH_BYTES} : 0U;
  // A datagram's GRH comes first [H3]. Without a GRH its place is judged like the rest, and stays unchanged.
  placed_bytes at;
  at.header = p.header.global && s.datagram ? std::uint32_t{HCA_GRH_BYTES} : 0U;
  at.blank = s.datagram ? HCA_GRH_BYTES - at.header : 0;
  at.whole = at.header + p.payload;
  at.offset = q.in_received - at.header - at.blank;
  memory_access::transfer& tr = memory_.begin(p.operation);
  const access_owner owner = owner_of(q, c.qpn);
  const verdict v = co_await scatter(tr, c, owner, at, p, t);
  if (!is_live(c.state)) {
    release_when_landed(tr, p, t);
    co_return true;
  }
  if (v == verdict::page_fault) {
    parts_.errors.page_missing(c, q, p, tr.missing, HCA_WC_LOC_PROT_ERR, t);
  } else if (v != verdict::granted) {
    parts_.errors.refuse(c, q, wire::nak_remote_operation, HCA_WC_LOC_PROT_ERR, t);
  } else if (!at.all()) {
    parts_.errors.refuse(c, q, wire::nak_invalid_request, HCA_WC_LOC_LEN_ERR, t);
  } else {
    counters_.payload_written += p.payload;
    q.in_received += p.payload;
    bool done = true;
    if (s.invalidate) done = co_await invalidate(c, q, p, t);
    if (done) {
      q.inbound = s.last ? static_cast<std::uint8_t>(HCA_INBOUND_NONE) : wire::send_first;
      end_message(c, q, p, t);
    }
  }
  release_when_landed(tr, p, t);
  co_return true;
}

// An invalidated key is reported even if the QP goes into error meanwhile: no other request can have done it [C6.10].
task<bool> payload_placement::invalidate(receive_qp& c, hca_qpc& q, const packet& p, ps& t) {
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
  co_await windows_.request(r, t);
  if (asked_to_stop(c.state)) co_return false;
  q.in_wqe_held = held;
  if (r.fault == window_fault::none) co_return true;
  if (in_error(c.state)) {
    if (held) parts_.reports.complete(c, q, q.in_wqe, HCA_WC_WR_FLUSH_ERR, nullptr, 0, t);
    q.in_wqe_held = 0;
    co_return false;
  }
  if (class_j_ != class_j_answer::silent) {
    const bool good = class_j_ == class_j_answer::ack;
    parts_.responses.acknowledge(c, response_sender::route_of(c, q), p.header.psn,
                                 good ? wire::ack_no_credits : wire::nak_remote_access, t);
  }
  parts_.errors.put_into_error(c, q, HCA_WC_REM_INV_REQ_ERR, HCA_EVENT_QP_ACCESS, t);
  co_return false;
}

task<bool> payload_placement::write(receive_qp& c, hca_qpc& q, packet& p, ps& t) {
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
    release_when_landed(tr, p, t);
    co_return true;
  }
  if (v == verdict::page_fault) {
    parts_.errors.page_missing(c, q, p, tr.missing, HCA_WC_LOC_ACCESS_ERR, t);
  } else if (v != verdict::granted) {
    parts_.errors.refuse(c, q, wire::nak_remote_access, HCA_WC_LOC_ACCESS_ERR, t);
  } else {
    counters_.payload_written += p.payload;
    q.in_address += p.payload;
    q.in_remaining -= p.payload;
    q.in_received += p.payload;
    q.inbound = s.last ? static_cast<std::uint8_t>(HCA_INBOUND_NONE) : wire::write_first;
    end_message(c, q, p, t);
  }
  release_when_landed(tr, p, t);
  co_return true;
}

void payload_placement::end_message(receive_qp& c, hca_qpc& q, const packet& p, ps t) {
  const wire::shape& s = p.header.shape();
  q.expected_psn = psn_add(q.expected_psn, 1);
  if (s.last) {
    ++counters_.messages;
    q.msn = psn_add(q.msn, 1);
    if (q.in_wqe_held) {
      parts_.reports.complete(c, q, q.in_wqe, HCA_WC_SUCCESS, &p, p.operation, t);
      q.in_wqe_held = 0;
    }
  }
  if (p.header.ack_request) ++c.acks_owed;
}

}  // namespace hcasim
