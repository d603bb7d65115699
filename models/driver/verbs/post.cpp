#include "models/driver/verbs/post.h"
#include "models/driver/device/access.h"
#include "models/driver/device/device.h"
#include "models/driver/verbs/verbs_observer.h"

namespace hcasim::verbs {

using namespace driver;

namespace {

std::uint64_t ring_offset(const queue_pair& qp, std::uint16_t index) {
  return std::uint64_t{index & (qp.ring.size() - 1)} * HCA_WQE_BLOCK;
}

bool state_takes_sends(ibv_qp_state s) {
  return s != IBV_QPS_RESET && s != IBV_QPS_INIT && s != IBV_QPS_RTR;
}

// Puts one request into the ring; returns 0 or an errno value. `wqe` holds its bytes afterwards.
int post_one(cpu& c, process& p, queue_pair& qp, const ibv_send_wr& wr, ibv_mw_type windows, wqe_buffer& wqe, send_shape& shape,
             unsigned& nops) {
  if (!state_takes_sends(qp.state)) return EINVAL;
  shape = shape_of(wr, qp.limits, windows);
  if (shape.error) return shape.error;
  const send_ring::place at = qp.ring.find(shape.blocks);
  if (at.full) return ENOMEM;
  if (!build_send(wr, shape, qp.qp_num, at.index, qp.signal_all, *p.memory, wqe)) return EFAULT;
  const driver_config& config = p.device->config();
  c.spend(config.post_wqe + config.post_segment * wr.num_sge);
  if (shape.inline_bytes) c.copy(shape.inline_bytes);
  p.stats.inline_bytes += shape.inline_bytes;

  if (at.nop_blocks) {
    wqe_buffer nop;
    const std::uint16_t index = qp.ring.tail();
    build_nop(qp.qp_num, index, at.nop_blocks, nop);
    store_blocks(c, qp.sq, ring_offset(qp, index), std::span(nop).first(HCA_WQE_BLOCK));
    ++p.stats.nops;
    ++nops;
  }
  store_blocks(c, qp.sq, ring_offset(qp, at.index), std::span(wqe).first(std::size_t{shape.blocks} * HCA_WQE_BLOCK));
  qp.ring.push(at, shape.blocks, wr.wr_id, shape.opcode);
  ++p.stats.send_wqes;
  return 0;
}

bool use_blueflame(const process& p, const send_shape& shape) {
  const blueflame_use use = p.device->config().blueflame;
  if (use == blueflame_use::never || (use == blueflame_use::inline_only && shape.inline_bytes == 0)) return false;
  return shape.blocks * HCA_WQE_BLOCK <= std::min<std::uint32_t>(p.device->info().blueflame_bytes, HCA_BF_BYTES);
}

}  // namespace

int ibv_post_send(cpu& c, ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  return post_sends(c, static_cast<queue_pair&>(*qp), wr, bad_wr, IBV_MW_TYPE_2);
}

}  // namespace hcasim::verbs

namespace hcasim::driver {

using namespace verbs;

int post_sends(cpu& c, queue_pair& qp, ibv_send_wr* wr, ibv_send_wr** bad_wr, ibv_mw_type windows) {
  process& p = of(qp.context);
  const queue_lock::holder held(qp.send_lock, c);
  const ps begin = c.time();
  const ibv_send_wr* const first = wr;
  c.spend(p.device->config().post_call);
  if (p.lost) {
    *bad_wr = wr;
    return EIO;
  }
  wqe_buffer wqe;
  send_shape shape;
  unsigned posted = 0;
  unsigned nops = 0;
  int error = 0;
  for (; wr; wr = wr->next) {
    send_shape next;
    error = post_one(c, p, qp, *wr, windows, wqe, next, nops);
    if (error) {
      *bad_wr = wr;
      break;
    }
    shape = next;
    ++posted;
  }
  if (posted == 0) return error;

  store(c, qp.record, std::uint32_t{qp.ring.tail()});
  // A single WQE goes to the adapter with the doorbell. `wqe` is intact: nothing was tried after it.
  if (posted == 1 && nops == 0 && !error && use_blueflame(p, shape)) {
    const std::uint64_t buffer = p.uar + HCA_UAR_BF + p.blueflame_next * HCA_BF_BYTES;
    p.blueflame_next = (p.blueflame_next + 1) % HCA_BF_BUFFERS;
    c.combined_write(buffer, std::span(wqe).first(std::size_t{shape.blocks} * HCA_WQE_BLOCK), qp.ring.last_operation());
    ++p.stats.blueflames;
  } else {
    ring(c, p.uar, HCA_UAR_SQ, qp.qp_num, qp.ring.tail(), qp.ring.last_operation());
    ++p.stats.doorbells;
  }
  if (observer_of_verbs) [[unlikely]]
    observer_of_verbs->sent(c, begin, qp, first, wr);
  return error;
}

}  // namespace hcasim::driver

namespace hcasim::verbs {

int ibv_post_recv(cpu& c, ibv_qp* handle, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  auto& qp = static_cast<queue_pair&>(*handle);
  process& p = of(qp.context);
  const driver_config& config = p.device->config();
  const queue_lock::holder held(qp.receive_lock, c);
  const ps begin = c.time();
  const ibv_recv_wr* const first = wr;
  c.spend(config.post_call);
  if (p.lost) {
    *bad_wr = wr;
    return EIO;
  }
  const unsigned capacity = qp.rq_ids.empty() ? 0 : 1U << (qp.rq_stride_shift - 4);
  std::array<hca_wqe_data, HCA_WQE_BLOCK * HCA_WQE_MAX_BLOCKS / sizeof(hca_wqe_data)> segments;
  unsigned posted = 0;
  int error = 0;
  for (; wr; wr = wr->next) {
    if (qp.state == IBV_QPS_RESET || qp.srq || qp.rq_ids.empty() || wr->num_sge < 0 ||
        static_cast<unsigned>(wr->num_sge) > qp.cap.max_recv_sge) {
      error = EINVAL;
    } else if (static_cast<std::uint16_t>(qp.rq_tail - qp.rq_head) >= qp.rq_ids.size()) {
      error = ENOMEM;
    }
    if (error) {
      *bad_wr = wr;
      break;
    }
    c.spend(config.post_wqe + config.post_segment * wr->num_sge);
    const std::size_t bytes = build_receive(*wr, capacity, segments);
    const std::uint32_t slot = qp.rq_tail & qp.rq_mask;
    store_blocks(c, qp.rq, std::uint64_t{slot} << qp.rq_stride_shift, std::as_bytes(std::span(segments)).first(bytes));
    qp.rq_ids[slot] = wr->wr_id;
    ++qp.rq_tail;
    ++posted;
  }
  if (posted > 0) {
    p.stats.receive_wqes += posted;
    store(c, qp.record + offsetof(hca_qp_record, rq_pi), std::uint32_t{qp.rq_tail});
    ring(c, p.uar, HCA_UAR_RQ, qp.qp_num, qp.rq_tail);
    ++p.stats.doorbells;
    if (observer_of_verbs) [[unlikely]]
      observer_of_verbs->received(c, begin, qp, first, wr);
  }
  return error;
}

}  // namespace hcasim::verbs
