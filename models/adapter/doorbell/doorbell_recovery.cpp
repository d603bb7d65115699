// Doorbells that were dropped are read back from the doorbell records.
#include <utility>

#include "models/adapter/doorbell/doorbell.h"

namespace hcasim {

void doorbell::remember(std::uint32_t qpn, std::uint64_t operation, ps t) {
  const auto [known, first] = remembered_.try_emplace(qpn, operation);
  if (!first) {  // its record has not been read yet
    if (operation != 0) known->second = operation;
    return;
  }
  dropped_.push(qpn);
  dropped_level_.set(dropped_.size(), t);
  dropped_probe_.set(dropped_.size(), t);
  if (!recovering_) recover(t);
}

// One QP at a time; a doorbell that is dropped while the record is being read is remembered once more.
process doorbell::recover(ps t) {
  recovering_ = true;
  while (!dropped_.empty()) {
    const std::uint32_t qpn = dropped_.pop();
    const std::uint64_t operation = remembered_.extract(qpn).mapped();
    dropped_level_.set(dropped_.size(), t);
    dropped_probe_.set(dropped_.size(), t);
    newest_ = {};
    newest_.qpn = qpn;
    hca_qp_record record{};
    const bool read = co_await read_record(qpn, record, operation, t);
    const newest seen = std::exchange(newest_, {});
    if (!read || seen.stopped) {
      ++recovery_failures_;
      continue;
    }
    ++recovered_;
    recover_probe_.pulse(qpn, t, clock_.period());
    if (!seen.send || doorbell_rules::ahead(record.sq_pi, seen.sq) > 0)
      pass_recovered(bell::send, qpn, record.sq_pi & 0xffff, operation, t);
    if (!seen.receive || doorbell_rules::ahead(record.rq_pi, seen.rq) > 0) {
      pass_recovered(bell::receive, qpn, record.rq_pi & 0xffff, 0, t);
    }
  }
  recovering_ = false;
}

// Overtakes what waits in the FIFO, so what it makes obsolete there goes.
void doorbell::pass_recovered(bell kind, std::uint32_t qpn, std::uint32_t value, std::uint64_t operation, ps t) {
  const bool newer =
      !coming_in_ || coming_.kind != kind || coming_.number != qpn || doorbell_rules::ahead(value, coming_.value) > 0;
  if (!newer) return;
  for (std::size_t i = 0; i < size_; ++i) {
    entry& e = fifo_[(head_ + i) % fifo_.size()];
    if (e.kind != kind || e.number != qpn || e.cancelled || doorbell_rules::ahead(e.value, value) > 0) continue;
    cancel(e);
  }
  const entry e{kind, qpn, value, t, operation};
  if (coming_in_) {
    behind_.push_back(e);
  } else {
    recovered_turn_ = forward(e);
  }
}

// Its entry takes its turn all the same.
void doorbell::cancel(entry& e) {
  e.cancelled = true;
  if (e.kind == bell::send) --queued_[e.number % queued_.size()];
  if (e.wqe) rings_.put(*std::exchange(e.wqe, nullptr));
}

void doorbell::stopped(bool is_cq, std::uint32_t number) {
  const auto meant = [&](const entry& e) {
    if (is_cq) return e.kind == bell::completion && (e.number & doorbell_rules::number_mask) == number;
    return (e.kind == bell::send || e.kind == bell::receive) && e.number == number;
  };
  for (std::size_t i = 0; i < size_; ++i) {
    entry& e = fifo_[(head_ + i) % fifo_.size()];
    if (meant(e) && !e.cancelled) cancel(e);
  }
  std::erase_if(behind_, meant);
  std::erase_if(aside_, meant);
  newest_.stopped |= !is_cq && newest_.qpn == number;
  if (coming_in_ && meant(coming_)) {
    coming_.cancelled = true;
    if (coming_.wqe) rings_.put(*std::exchange(coming_.wqe, nullptr));
  }
}

task<bool> doorbell::read_record(std::uint32_t qpn, hca_qp_record& record, std::uint64_t operation, ps& t) {
  context_request context;
  context.index = qpn;
  context.operation = operation;
  co_await qpc.request(context, t);
  if (context.failed) co_return false;
  const auto& qp = context.as<hca_qpc>();
  const std::uint64_t address = qp.state == HCA_QP_RESET ? 0 : qp.record;
  qpc.release(context);
  if (address == 0) co_return false;
  dma_request d;
  d.source = dma_source::doorbell_record;
  d.address = address;
  d.operation = operation;
  d.bytes = sizeof record;
  d.data = reinterpret_cast<std::byte*>(&record);
  co_await dma.request(d, t);
  co_return !d.failed;
}

}  // namespace hcasim
