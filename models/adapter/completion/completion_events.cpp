// Event queues, MSI-X and the writes on their way to memory.
#include <algorithm>
#include <cstring>

#include "models/adapter/completion/completion.h"
#include "tlm/base/delegate.h"

namespace hcasim {

tlm::tlm_sync_enum completion::on_doorbell(doorbell_ring& d, tlm::tlm_phase phase, ps& t) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const std::uint32_t number = d.number & 0x00ffffff;
  const auto arm = static_cast<std::uint8_t>(d.number >> 24);
  if (d.kind == bell::completion) {
    ring_cq(number, arm, d.value, t);
  } else if (d.kind == bell::event) {
    ring_eq(number, arm != HCA_ARM_NONE, d.value, t);
  } else {
    ++bad_doorbells_;
  }
  return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum completion::on_control(completion_control& c, tlm::tlm_phase phase, ps&) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  switch (c.op) {
    case completion_op::set_eq:
      set_eq(c);
      break;
    case completion_op::settle: {
      const lane& l = lane_of(c.number & queue_number_mask);
      if (l.written == l.taken) break;
      settle(c);
      return tlm::TLM_ACCEPTED;
    }
    case completion_op::reset:
      forget();
      break;
  }
  return tlm::TLM_COMPLETED;
}

void completion::set_eq(const completion_control& c) {
  if (c.number >= event_rings_.size()) return;
  event_ring& q = event_rings_[c.number];
  q.open = c.open;
  q.armed = false;
  q.context = c.eqc;
  q.geometry = {completion_rules::log_entries(c.eqc.buffer.log_bytes, 5)};
  q.pi = 0;
  q.ci = 0;
  events_lost_ += q.pending.size();
  q.pending = {};
}

// Timers of moderation that still run are void.
void completion::forget() {
  vectors_.fill({});
  for (const auto& page : lanes_) {
    for (std::uint32_t i = 0; page && i < lanes_per_page; ++i) {
      ++page[i].generation;
      page[i].lost = false;
    }
  }
}

void completion::raise(std::uint32_t eqn, event e, ps t) {
  if (eqn >= event_rings_.size() || !event_rings_[eqn].open) {
    ++events_lost_;
    return;
  }
  event_ring& q = event_rings_[eqn];
  if (q.geometry.full(q.pi, q.ci)) {
    ++eqes_deferred_;
    q.pending.push(e);
    return;
  }
  write_eqe(q, e, t);
}

void completion::write_eqe(event_ring& q, event e, ps t) {
  ++eqes_;
  t += clock_.cycles(config_.eqe_latency);
  event_probe_.pulse(e.type, t, clock_.period());
  event_number_probe_.set(e.number, t);
  hca_eqe eqe{};
  eqe.type = e.type;
  eqe.number = e.number;
  eqe.va = e.va;
  eqe.length = e.length;
  eqe.flags = e.flags;
  eqe.qpn = e.qpn;
  eqe.owner = q.geometry.owner(q.pi);
  const std::uint64_t address = q.context.buffer.pages + std::uint64_t{q.geometry.slot(q.pi)} * HCA_EQE_BYTES;
  ++q.pi;
  post(dma_source::completion, address, &eqe, sizeof eqe, no_cq, e.operation, t);
  if (q.armed) interrupt(q, e.operation, t);
}

void completion::ring_eq(std::uint32_t eqn, bool arm, std::uint32_t ci, ps t) {
  if (eqn >= event_rings_.size() || !event_rings_[eqn].open) {
    ++bad_doorbells_;
    return;
  }
  event_ring& q = event_rings_[eqn];
  if (completion_rules::plausible(ci, q.ci, q.pi)) q.ci = ci;
  if (arm) q.armed = true;
  while (!q.pending.empty() && !q.geometry.full(q.pi, q.ci)) {
    const event e = q.pending.pop();
    write_eqe(q, e, t);
  }
  // EQEs that came between the last look and the arming.
  if (q.armed && q.pi != q.ci) interrupt(q, 0, t);
}

void completion::interrupt(event_ring& q, std::uint64_t operation, ps t) {
  q.armed = false;
  signal(q.context.vector, operation, t + clock_.cycles(config_.interrupt_latency));
}

void completion::signal(std::uint32_t vector, std::uint64_t operation, ps t) {
  if (vector >= vectors_.size()) {
    ++events_lost_;
    return;
  }
  vector_entry& v = vectors_[vector];
  if (v.entry.masked & 1) {
    if (!v.pending) ++masked_;
    v.pending = true;
    return;
  }
  v.pending = false;
  ++interrupts_;
  interrupt_probe_.pulse(1, t, clock_.period());
  vector_probe_.set(vector, t);
  if ((to_lose_ | to_repeat_) != 0) [[unlikely]] {
    if (to_lose_ != 0) {
      --to_lose_;
      return;
    }
    --to_repeat_;
    post(dma_source::interrupt, v.entry.address, &v.entry.data, sizeof v.entry.data, no_cq, operation, t);
  }
  post(dma_source::interrupt, v.entry.address, &v.entry.data, sizeof v.entry.data, no_cq, operation, t);
}

tlm::tlm_sync_enum completion::on_msix(register_access& a, tlm::tlm_phase phase, ps& t) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const std::uint32_t offset = a.offset - HCA_BAR_MSIX;
  const std::uint32_t vector = offset / sizeof(hca_msix_entry);
  const std::uint32_t field = offset % sizeof(hca_msix_entry);
  if (vector >= vectors_.size() || field + a.bytes > sizeof(hca_msix_entry) || a.bytes > sizeof a.value) {
    a.value = a.write ? a.value : 0;
    return tlm::TLM_COMPLETED;
  }
  vector_entry& v = vectors_[vector];
  auto* const at = reinterpret_cast<std::byte*>(&v.entry) + field;
  if (!a.write) {
    a.value = 0;
    std::memcpy(&a.value, at, a.bytes);
    return tlm::TLM_COMPLETED;
  }
  std::memcpy(at, &a.value, a.bytes);
  if (v.pending && !(v.entry.masked & 1)) signal(vector, 0, t);
  return tlm::TLM_COMPLETED;
}

void completion::post(dma_source source, std::uint64_t address, const void* bytes, std::uint32_t n, std::uint32_t cqn,
                      std::uint64_t operation, ps t) {
  posted& p = posted_.get();
  p.operation = operation;
  p.cqn = cqn;
  p.op = dma_op::write;
  p.source = source;
  p.address = address;
  p.bytes = n;
  p.data = p.buffer.data();
  p.failed = false;
  std::memcpy(p.buffer.data(), bytes, n);
  call_on_response<&completion::landed>(p, this);
  posted_level_.set(posted_.in_use(), now());
  posted_probe_.set(posted_.in_use(), now());
  if (dma.send(p, t) == tlm::TLM_COMPLETED) landed(p, t);
}

void completion::landed(posted& p, ps t) {
  const std::uint32_t lost_from = p.failed ? p.cqn : no_cq;
  const std::uint64_t operation = p.operation;
  if (p.failed) ++write_failures_;
  posted_.put(p);
  posted_level_.set(posted_.in_use(), t);
  posted_probe_.set(posted_.in_use(), t);
  if (lost_from == no_cq) return;
  report_unreadable(lane_of(lost_from), lost_from, operation, t);
  close(lost_from, t);
}

}  // namespace hcasim
