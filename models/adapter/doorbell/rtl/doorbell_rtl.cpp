#include "models/adapter/doorbell/rtl/doorbell_rtl.h"

#include <cmath>
#include <cstring>

#include "firmware/abi/context.h"
#include "models/adapter/doorbell/doorbell_rules.h"
#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

// Returns the lines that the RTL takes with a write: more than 0 for a write to the start of a BlueFlame buffer.
std::uint64_t lines_of(std::uint32_t offset, std::uint64_t n) {
  const bool starts = offset >= HCA_UAR_BF && (offset - HCA_UAR_BF) % HCA_BF_BYTES == 0;
  return starts && n >= HCA_WQE_BLOCK && n <= HCA_BF_BYTES ? (n + HCA_WQE_BLOCK - 1) / HCA_WQE_BLOCK : 0;
}

}  // namespace

doorbell_rtl::doorbell_rtl(const sc_core::sc_module_name& name, const doorbell_config& config, const clock_domain& clock,
                           rtl::design_factory make, const rtl::shell_options& options)
    : shell(name, clock, make, options),
      doorbell_front(config, clock),
      wr_(into("wr", 153)),
      line_(into("line", 512)),
      ring_line_(out_of("ring_line", 512)),
      ring_(out_of("ring", 71)),
      qp_rsp_(into("qp_rsp", 65)),
      qp_(out_of("qp", 24)),
      rec_rsp_(into("rec_rsp", 65)),
      rec_(out_of("rec", 64)),
      note_(out_of("note", 14)) {
  const auto demand = [](bool ok, const char* knob, const char* value) { built_for("doorbell", ok, knob, value); };
  demand(config.fifo_depth == 64, "fifo_depth", "64");
  demand(config.interval == 2, "interval", "2 cycles");
  demand(config.latency == 4, "latency", "4 cycles");
  demand(config.coalesce, "coalesce", "true");
  demand(config.blueflame_max == 256, "blueflame_max", "256");
  demand(config.blueflame_buffer == 64, "blueflame_buffer", "64");
  demand(!config.blueflame_stall, "blueflame_stall", "false");
  demand(clock.cycles(4) == ps(std::llround(1e12 / config.blueflame_lines.hertz)), "blueflame_lines", "one in 4 cycles");

  ring_line_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) {
    lines_.push_back(p);
    pass_on(t);
  };
  ring_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) {
    rung_.push_back(p);
    pass_on(t);
  };
  qp_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) {
    context_.index = static_cast<std::uint32_t>(p.get(0, 24));
    context_.failed = context_.dirty = false;
    await(1);
    if (qpc.send(context_, t) == tlm::TLM_COMPLETED) found_qp(t);
  };
  rec_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) {
    read_.address = p.get(0, 64);
    read_.failed = false;
    await(1);
    if (dma.send(read_, t) == tlm::TLM_COMPLETED) found_record(t);
  };
  stall_by(ring_, [](const rtl::payload& p) { return rtl::of_queue(p.get(0, 32), p.get(64, 2)); });
  stall_by(ring_line_, [](const rtl::payload& p) { return rtl::of_line(p.get(0, 64)); });
  stall_by(qp_, [](const rtl::payload& p) { return rtl::of_index(p.get(0, 24)); });
  stall_by(rec_, [](const rtl::payload& p) { return rtl::of_address(p.get(0, 64)); });
  note_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) { note(p, t); };
  qp_rsp_.on_transfer = rec_rsp_.on_transfer = [this](const rtl::payload&, std::uint64_t, ps) { await(-1); };

  call_on_response<&doorbell_rtl::found_qp>(context_, this);
  call_on_response<&doorbell_rtl::found_record>(read_, this);
  read_.source = dma_source::doorbell_record;
  read_.bytes = sizeof read_.record;
  read_.data = reinterpret_cast<std::byte*>(&read_.record);
  describe();
}

void doorbell_rtl::write_uar(const doorbell_rules::uar_write& w, ps t) {
  if (w.operation != 0) note_operation(w);
  std::byte first[16] = {};
  std::memcpy(first, w.data, std::min<std::size_t>(w.bytes, sizeof first));
  rtl::payload p;
  rtl::writer(p).bytes(first, sizeof first).put(w.offset, 12).put(std::min<std::uint64_t>(w.bytes, 8191), 13);
  push(wr_, p, t);
  for (std::uint64_t i = 0; i < lines_of(w.offset, w.bytes); ++i) {
    std::byte line[HCA_WQE_BLOCK] = {};
    std::memcpy(line, w.data + i * HCA_WQE_BLOCK, std::min<std::uint64_t>(w.bytes - i * HCA_WQE_BLOCK, HCA_WQE_BLOCK));
    rtl::payload l;
    rtl::writer(l).bytes(line, HCA_WQE_BLOCK);
    push(line_, l, t);
  }
}

// Pins carry no operation numbers: a leaving doorbell has the number of the last request covered by its value.
void doorbell_rtl::note_operation(const doorbell_rules::uar_write& w) {
  const bool is_wqe = w.is.what == doorbell_rules::target::blueflame;
  const hca_doorbell d = is_wqe ? hca_doorbell{w.wqe.qpn, w.wqe.value} : w.rung;
  auto& rung = operations_[d.number];
  if (!rung.empty() && operation_queue(rung.back().operation) != operation_queue(w.operation)) rung.clear();
  rung.push_back({d.value, w.operation});
}

std::uint64_t doorbell_rtl::operation_of(std::uint32_t qpn, std::uint32_t value) {
  auto& rung = operations_[qpn];
  while (rung.size() > 1 && doorbell_rules::ahead(rung[1].value, value) <= 0) rung.pop_front();
  return rung.empty() ? 0 : rung.front().operation;
}

// Doorbells leave in order, each when the lines of its WQE are out.
void doorbell_rtl::pass_on(ps t) {
  while (!rung_.empty()) {
    rtl::reader r(rung_.front());
    const std::uint32_t number = r.get32();
    const std::uint32_t value = r.get32();
    const auto kind = static_cast<bell>(r.get(2));
    const std::size_t blocks = r.get(5);
    if (lines_.size() < blocks) return;
    rung_.pop_front();
    doorbell_ring& out = rings_.get();
    out.kind = kind;
    out.number = number;
    out.value = value;
    out.operation = kind == bell::send ? operation_of(number, value) : 0;
    out.blueflame_bytes = static_cast<std::uint32_t>(blocks * HCA_WQE_BLOCK);
    for (std::size_t i = 0; i < blocks; ++i) {
      rtl::reader(lines_.front()).bytes(out.blueflame.data() + i * HCA_WQE_BLOCK, HCA_WQE_BLOCK);
      lines_.pop_front();
    }
    bell_probe_.pulse(static_cast<std::uint64_t>(kind) + 1, t, clock().period());
    number_probe_.set(number, t);
    value_probe_.set(value, t);
    (kind == bell::send ? send : kind == bell::receive ? receive : completion).send(out, t);
    rings_.put(out);
  }
}

void doorbell_rtl::found_qp(ps t) {
  const bool failed = context_.failed;
  std::uint64_t address = ~std::uint64_t{0};  // without meaning after a failure
  if (!failed) {
    const auto& qp = context_.as<hca_qpc>();
    address = qp.state == HCA_QP_RESET ? 0 : qp.record;
    qpc.release(context_);
  }
  rtl::payload p;
  rtl::writer(p).put(address, 64).put(failed, 1);
  push(qp_rsp_, p, t, 0, rtl::of_index(context_.index));
}

void doorbell_rtl::found_record(ps t) {
  rtl::payload p;
  rtl::writer(p).bytes(&read_.record, sizeof read_.record).put(read_.failed, 1);
  push(rec_rsp_, p, t, 0, rtl::of_address(read_.address));
}

void doorbell_rtl::note(const rtl::payload& p, ps t) {
  rtl::reader r(p);
  bad_writes_ += r.get(1);
  if (const bool taken = r.get(1); taken) {
    ++blueflame_wqes_;
    blueflame_lines_ += p.get(9, 5);
  }
  blueflame_refused_ += r.get(1);
  const std::uint64_t bad = r.get(1);
  blueflame_bad_ += bad;
  const std::uint64_t merged = r.get(1);
  coalesced_ += merged;
  const std::uint64_t dropped = r.get(1);
  const std::uint64_t aside = r.get(1);
  dropped_count_ += dropped;
  aside_count_ += aside;
  if (on_fate && (dropped || bad || merged || aside)) {
    on_fate(wr_.transfers(), merged ? fate::merged : aside ? fate::aside : fate::lost);
  }
  if (dropped || aside) drop_probe_.pulse(1, t, clock().period());
  recovered_ += r.get(1);
  recovery_failures_ += r.get(1);
}

void doorbell_rtl::describe() {
  describe_front(stats_);
  stats_.total("rtl_cycles", "1", "clock edges that the RTL was given", [this](ps) { return static_cast<double>(cycles()); });
  signals_.add("bell", 3, bell_probe_, {"none", "send", "receive", "completion", "event"});
  signals_.add("number", 32, number_probe_);
  signals_.add("value", 32, value_probe_);
  signals_.add("drop", 1, drop_probe_);
}

}  // namespace hcasim
