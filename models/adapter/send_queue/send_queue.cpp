#include "models/adapter/send_queue/send_queue.h"

#include <cstring>

#include "models/adapter/send_queue/protection_changes.h"
#include "tlm/base/delegate.h"
#include "tlm/operation.h"
#include "tlm/wqe.h"

namespace hcasim {

send_queue::send_queue(const sc_core::sc_module_name& name, const send_queue_config& config, const clock_domain& clock)
    : unit(name),
      config_(config),
      clock_(clock),
      units_(queue_, config.units),
      cache_(queue_, config.wqe_cache),
      refetchers_(queue_, config.refetches) {
  bells.on<&send_queue::on_doorbell>(this);
  control.on<&send_queue::on_control>(this);
  peer.on<&send_queue::on_control>(this);
  again.on<&send_queue::on_refetch>(this);
  describe();
}

send_queue::~send_queue() = default;

tlm::tlm_sync_enum send_queue::on_doorbell(doorbell_ring& b, tlm::tlm_phase, ps& t) {
  scheduled_qp* const known = queues_.find(b.number);
  if (!known) return tlm::TLM_COMPLETED;  // a QP that was never started
  scheduled_qp& q = *known;
  const auto told = static_cast<std::uint16_t>(b.value);
  if (asked_to_stop(q.state) || !is_ahead(q.pi, told)) return tlm::TLM_COMPLETED;
  ++doorbells_;
  if (b.operation != 0) q.operation = b.operation;
  if (q.pi == q.ci && q.fetched.empty()) q.moved = t;
  if (take_blueflame(q, b, t)) return tlm::TLM_COMPLETED;
  if (config_.early_blueflame && keep_early(q, b)) {
    if (q.state.life == scheduled_qp_life::unread) schedule(q, t);
    return tlm::TLM_COMPLETED;
  }
  q.pi = told;
  if (may_fetch(q.state)) schedule(q, t);
  return tlm::TLM_COMPLETED;
}

// The WQE itself came with the doorbell; it can be used if nothing older waits.
bool send_queue::take_blueflame(scheduled_qp& q, const doorbell_ring& b, ps t) {
  if (b.blueflame_bytes == 0 || q.state.life != scheduled_qp_life::known || q.pi != q.ci ||
      q.state.any({scheduled_qp_mark::scheduled, scheduled_qp_mark::paused}))
    return false;
  const std::uint32_t blocks = b.blueflame_bytes / HCA_WQE_BLOCK;
  if (static_cast<std::uint16_t>(q.ci + blocks) != static_cast<std::uint16_t>(b.value)) return false;
  make_room(blocks);
  if (!cache_.try_take(blocks)) return false;
  note_cache();
  ++blueflame_;
  accept(q, b.blueflame.data(), blocks, t);
  q.pi = q.ci;
  issue(q, t);
  return true;
}

void send_queue::schedule(scheduled_qp& q, ps t) {
  if (q.state.has(scheduled_qp_mark::scheduled)) return;
  q.on(scheduled_qp_event::rung);
  if (units_.try_take()) {
    units_busy_.set(units_.in_use(), t);
    serve(q, t);
    return;
  }
  ready_.push(&q);
  ready_level_.set(ready_.size(), t);
  ready_probe_.set(ready_.size(), t);
}

// Returns the posted blocks that a turn may fetch. The context alone knows the begin of a queue that was not read yet.
std::uint32_t send_queue::room_wanted(const scheduled_qp& q) const {
  const std::uint32_t posted =
      q.state.life == scheduled_qp_life::unread ? ~0U : static_cast<std::uint16_t>(q.fetch_end() - q.ci);
  return std::min({posted, config_.fetch_batch, static_cast<std::uint32_t>(cache_.total())});
}

// One turn of one QP, then of the next that waits.
process send_queue::serve(scheduled_qp& first, ps t) {
  scheduled_qp* q = &first;
  for (;;) {
    ++q->busy;
    t = scheduler_.start(now(), clock_.cycles(config_.turn_interval));
    // Room comes first: WQEs free it by completing, and other units need the context for their completion.
    const std::uint32_t room = room_wanted(*q);
    bool given = room == 0;
    make_room(room);
    if (room != 0) co_await cache_.take(room);
    context_request c;
    c.index = q->qpn;
    c.operation = operation_at(q->operation, q->ci);
    co_await qpc.request(c, t);
    if (!c.failed && may_fetch(q->state)) {
      auto& context = c.as<hca_qpc>();
      if (q->state.life == scheduled_qp_life::unread) {
        q->on(scheduled_qp_event::context_read);
        q->ci = context.sq_ci;
      }
      q->read_limit = context.max_read_out;
      const hca_buffer sq = context.sq;
      const std::uint32_t ring_blocks = (1U << sq.log_bytes) / HCA_WQE_BLOCK;
      if (ring_blocks == 0) {  // the QP has no SQ, whatever was rung
        drop_early(*q);
        q->pi = q->ci;
      }
      const std::uint32_t n = std::min(fetchable(q->ci, q->fetch_end(), ring_blocks, config_.fetch_batch), room);
      if (n < room) cache_.give(room - n);
      given = true;
      note_cache();
      fetch_buffer& buffer = buffers_.get();
      const std::uint32_t used = n == 0 ? 0 : co_await fetch(*q, sq, n, buffer.bytes.data(), t);
      buffers_.put(buffer);
      if (used < n) cache_.give(n - used);
      context.sq_ci = q->ci;
      c.dirty = true;
    }
    if (!c.failed) qpc.release(c);
    if (c.failed && room != 0 && may_fetch(q->state)) {
      cache_.give(room - 1);
      given = true;
      give_up(*q, t);
    }
    if (!given) cache_.give(room);
    take_early(*q, t);
    note_cache();
    q->on(scheduled_qp_event::turn_ends);
    issue(*q, t);
    --q->busy;
    if (q->ci != q->fetch_end() && may_fetch(q->state) && !q->state.has(scheduled_qp_mark::scheduled)) {
      q->on(scheduled_qp_event::rung);
      ready_.push(q);
    }
    check_stopped(*q);
    if (ready_.empty()) break;
    q = ready_.pop();
    ready_level_.set(ready_.size(), t);
    ready_probe_.set(ready_.size(), t);
  }
  units_.give();
  units_busy_.set(units_.in_use(), t);
}

// Fetches `blocks` blocks and takes the whole WQEs among them; returns the number of blocks taken.
task<std::uint32_t> send_queue::fetch(scheduled_qp& q, const hca_buffer& sq, std::uint32_t blocks, std::byte* to, ps& t) {
  const bool ok = co_await read_blocks(q, sq, q.ci, blocks, to, t);
  if (asked_to_stop(q.state)) co_return 0;
  if (!ok) {
    std::memset(to, 0, HCA_WQE_BLOCK);  // an unreadable WQE is a bad one
    accept(q, to, 1, t);
    co_return 1;
  }
  fetched_bytes_ += blocks * HCA_WQE_BLOCK;
  std::uint32_t used = 0;
  while (used < blocks) {
    hca_wqe_control c;
    std::memcpy(&c, to + std::size_t{used} * HCA_WQE_BLOCK, sizeof c);
    const std::uint32_t left = blocks - used;
    const std::uint32_t posted = static_cast<std::uint16_t>(q.fetch_end() - q.ci);
    const bool plausible = c.blocks != 0 && c.blocks <= HCA_WQE_MAX_BLOCKS && c.blocks <= posted;
    if (plausible && c.blocks > left && used != 0) break;  // the rest of the WQE comes with the next turn
    const std::uint32_t n = plausible && c.blocks <= left ? c.blocks : 1;
    accept(q, to + std::size_t{used} * HCA_WQE_BLOCK, n, t);
    used += n;
  }
  co_return used;
}

// Reads blocks of a send queue; false = its map or its memory cannot be read.
task<bool> send_queue::read_blocks(scheduled_qp& q, const hca_buffer& sq, std::uint16_t index, std::uint32_t blocks,
                                   std::byte* to, ps& t) {
  const std::uint32_t ring_blocks = (1U << sq.log_bytes) / HCA_WQE_BLOCK;
  std::uint64_t offset = std::uint64_t{index & (ring_blocks - 1)} * HCA_WQE_BLOCK;
  const std::uint32_t bytes = blocks * HCA_WQE_BLOCK;
  bool ok = true;
  std::uint32_t done = 0;
  translate_request w;
  w.operation = operation_at(q.operation, index);
  w.map = {.index = HCA_TAG_SQ | q.qpn, .levels = sq.levels, .page_shift = sq.page_shift, .table = sq.pages};
  if (sq.page_shift == 0) offset += sq.pages;
  while (ok && done < bytes) {
    w.va = offset + done;
    w.length = bytes - done;
    co_await walker.request(w, t);
    if (w.status != translate_status::ok) {
      ok = false;
      break;
    }
    dma_request& d = dma_pool_.get();
    d.operation = w.operation;
    d.op = dma_op::read;
    d.source = dma_source::wqe;
    d.failed = false;
    d.address = w.physical;
    d.bytes = static_cast<std::uint32_t>(w.bytes);
    d.data = to + done;
    co_await dma.request(d, t);
    ok = !d.failed;
    done += d.bytes;
    dma_pool_.put(d);
    ++fetches_;
  }
  co_return ok;
}

// Gives up a queue whose context is unreadable or damaged. The requester finds the same when it gets a bad WQE, and fails the
// QP. Later WQEs of the ring are not known.
void send_queue::give_up(scheduled_qp& q, ps t) {
  static constexpr std::array<std::byte, HCA_WQE_BLOCK> unreadable{};
  accept(q, unreadable.data(), 1, t);
}

void send_queue::accept(scheduled_qp& q, const std::byte* bytes, std::uint32_t blocks, ps t) {
  enqueue(q, make(q, q.ci, bytes, blocks), t);
  q.ci = static_cast<std::uint16_t>(q.ci + blocks);
}

cached_wqe& send_queue::make(scheduled_qp& q, std::uint16_t index, const std::byte* bytes, std::uint32_t blocks) {
  cached_wqe& w = work_pool_.get();
  w.operation = operation_at(q.operation, index);
  w.qpn = q.qpn;
  w.index = index;
  w.blocks = static_cast<std::uint8_t>(blocks);
  w.status = HCA_WC_SUCCESS;
  w.vendor_error = 0;
  w.changed = false;
  w.on_chip = true;
  w.listed = false;
  std::memcpy(w.bytes.data(), bytes, std::size_t{blocks} * HCA_WQE_BLOCK);
  const hca_wqe_control& c = w.control();
  if (c.blocks != blocks || c.index != index || c.qpn != q.qpn) fail(w);
  return w;
}

void send_queue::fail(cached_wqe& w) {
  ++bad_wqes_;
  w.status = HCA_WC_LOC_QP_OP_ERR;
}

// Lets a WQE wait for its issue. The context, which is known now, says whether the QP may read.
void send_queue::enqueue(scheduled_qp& q, cached_wqe& w, ps t) {
  w.held = issue_block::none;
  w.fetched = t;
  if (w.status == HCA_WC_SUCCESS && fetches(w.control().opcode) && q.read_limit == 0) fail(w);
  q.fetched.push(&w);
}

void send_queue::issue(scheduled_qp& q, ps t) {
  if (q.issuing) return;
  q.issuing = true;
  while (!q.fetched.empty() && may_issue(q.state)) {
    cached_wqe& w = *q.fetched.front();
    const hca_wqe_control c = w.control();
    const issue_block blocked = why_not(c, q.outstanding, config_.max_outstanding, q.reads, q.read_limit);
    if (blocked != issue_block::none) {
      w.held = blocked;
      blocked_probe_.set(static_cast<std::uint64_t>(blocked), t);
      if (blocked == issue_block::fence) ++fence_stalls_;
      if (blocked == issue_block::read_depth) ++read_depth_stalls_;
      if (blocked == issue_block::depth) ++depth_stalls_;
      if (blocked == issue_block::local_fence) ++local_fence_stalls_;
      break;
    }
    if (changes_protection(c.opcode) && !q.state.has(scheduled_qp_mark::changed) && w.status == HCA_WC_SUCCESS) {
      q.on(scheduled_qp_event::change_begins);
      change(q, w, t);
      continue;
    }
    if (q.state.has(scheduled_qp_mark::changed)) q.on(scheduled_qp_event::change_issued);
    q.fetched.pop();
    ++q.outstanding;
    if (fetches(c.opcode)) ++q.reads;
    ps at = issuer_.start(now(), clock_.cycles(config_.issue_interval));
    q.moved = at;
    ++wqes_;
    valid_probe_.pulse(1, at, clock_.period());
    qpn_probe_.set(q.qpn, at);
    index_probe_.set(w.index, at);
    opcode_probe_.set(c.opcode, at);
    blocked_probe_.set(0, at);
    w.waiter = {};
    call_on_response<&send_queue::on_complete>(w, this);
    if (config_.evict_outstanding) may_make_room(w);
    if (work.send(w, at) == tlm::TLM_COMPLETED) on_complete(w, at);
  }
  q.issuing = false;
}

// Executes a WQE that changes protection, in its turn. A QP in error does not execute the WQE: its requester flushes it
// [BND16].
process send_queue::change(scheduled_qp& q, work_request& w, ps t) {
  ++q.busy;
  ++changes_;
  t = issuer_.start(now(), clock_.cycles(config_.issue_interval));
  context_request c;
  c.index = q.qpn;
  c.operation = w.operation;
  co_await qpc.request(c, t);
  window_request r;
  bool runs = false;
  if (!c.failed) {
    const auto& context = c.as<const hca_qpc>();
    runs = (context.state == HCA_QP_RTS || context.state == HCA_QP_SQD) && !asked_to_stop(q.state);
    if (runs && !read_change(w, context, r)) {
      runs = false;
      w.status = HCA_WC_LOC_QP_OP_ERR;
    }
    qpc.release(c);
  }
  if (runs) {
    r.operation = w.operation;
    co_await windows.request(r, t);
    w.status = status_of(r.op, r.fault);
    w.changed = r.fault == window_fault::none;
    w.vendor_error = static_cast<std::uint8_t>(r.fault);
  }
  q.on(scheduled_qp_event::change_ends);
  --q.busy;
  if (!q.issuing) issue(q, t);
  check_stopped(q);
}

void send_queue::on_complete(work_request& w, ps t) {
  scheduled_qp& q = *queues_.find(w.qpn);
  --q.outstanding;
  if (fetches(w.control().opcode)) --q.reads;
  forget(static_cast<cached_wqe&>(w));
  note_cache();
  issue(q, t);
  check_drained(q, t);
}

void send_queue::forget(cached_wqe& w) {
  evictable_.remove(w);
  if (w.on_chip) cache_.give(w.blocks);
  work_pool_.put(w);
}

void send_queue::note_cache() {
  cache_level_.set(cache_.in_use(), now());
  cache_probe_.set(cache_.in_use(), now());
}

tlm::tlm_sync_enum send_queue::on_control(send_queue_control& c, tlm::tlm_phase, ps& t) {
  scheduled_qp& q = queues_.make(c.qpn);
  switch (c.op) {
    case send_queue_op::start:
      q.on(scheduled_qp_event::start);
      q.pi = q.ci = 0;
      q.operation = 0;
      break;
    case send_queue_op::stop:
      return stop(q, c) ? tlm::TLM_COMPLETED : tlm::TLM_ACCEPTED;
    case send_queue_op::drain:
      pause(q, c, t);
      return tlm::TLM_ACCEPTED;
    case send_queue_op::resume:
      resume(q, t);
      break;
  }
  return tlm::TLM_COMPLETED;
}

// Returns whether the stop is answered at once.
bool send_queue::stop(scheduled_qp& q, send_queue_control& c) {
  if (q.busy != 0) {
    q.on(scheduled_qp_event::stop_later);
    q.stopping = &c;
    return false;
  }
  q.on(scheduled_qp_event::stop_now);
  check_stopped(q);
  return true;
}

void send_queue::check_stopped(scheduled_qp& q) {
  if (!asked_to_stop(q.state) || q.busy != 0) return;
  drop_early(q);
  while (!q.fetched.empty()) forget(*q.fetched.pop());
  note_cache();
  if (!q.stopping) return;
  q.on(scheduled_qp_event::left);
  target_socket<send_queue_control>::respond(*std::exchange(q.stopping, nullptr), now());
}

}  // namespace hcasim
