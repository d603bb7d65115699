#include "models/adapter/dma_engine/dma_engine.h"

#include "firmware/abi/registers.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "models/adapter/dma_engine/dma_rules.h"
#include "tlm/access.h"
#include "tlm/base/border.h"
#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

// Returns the cycles in which the datapath moves the next burst of a write.
double moving_cycles(const dma_job& j, const dma_engine_config& c) {
  const std::uint32_t bytes = dma_rules::write_burst(j.request->address + j.issued, j.bytes - j.issued, c.write_buffer);
  return c.write_command + dma_rules::moving_cycles(bytes, c.write_line, c.datapath_width);
}

constexpr bool may_be_icm(dma_source s) {
  return s == dma_source::context || s == dma_source::table || s == dma_source::command;
}

}  // namespace

dma_engine::dma_engine(const sc_core::sc_module_name& name, const dma_engine_config& config, const clock_domain& clock,
                       unsigned clients, std::uint16_t requester, const icm_guard& guard)
    : unit(name),
      pcie("pcie"),
      config_(config),
      clock_(clock),
      requester_(requester),
      tags_free_(config.read_tags),
      write_free_(config.write_buffer),
      locks_(config.atomic_buckets, config.atomic_waiters),
      guard_(guard),
      icm_map_(guard.config()) {
  if (!std::has_single_bit(config.mrrs)) throw std::invalid_argument("dma_engine: mrrs must be a power of two");
  for (unsigned i = 0; i < clients; ++i) {
    in.emplace_back(("in" + std::to_string(i)).c_str()).template on<&dma_engine::handle>(this);
  }
  areas.on<&dma_engine::on_area>(this);
  pcie.register_nb_transport_bw(this, &dma_engine::pcie_backward);
  own(pcie);
  describe();
}

void dma_engine::end_of_elaboration() {
  pcie_abroad_ = leads_abroad(pcie);
}

tlm::tlm_sync_enum dma_engine::handle(dma_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const auto source = static_cast<std::size_t>(r.source);
  ++requests_[source];
  bytes_[source] += r.bytes;
  r.failed = r.damaged = false;
  if (r.bytes == 0) return tlm::TLM_COMPLETED;
  if (r.address >= HCA_DM_BASE && r.address < 2 * HCA_DM_BASE) {
    local.access(r, t);
    return tlm::TLM_COMPLETED;
  }

  dma_job& j = new_job(r, t);
  j.entry = may_be_icm(r.source) ? guard_.entry_at(r.address) : icm_entry::none;
  if (guard_.has_code() && j.entry != icm_entry::none) guard_.make_code(r, j.code);
  if (r.op == dma_op::read) note_reads(1);
  later<&dma_engine::enqueue>(j, begins_at(r, t + clock_.cycles(config_.request_latency)));
  return tlm::TLM_ACCEPTED;
}

dma_job& dma_engine::new_job(dma_request& r, ps t) {
  dma_job& j = jobs_.get();
  j.self = this;
  j.request = &r;
  j.entry = icm_entry::none;
  j.code.clear();
  j.frames.clear();
  j.bytes = r.bytes;
  j.issued = 0;
  j.in_flight = 0;
  j.begun = t;
  j.done = t;
  return j;
}

// Everything requested after a write begins after the write.
ps dma_engine::begins_at(const dma_request& r, ps due) {
  if (config_.write_latency == 0) return due;
  if (r.op == dma_op::write) writes_until_ = std::max(writes_until_, due + clock_.cycles(config_.write_latency));
  return std::max(due, writes_until_);
}

void dma_engine::enqueue(dma_job& j) {
  if (icm_map_.on() && waits_for_map(j)) return wait_for_map(j);
  begin(j);
}

void dma_engine::begin(dma_job& j) {
  if (j.atomic()) {
    start_atomic(j);
  } else if (j.request->op == dma_op::read) {
    enqueue_read(j);
  } else {
    enqueue_write(j);
  }
  pump();
}

void dma_engine::start_atomic(dma_job& j) {
  ++atomics_;
  if (j.bytes != 8 || (j.request->address & 7)) {
    j.request->failed = true;
    finish(j, now());
    return;
  }
  const bool locked = locks_.take(j);
  note_locks();
  if (!locked) {
    ++lock_waits_;
    return;
  }
  pace_atomic(j);
}

void dma_engine::pace_atomic(dma_job& j) {
  const ps at = atomic_pace_.start(now(), clock_.cycles(config_.atomic_interval));
  if (at > now()) return later<&dma_engine::read_atomic>(j, at);
  enqueue_read(j);
}

void dma_engine::read_atomic(dma_job& j) {
  enqueue_read(j);
  pump();
}

// The old value is here. PCIe keeps the write in front of every later read, so the lock opens once the write is issued.
void dma_engine::write_atomic(dma_job& j) {
  dma_request& r = *j.request;
  if (r.failed) {
    unlock(r.address);
    finish(j, now());
    return pump();
  }
  const std::uint64_t original = j.word;
  std::memcpy(r.data, &original, sizeof original);
  j.word = dma_rules::modify(r.op, original, r.operand, r.compare);
  if (j.word == original) {
    unlock(r.address);
    finish(j, now());
    return pump();
  }
  j.issued = 0;
  enqueue_write(j);
  pump();
}

void dma_engine::unlock(std::uint64_t address) {
  locks_.give(address);
  note_locks();
  while (dma_job* const j = locks_.next()) pace_atomic(*j);
}

void dma_engine::note_locks() {
  locks_level_.set(locks_.held(), now());
  locks_probe_.set(locks_.held(), now());
}

void dma_engine::enqueue_read(dma_job& j) {
  j.sequence = sequence_++;
  j.completer = dma_rules::completer_of(j.request->address);
  completer& c = completers_[j.completer];
  if (tags_for(c) == 0 || c.waiting != 0) ++tag_stalls_;
  completers_known_ += !std::exchange(c.known, true);
  const auto source = static_cast<unsigned>(j.request->source);
  c.reads[source].push(j);
  c.waiting |= 1U << source;
  reads_waiting_probe_.set(++reads_waiting_, now());
}

std::uint32_t dma_engine::tags_for(const completer& c) const {
  const std::uint32_t most = config_.read_tags - (completers_known_ > 1 ? dma_rules::kept_for_others(config_.read_tags) : 0);
  return c.tags < most ? std::min(tags_free_, most - c.tags) : 0;
}

// Returns the completer of the oldest read that may go, among reads requested before `before`; nullptr = none may.
dma_engine::completer* dma_engine::next_read(std::uint64_t before) {
  completer* next = nullptr;
  std::uint64_t oldest = before;
  for (completer& c : completers_) {
    if (c.waiting == 0 || tags_for(c) == 0) continue;
    for (std::uint32_t left = c.waiting; left != 0; left &= left - 1) {
      const std::uint64_t sequence = c.reads[static_cast<unsigned>(std::countr_zero(left))].front().sequence;
      if (sequence >= oldest) continue;
      oldest = sequence;
      next = &c;
    }
  }
  return next;
}

// Returns the reads of the source in turn, among sources with a read requested before `before`.
dma_fifo& dma_engine::in_turn(completer& c, std::uint64_t before) {
  const auto may = [&](unsigned source) { return (c.waiting >> source & 1) != 0 && c.reads[source].front().sequence < before; };
  constexpr auto payload = static_cast<unsigned>(dma_source::payload);
  c.last = payload;
  if (c.payload < dma_rules::payload_turns && may(payload)) {
    ++c.payload;
    return c.reads[payload];
  }
  for (unsigned i = 1; i <= dma_sources; ++i) {
    const unsigned source = (c.other + i) % dma_sources;
    if (source == payload || !may(source)) continue;
    c.payload = 0;
    c.last = c.other = source;
    break;
  }
  return c.reads[c.last];
}

void dma_engine::enqueue_write(dma_job& j) {
  j.sequence = sequence_++;
  if (!fits(j) || !writes_.empty()) ++buffer_stalls_;
  writes_.push(j);
  writes_waiting_probe_.set(writes_.size(), now());
}

// Issues what can be issued now, oldest first. Calls into PCIe may come back here; the outer loop then goes on.
void dma_engine::pump() {
  if (pumping_) return;
  pumping_ = true;
  while (!not_taken_) {
    const bool write_waits = !writes_.empty();
    completer* const c = reads_waiting_ != 0 ? next_read(next_write()) : nullptr;
    if (!c && (!write_waits || !fits(writes_.front()))) break;
    // The store of a write overlaps the transfer of the burst before.
    const bool stored = !c && config_.store_and_forward && config_.datapath_width != 0;
    const ps storing = stored ? clock_.cycles(moving_cycles(writes_.front(), config_)) : 0_ps;
    const ps turn = std::max(issue_.free_at(), link_free_ - storing);
    if (turn > now()) {
      pump_at(turn);
      break;
    }
    if (c) {
      issue_read(*c);
    } else {
      issue_write();
    }
  }
  pumping_ = false;
}

void dma_engine::pump_now() {
  next_pump_ = never;
  pump();
}

void dma_engine::pump_at(ps t) {
  if (t >= next_pump_) return;
  next_pump_ = t;
  queue_.at(t, call<&dma_engine::pump_now>(this));
}

bool dma_engine::fits(const dma_job& w) const {
  return dma_rules::write_burst(w.request->address + w.issued, w.bytes - w.issued, config_.write_buffer) <= write_free_;
}

void dma_engine::issue_read(completer& c) {
  dma_fifo& reads = in_turn(c, next_write());
  dma_job& j = reads.front();
  const std::uint64_t address = j.request->address + j.issued;
  const std::uint32_t bytes = dma_rules::read_burst(address, j.bytes - j.issued, config_.mrrs, tags_for(c));
  auto* const data = j.atomic() ? reinterpret_cast<std::byte*>(&j.word) : j.request->data + j.issued;
  const ps at = issue_.start(now(), clock_.cycles(config_.issue_interval));

  dma_burst& b = bursts_.get();
  b.self = this;
  b.extension.operation = j.request->operation;
  b.job = &j;
  b.tags = dma_rules::read_pieces(address, bytes, config_.mrrs);
  b.completer = j.completer;
  b.extension.check_bits = j.code_at(address);
  tags_free_ -= b.tags;
  c.tags += b.tags;
  tags_level_.set(tags_in_use(), at);
  tags_probe_.set(tags_in_use(), at);
  ++read_bursts_;
  ++j.in_flight;
  j.issued += bytes;
  if (j.issued == j.bytes) {
    reads.pop();
    if (reads.empty()) c.waiting &= ~(1U << c.last);
    reads_waiting_probe_.set(--reads_waiting_, at);
  }
  source_probe_.set(static_cast<std::uint64_t>(j.request->source), at);
  send(b, tlm::TLM_READ_COMMAND, j.place_of(address), data, bytes, at);
}

void dma_engine::issue_write() {
  dma_job& j = writes_.front();
  const std::uint64_t address = j.request->address + j.issued;
  const std::uint32_t bytes = dma_rules::write_burst(address, j.bytes - j.issued, config_.write_buffer);
  const double moving = moving_cycles(j, config_);
  const ps busy = clock_.cycles(std::max(config_.issue_interval, moving));
  ps at = issue_.start(now(), busy);
  if (config_.store_and_forward) at += clock_.cycles(moving);

  dma_burst& b = bursts_.get();
  b.self = this;
  b.extension.operation = j.request->operation;
  b.tags = 0;
  b.extension.check_bits = j.code_at(address);
  write_free_ -= bytes;
  write_level_.set(config_.write_buffer - write_free_, at);
  write_probe_.set(config_.write_buffer - write_free_, at);
  ++write_bursts_;
  j.issued += bytes;
  const bool last = j.issued == j.bytes;
  if (last) {
    writes_.pop();
    writes_waiting_probe_.set(writes_.size(), at);
  }
  source_probe_.set(static_cast<std::uint64_t>(j.request->source), at);
  if (!j.atomic()) {
    b.job = &j;
    ++j.in_flight;
    send(b, tlm::TLM_WRITE_COMMAND, j.place_of(address), j.request->data + (j.issued - bytes), bytes, at);
    return;
  }
  b.job = nullptr;
  b.word = j.word;
  send(b, tlm::TLM_WRITE_COMMAND, address, reinterpret_cast<std::byte*>(&b.word), bytes, at);
  unlock(address);
  finish(j, at);
}

void dma_engine::send(dma_burst& b, tlm::tlm_command command, std::uint64_t address, std::byte* data, std::uint32_t bytes,
                      ps t) {
  set_access(b, command, address, data, bytes);
  b.extension.requester = requester_;
  b.extension.owner = &b;
  issue_probe_.pulse(command == tlm::TLM_WRITE_COMMAND ? 2 : 1, t, clock_.period());
  address_probe_.set(address, t);
  bytes_probe_.set(bytes, t);

  not_taken_ = &b;
  b.acquire();
  if (t <= now()) return hand_over(b);
  later<&dma_engine::hand_over>(b, t);
}

void dma_engine::hand_over(dma_burst& b) {
  sc_core::sc_time delay = to_delay(now(), pcie_abroad_);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  const tlm::tlm_sync_enum status = pcie->nb_transport_fw(b, phase, delay);
  if (status != tlm::TLM_ACCEPTED) {
    if (not_taken_ == &b) not_taken_ = nullptr;
    link_free_ = from_delay(delay);
    if (status == tlm::TLM_COMPLETED || phase == tlm::BEGIN_RESP) landed_at(b, link_free_);
    if (status == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP) {
      phase = tlm::END_RESP;
      pcie->nb_transport_fw(b, phase, delay);
    }
  }
  b.release();
  if (config_.store_and_forward) pump();  // its bursts are handed over later, outside of the loop
}

tlm::tlm_sync_enum dma_engine::pcie_backward(tlm::tlm_generic_payload& gp, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  const ps t = from_delay(delay);
  auto& b = static_cast<dma_burst&>(gp);
  if (not_taken_ == &b) {
    not_taken_ = nullptr;
    link_free_ = t;
    if (phase == tlm::END_REQ) pump();
  }
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  landed_at(b, t);
  return tlm::TLM_COMPLETED;
}

void dma_engine::landed_at(dma_burst& b, ps t) {
  if (t <= now()) return landed(b);
  later<&dma_engine::landed>(b, t);
}

// The burst keeps its reference to the very end, so that nothing issued from here reuses a payload PCIe is still handing over.
void dma_engine::landed(dma_burst& b) {
  const ps t = now();
  const bool failed = b.get_response_status() != tlm::TLM_OK_RESPONSE;
  const std::uint32_t bytes = b.get_data_length();
  const bool read = b.is_read();
  if (failed) {
    ++failures_;
    failed_probe_.pulse(1, t, clock_.period());
  }
  if (read) {
    tags_free_ += b.tags;
    completers_[b.completer].tags -= b.tags;
    tags_level_.set(tags_in_use(), t);
    tags_probe_.set(tags_in_use(), t);
  } else {
    write_free_ += bytes;
    write_level_.set(config_.write_buffer - write_free_, t);
    write_probe_.set(config_.write_buffer - write_free_, t);
  }
  if (dma_job* const j = b.job) {
    if (failed) j->request->failed = true;
    j->done = std::max(j->done, read ? data_in(b, t) : t);
    --j->in_flight;
    if (j->in_flight == 0 && j->issued == j->bytes) {
      if (j->atomic()) {
        later<&dma_engine::write_atomic>(*j, j->done + clock_.cycles(config_.atomic_latency));
      } else {
        finish(*j, j->done);
      }
    }
  }
  pump();
  b.release();
}

// Cutting through, the last byte leaves with the burst's own end unless the path is behind; otherwise the burst is stored
// first.
ps dma_engine::data_in(const dma_burst& b, ps t) {
  if (config_.datapath_width == 0) return t;
  const double cycles =
      b.tags * config_.read_command + dma_rules::moving_cycles(b.get_data_length(), config_.read_line, config_.datapath_width);
  const ps busy = clock_.cycles(cycles);
  return config_.store_and_forward ? return_path_.start(t, busy) + busy : return_path_.stream(t, busy);
}

void dma_engine::finish(dma_job& j, ps t) {
  dma_request& r = *j.request;
  j.done = t + clock_.cycles(config_.response_latency);
  if (!j.code.empty() && r.op == dma_op::read) j.done += clock_.cycles(guard_.check_latency());
  (j.atomic() ? atomic_latency_ : r.op == dma_op::read ? read_latency_ : write_latency_).add(j.done - j.begun);
  if (j.done > now()) return later<&dma_engine::answer>(j, j.done);
  answer(j);
}

tlm::tlm_sync_enum dma_engine::on_area(icm_area& a, tlm::tlm_phase, ps&) {
  if (a.kind == icm_entry::none) icm_map_.set_table(a.base);
  guard_.set_area(a.kind, a.base, a.bytes);
  return tlm::TLM_COMPLETED;
}

void dma_engine::spoil(dma_request& r) {
  std::uint32_t word = 0;
  const bit_faults::spot wrong = faults_.next(r.bytes / sizeof word);
  std::byte* const at = r.data + wrong.word * sizeof word;
  std::memcpy(&word, at, sizeof word);
  word ^= wrong.bits;
  std::memcpy(at, &word, sizeof word);
}

void dma_engine::check(dma_job& j) {
  dma_request& r = *j.request;
  if (faults_.due() && !r.failed && r.op == dma_op::read) [[unlikely]] {
    spoil(r);
  }
  if (r.failed || r.op != dma_op::read || guard_.believes(j.entry, r, j.code)) return;
  r.failed = r.damaged = true;
}

void dma_engine::answer(dma_job& j) {
  dma_request& r = *j.request;
  if (r.op == dma_op::read) note_reads(-1);
  if (j.entry != icm_entry::none) check(j);
  jobs_.put(j);
  if (&r == &map_read_) return on_map_entry();
  target_socket<dma_request>::respond(r, now());
}

void dma_engine::note_reads(int more) {
  reads_level_.add(more, now());
  reads_probe_.set(reads_level_.value(), now());
}

}  // namespace hcasim
