#include "models/adapter/completion/completion.h"

#include <algorithm>

#include "firmware/abi/mrc.h"
#include "tlm/adapter_clock.h"

namespace hcasim {

using completion_rules::ring_geometry;

namespace {

ring_geometry geometry_of(const hca_cqc& cq) {
  return {completion_rules::log_entries(cq.buffer.log_bytes, 6)};
}

}  // namespace

completion::completion(const sc_core::sc_module_name& name, const completion_config& config, const clock_domain& clock,
                       unsigned reporters)
    : unit(name), config_(config), clock_(clock), event_rings_(config.event_queues) {
  for (unsigned i = 0; i < reporters; ++i) {
    reports.emplace_back(("reports" + std::to_string(i)).c_str()).template on<&completion::on_report>(this);
  }
  bells.on<&completion::on_doorbell>(this);
  control.on<&completion::on_control>(this);
  msix.on<&completion::on_msix>(this);
  describe();
}

tlm::tlm_sync_enum completion::on_report(report& r, tlm::tlm_phase phase, ps& t) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  if (r.event) {
    raise(0, {r.type, r.number, r.va, r.length, r.flags, r.qpn, r.operation}, t);
    return tlm::TLM_COMPLETED;
  }
  call c{&r};
  call* const outer = std::exchange(in_call_, &c);
  complete(r, t);
  in_call_ = outer;
  if (!c.done) return tlm::TLM_ACCEPTED;
  t = c.at;
  return tlm::TLM_COMPLETED;
}

void completion::answer(report& r, ps t) {
  if (in_call_ && in_call_->served == &r) {
    in_call_->done = true;
    in_call_->at = t;
    return;
  }
  target_socket<report>::respond(r, t);
}

// Places in a CQ are taken one after the other, and the translations of their addresses may overlap. CQEs are written in the
// order of their places; the events of a CQE come after it.
process completion::complete(report& r, ps t) {
  const ps begun = t;
  const std::uint32_t cqn = r.cqn & queue_number_mask;
  lane& l = lane_of(cqn);
  context_request context;
  context.operation = r.operation;
  const bool there = co_await enter(l, context, cqn, t);
  if (!there) {
    ++bad_reports_;
    report_unreadable(l, cqn, r.operation, t);
    answer(r, t);
    co_return;
  }
  co_await queue_.until(pipe_.start(now(), clock_.cycles(config_.cqe_interval)));
  t = now() + clock_.cycles(config_.cqe_latency);

  auto& cq = context.as<hca_cqc>();
  bool room = cq.state == HCA_CQ_VALID;
  if (room && geometry_of(cq).full(cq.pi, cq.ci)) {
    room = co_await refresh(cq, r.operation, t);
    context.dirty = true;
    if (!room) {
      ++overflows_;
      overflow_probe_.pulse(1, t, clock_.period());
      cq.state = HCA_CQ_OVERFLOWN;
      raise(0, {.type = HCA_EVENT_CQ_OVERFLOW, .number = cqn, .operation = r.operation}, t);
    }
  }
  if (!room) {
    cqc.release(context);
    leave(l);
    ++cqes_lost_;
    report_latency_.add(t - begun);
    answer(r, t);
    co_return;
  }
  const hca_cqc place = cq;
  const std::uint64_t ticket = l.taken++;
  hca_cqe e = r.cqe;
  e.owner = geometry_of(cq).owner(cq.pi);
  e.timestamp = adapter_clock(t);
  context.dirty = true;
  const bool fires = count(cq, cqn, e, t);
  cqc.release(context);
  leave(l);

  std::uint64_t physical = 0;
  const bool mapped = co_await locate(place, cqn, r.operation, physical, t);
  while (l.written != ticket) co_await l.writers.wait();
  t = std::max(t, now());
  if (mapped) {
    l.lost = false;
    post(dma_source::completion, physical, &e, sizeof e, cqn, r.operation, t);
  } else {
    ++cqes_lost_;
    report_unreadable(l, cqn, r.operation, t);
    close(cqn, t);
  }
  ++l.written;
  l.writers.wake_all(queue_);
  if (fires) raise(place.eqn, {.type = HCA_EVENT_COMPLETION, .number = cqn, .operation = r.operation}, t);
  report_latency_.add(t - begun);
  answer(r, t);
}

void completion::report_unreadable(lane& l, std::uint32_t cqn, std::uint64_t operation, ps t) {
  if (std::exchange(l.lost, true)) return;
  raise(0, {.type = HCA_EVENT_CQ_ERROR, .number = cqn, .operation = operation}, t);
}

// Takes no more CQEs: taken places stay empty, and software would not look behind them.
process completion::close(std::uint32_t cqn, ps t) {
  context_request context;
  context.index = cqn;
  co_await cqc.request(context, t);
  if (context.failed) co_return;
  context.as<hca_cqc>().state = HCA_CQ_OVERFLOWN;
  context.dirty = true;
  cqc.release(context);
}

process completion::settle(completion_control& c) {
  lane& l = lane_of(c.number);
  const std::uint64_t before = l.taken;
  while (l.written < before) co_await l.writers.wait();
  target_socket<completion_control>::respond(c, now());
}

void completion::note_waiting(int more) {
  waiting_level_.add(more, now());
  waiting_probe_.set(waiting_level_.value(), now());
}

// Reads the consumer index that software keeps in memory. False = the CQ is full all the same.
task<bool> completion::refresh(hca_cqc& cq, std::uint64_t operation, ps& t) {
  ++record_reads_;
  hca_cq_record record{};
  dma_request d;
  d.operation = operation;
  d.source = dma_source::doorbell_record;
  d.address = cq.record;
  d.bytes = sizeof record;
  d.data = reinterpret_cast<std::byte*>(&record);
  co_await dma.request(d, t);
  if (!d.failed && completion_rules::plausible(record.ci, cq.ci, cq.pi)) cq.ci = record.ci;
  co_return !geometry_of(cq).full(cq.pi, cq.ci);
}

task<bool> completion::locate(const hca_cqc& cq, std::uint32_t cqn, std::uint64_t operation, std::uint64_t& physical, ps& t) {
  const std::uint64_t offset = std::uint64_t{geometry_of(cq).slot(cq.pi)} * HCA_CQE_BYTES;
  if (cq.buffer.page_shift == 0) {
    physical = cq.buffer.pages + offset;
    co_return true;
  }
  translate_request q;
  q.operation = operation;
  q.map.index = HCA_TAG_CQ | cqn;
  q.map.levels = cq.buffer.levels;
  q.map.page_shift = cq.buffer.page_shift;
  q.map.table = cq.buffer.pages;
  q.va = offset;
  q.length = HCA_CQE_BYTES;
  co_await walker.request(q, t);
  physical = q.physical;
  co_return q.status == translate_status::ok;
}

// The place at cq.pi is taken by `e`. True = that is an event.
bool completion::count(hca_cqc& cq, std::uint32_t cqn, const hca_cqe& e, ps t) {
  ++cqes_;
  if (e.status != HCA_WC_SUCCESS) ++cqes_in_error_;
  cqe_probe_.pulse(1, t, clock_.period());
  cqn_probe_.set(cqn, t);
  pi_probe_.set(cq.pi, t);
  status_probe_.set(e.status, t);
  ++cq.pi;
  if (completion_rules::solicited(e)) cq.solicited_pi = cq.pi;
  if (!completion_rules::counts(cq, e)) return false;
  ++cq.since_arm;
  if (cq.since_arm >= completion_rules::events_after(cq)) {
    fire(cq, cqn);
    return true;
  }
  if (cq.since_arm == 1 && cq.moderation_us != 0) {
    moderate(cqn, lane_of(cqn).generation, t + ps(std::int64_t{cq.moderation_us} * 1'000'000));
  }
  return false;
}

// The event itself is raised when the CQEs before it have been written.
void completion::fire(hca_cqc& cq, std::uint32_t cqn) {
  ++cq_events_;
  cq.arm = HCA_ARM_NONE;
  cq.since_arm = 0;
  ++lane_of(cqn).generation;
}

// Contexts may be fetched together; turns come in the order of arrival. False = there is no such CQ, and the turn is over.
task<bool> completion::enter(lane& l, context_request& context, std::uint32_t cqn, ps& t) {
  const std::uint64_t mine = l.arrived++;
  context.index = cqn;
  co_await cqc.request(context, t);
  if (l.turn != mine) {
    ++order_waits_;
    note_waiting(1);
    while (l.turn != mine) co_await l.waiters.wait();
    note_waiting(-1);
    t = now();
  }
  if (context.failed) leave(l);
  co_return !context.failed;
}

task<> completion::raise_in_turn(lane& l, std::uint32_t eqn, std::uint32_t cqn) {
  const std::uint64_t before = l.taken;
  while (l.written < before) co_await l.writers.wait();
  raise(eqn, {HCA_EVENT_COMPLETION, cqn}, now());
}

process completion::ring_cq(std::uint32_t cqn, std::uint8_t arm, std::uint32_t ci, ps t) {
  lane& l = lane_of(cqn);
  context_request context;
  const bool there = co_await enter(l, context, cqn, t);
  if (!there) {
    ++bad_doorbells_;
    if (cqn < context.area_entries) report_unreadable(l, cqn, 0, t);
    co_return;
  }
  auto& cq = context.as<hca_cqc>();
  const std::uint32_t eqn = cq.eqn;
  bool fires = false;
  if (cq.state != HCA_CQ_VALID || arm > HCA_ARM_SOLICITED) {
    ++bad_doorbells_;
  } else {
    if (completion_rules::plausible(ci, cq.ci, cq.pi)) cq.ci = ci;
    if (arm != HCA_ARM_NONE) {
      ++arms_;
      // A request for any completion is not weakened by a later one for solicited completions.
      if (cq.arm == HCA_ARM_NONE) {
        cq.since_arm = 0;
        ++l.generation;
      }
      if (cq.arm != HCA_ARM_NEXT) cq.arm = arm;
      cq.armed_ci = ci;
      if (completion_rules::missed(cq)) {
        ++late_arms_;
        fire(cq, cqn);
        fires = true;
      }
    }
    context.dirty = true;
  }
  cqc.release(context);
  leave(l);
  if (fires) co_await raise_in_turn(l, eqn, cqn);
}

process completion::moderate(std::uint32_t cqn, std::uint32_t generation, ps deadline) {
  co_await queue_.until(deadline);
  ps t = now();
  lane& l = lane_of(cqn);
  if (l.generation != generation) co_return;
  context_request context;
  const bool there = co_await enter(l, context, cqn, t);
  if (!there) {
    report_unreadable(l, cqn, 0, t);
    co_return;
  }
  auto& cq = context.as<hca_cqc>();
  const std::uint32_t eqn = cq.eqn;
  const bool fires = l.generation == generation && cq.arm != HCA_ARM_NONE && cq.since_arm > 0;
  if (fires) {
    ++timer_events_;
    fire(cq, cqn);
    context.dirty = true;
  }
  cqc.release(context);
  leave(l);
  if (fires) co_await raise_in_turn(l, eqn, cqn);
}

completion::lane& completion::lane_of(std::uint32_t cqn) {
  const std::uint32_t page = cqn / lanes_per_page;
  if (page >= lanes_.size()) lanes_.resize(page + 1);
  if (!lanes_[page]) lanes_[page] = std::make_unique<lane[]>(lanes_per_page);
  return lanes_[page][cqn % lanes_per_page];
}

void completion::leave(lane& l) {
  ++l.turn;
  l.waiters.wake_all(queue_);
}

}  // namespace hcasim
