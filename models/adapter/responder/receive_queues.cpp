#include "models/adapter/responder/receive_queues.h"

#include <cstring>

namespace hcasim {
namespace {

std::uint32_t slots_of(const hca_qpc& q) {
  return 1U << (q.rq.log_bytes - q.rq_stride_shift);
}

}  // namespace

// Reads the WQEs from `slot` on, of the queue with this number and context, onto the chip.
task<bool> receive_queues::read(receive_ring& ring, const queue_at& of, std::uint32_t slot, std::uint32_t count, ps& t) {
  const hca_qpc& q = of.context;
  const std::uint32_t bytes = count << q.rq_stride_shift;
  ring.bytes.resize(bytes);
  ring.stride = q.rq_stride_shift;
  const translation map{
      .index = HCA_TAG_RQ | of.number, .levels = q.rq.levels, .page_shift = q.rq.page_shift, .table = q.rq.pages};
  const std::uint64_t offset = (std::uint64_t{slot} << q.rq_stride_shift) + (q.rq.page_shift ? 0 : q.rq.pages);
  memory_access::transfer& tr = memory_.begin(of.operation);
  const bool mapped =
      co_await memory_.move_mapped(tr, dma_op::read, dma_source::receive_wqe, map, offset, ring.bytes.data(), bytes, t);
  const bool reached = co_await memory_.landed(tr, t);
  co_return mapped&& reached;
}

task<bool> receive_queues::take(receive_qp& c, hca_qpc& q, ps& t) {
  if (q.in_wqe_held) co_return true;
  receive_ring& ring = c.posted;
  if (q.rq_ci == ring.end || q.rq.log_bytes == 0) co_return false;
  const std::uint32_t stride = 1U << q.rq_stride_shift;
  const auto slots = static_cast<std::uint16_t>(slots_of(q));
  const auto behind = static_cast<std::uint16_t>(q.rq_ci - ring.first);
  if (behind >= ring.count || ring.stride != q.rq_stride_shift) {
    const auto posted = static_cast<std::uint16_t>(ring.end - q.rq_ci);
    const auto slot = static_cast<std::uint16_t>(q.rq_ci & (slots - 1));
    const auto to_end = static_cast<std::uint16_t>(slots - slot);
    const std::uint32_t n = std::min<std::uint32_t>({posted, to_end, prefetch_});
    const queue_at of{c.qpn, q, c.operation};
    const bool done = co_await read(ring, of, slot, n, t);
    if (!done) {
      errors_.put_into_error(c, q, HCA_WC_LOC_QP_OP_ERR, HCA_EVENT_QP_FATAL, t);
      co_return false;
    }
    ring.first = q.rq_ci;
    ring.count = static_cast<std::uint16_t>(n);
  }
  const std::byte* wqe = ring.bytes.data() + static_cast<std::size_t>(q.rq_ci - ring.first) * stride;
  c.receive.assign(wqe, wqe + stride);
  c.receive_pd = q.pd;
  q.in_wqe = q.rq_ci++;
  q.in_wqe_held = 1;
  co_return true;
}

// A receive WQE of an SRQ is read together with its neighbours in memory. Only WQEs posted at the time of the read may be used.
bool receive_queues::is_fetched(const shared_queue& s, const hca_qpc& q, std::uint16_t slot) {
  const auto behind = static_cast<std::uint16_t>(slot - s.posted.first);
  return s.usable != 0 && behind < s.posted.count && s.posted.stride == q.rq_stride_shift;
}

task<bool> receive_queues::read_around(shared_queue& s, const queue_at& of, std::uint16_t slot, ps& t) {
  const std::uint32_t first = slot - slot % prefetch_;
  const std::uint32_t count = std::min(prefetch_, slots_of(of.context) - first);
  s.usable = static_cast<std::uint16_t>(s.posted.end - of.context.rq_ci);
  s.posted.first = static_cast<std::uint16_t>(first);
  s.posted.count = static_cast<std::uint16_t>(count);
  const bool done = co_await read(s.posted, of, first, count, t);
  if (!done) s.posted.count = 0;
  co_return done;
}

task<bool> receive_queues::take_shared(receive_qp& c, context_request& ctx, ps& t) {
  if (ctx.as<const hca_qpc>().in_wqe_held) co_return true;
  const std::uint32_t srqn = ctx.as<const hca_qpc>().srqn;
  shared_queue* const s = records_.live_srq(srqn);
  ctx.dirty = true;
  qpc_.release(ctx);
  taken next;
  if (s) {
    next = co_await take_from(*s, c, t);
  } else {
    next.broken = true;
  }

  co_await qpc_.request(ctx, t);
  if (ctx.failed) {
    errors_.report_unreadable(c, t);
    co_return false;
  }
  auto& q = ctx.as<hca_qpc>();
  if (next.found) {
    q.in_wqe = next.slot;
    q.in_wqe_held = 1;
    if (in_error(c.state)) {  // meanwhile: its receives have been flushed
      q.in_wqe_held = 0;
      reports_.complete(c, q, next.slot, HCA_WC_WR_FLUSH_ERR, nullptr, 0, t);
    }
  }
  if (next.broken && !in_error(c.state)) errors_.put_into_error(c, q, HCA_WC_LOC_QP_OP_ERR, HCA_EVENT_QP_FATAL, t);
  co_return next.found;
}

task<receive_queues::taken> receive_queues::take_from(shared_queue& s, receive_qp& c, ps& t) {
  while (s.state.has(shared_queue_mark::taking)) {
    co_await s.takers.wait();
    t = std::max(t, now());
  }
  s.on(shared_queue_event::take_begins);
  s.line.enter();
  taken next;
  context_request ctx;
  ctx.index = s.number;
  ctx.operation = c.operation;
  co_await qpc_.request(ctx, t);
  next.broken = ctx.failed;
  if (!ctx.failed) {
    auto& q = ctx.as<hca_qpc>();
    if (q.transport == HCA_TRANSPORT_SRQ && q.rq_ci != s.posted.end) {
      next.slot = static_cast<std::uint16_t>(q.in_wqe & (slots_of(q) - 1));
      next.found = is_fetched(s, q, next.slot);
      const queue_at of{s.number, q, c.operation};
      if (!next.found) next.found = co_await read_around(s, of, next.slot, t);
      next.broken = !next.found;
    }
    if (next.found) {
      use(s, q, next.slot, c, t);
      ctx.dirty = true;
    }
    qpc_.release(ctx);
  }
  if (next.broken && s.state.life != shared_queue_life::lost) {
    s.on(shared_queue_event::breaks);
    reports_.raise(HCA_EVENT_SRQ_ERROR, s.number, c.operation, t);
  }
  s.on(shared_queue_event::take_ends);
  s.takers.wake_one(event_queue::instance());
  s.line.leave();
  co_return next;
}

// The WQE in this slot leaves the list of the SRQ and becomes the one in use of the QP.
void receive_queues::use(shared_queue& s, hca_qpc& q, std::uint16_t slot, receive_qp& c, ps t) {
  const auto wqe = std::span(s.posted.bytes)
                       .subspan(std::size_t(slot - s.posted.first) << q.rq_stride_shift, std::size_t{1} << q.rq_stride_shift);
  hca_wqe_next next;
  std::memcpy(&next, wqe.data(), sizeof next);
  c.receive.assign(wqe.begin() + sizeof next, wqe.end());
  c.receive_pd = q.pd;
  q.in_wqe = static_cast<std::uint16_t>(next.slot & (slots_of(q) - 1));
  ++q.rq_ci;
  --s.usable;
  ++counters_.shared_taken;
  if (q.srq_limit != 0 && static_cast<std::uint16_t>(s.posted.end - q.rq_ci) < q.srq_limit) {
    q.srq_limit = 0;
    reports_.raise(HCA_EVENT_SRQ_LIMIT, s.number, c.operation, t);
  }
}

}  // namespace hcasim
