#include "models/adapter/processing_units/processing_units.h"

#include <string>

#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

constexpr std::uint64_t line_bytes = 64;

}  // namespace

processing_units::processing_units(const sc_core::sc_module_name& name, const processing_units_config& config,
                                   const clock_domain& clock)
    : unit(name),
      config_(config),
      clock_(clock),
      times_{clock.cycles(config.wqe), clock.cycles(config.request_in), clock.cycles(config.response_in),
             clock.cycles(config.acknowledge_in), clock.cycles(config.response_out)},
      line_time_(clock.cycles(config.read_line)),
      piece_time_(clock.cycles(config.write_piece)),
      free_(config.units),
      use_(config.units) {
  requester.on<&processing_units::handle>(this);
  responder.on<&processing_units::handle>(this);
  for (std::size_t i = 0; i < kinds; ++i) {
    const std::string kind(processing_step_names[i]);
    stats_.add(kind + "_steps", "1", "steps of the kind " + kind, steps_[i]);
  }
  stats_.add("busy", "1", "units at work", busy_level_);
  stats_.add("waiting", "1", "steps without a unit", waiting_level_);
  stats_.busy_time("units_busy", "share of `units` at work, times the time", use_);
  signals_.add("busy", 9, busy_probe_);
  signals_.add("waiting", 16, waiting_probe_);
  signals_.add("step", 3, step_probe_, {processing_step_names.begin(), processing_step_names.end()});
  signals_.add("qpn", 24, qpn_probe_);
}

ps processing_units::time_of(const processing_request& r) const {
  return times_[static_cast<std::size_t>(r.step)];
}

ps processing_units::time_of_payload(const processing_request& r) const {
  if (r.bytes == 0) return 0_ps;
  const bool reads = r.step == processing_step::response_out;
  const std::uint64_t size = reads ? line_bytes : config_.piece;
  return (reads ? line_time_ : piece_time_) * static_cast<std::int64_t>(ceil_div(r.bytes, size) - 1);
}

tlm::tlm_sync_enum processing_units::handle(processing_request& r, tlm::tlm_phase, ps&) {
  ++steps_[static_cast<std::size_t>(r.step)];
  if (time_of(r) + time_of_payload(r) == 0_ps) return tlm::TLM_COMPLETED;
  waiting_level_.add(1, now());
  waiting_probe_.set(waiting_level_.value(), now());
  processed_qp& q = qps_.make(r.qpn);
  r.holder = this;
  if (q.busy) {
    q.behind.push(r);
  } else {
    q.busy = true;
    ask(r);
  }
  return tlm::TLM_ACCEPTED;
}

void processing_units::ask(processing_request& r) {
  if (free_ != 0) return start(r);
  ready_[static_cast<std::size_t>(r.step)].push(r);
}

void processing_units::start(processing_request& r) {
  --free_;
  last_ = static_cast<std::size_t>(r.step);
  use_.add(1, now());
  waiting_level_.add(-1, now());
  waiting_probe_.set(waiting_level_.value(), now());
  busy_level_.add(1, now());
  busy_probe_.set(busy_level_.value(), now());
  step_probe_.set(last_, now());
  qpn_probe_.set(r.qpn, now());
  const ps decided = now() + time_of(r);
  processed_qp& q = *qps_.find(r.qpn);
  q.self = this;
  queue_.at(decided + time_of_payload(r), call_holder<&processed_qp::self, &processing_units::end>(q));
  queue_.at(decided, call_holder<&processing_request::holder, &processing_units::answer>(r));
}

void processing_units::answer(processing_request& r) {
  target_socket<processing_request>::respond(r, now());
}

void processing_units::end(processed_qp& q) {
  ++free_;
  use_.add(-1, now());
  busy_level_.add(-1, now());
  busy_probe_.set(busy_level_.value(), now());
  q.busy = !q.behind.empty();
  if (q.busy) {
    processing_request& behind = q.behind.pop();
    ready_[static_cast<std::size_t>(behind.step)].push(behind);
  }
  start_next();
}

// The kind behind the last one comes first.
void processing_units::start_next() {
  for (std::size_t i = 1; i <= kinds && free_ != 0; ++i) {
    fifo<processing_request>& ready = ready_[(last_ + i) % kinds];
    if (ready.empty()) continue;
    start(ready.pop());
    i = 0;
  }
}

}  // namespace hcasim
