// Outstanding WQEs that make room in a full cache, and their way back.
//
// A refetched WQE must have its old bytes: the request was judged by them.
#include "models/adapter/send_queue/send_queue.h"

#include <cstring>

namespace hcasim {

void send_queue::make_room(std::uint64_t blocks) {
  while (cache_.available() < blocks) {
    cached_wqe* const w = evictable_.oldest();
    if (!w) return;
    evictable_.remove(*w);
    w->on_chip = false;
    ++evicted_;
    cache_.give(w->blocks);
  }
}

// A turn may wait for room, and WQEs begun meanwhile give it.
void send_queue::may_make_room(cached_wqe& w) {
  evictable_.push(w);
  if (cache_.waiting() != 0) make_room(cache_.available() + 1);
}

tlm::tlm_sync_enum send_queue::on_refetch(wqe_refetch& r, tlm::tlm_phase, ps& t) {
  refetch(r, t);
  return tlm::TLM_ACCEPTED;
}

// The bytes stay if there is room. A refetch never waits for room: what holds it may wait for this very response.
process send_queue::refetch(wqe_refetch& r, ps t) {
  auto& w = static_cast<cached_wqe&>(*r.work);
  scheduled_qp& q = *queues_.find(w.qpn);
  ++q.busy;
  co_await refetchers_.take();
  t = std::max(t, now());
  ++refetched_;
  context_request c;
  c.index = w.qpn;
  c.operation = w.operation;
  co_await qpc.request(c, t);
  r.failed = c.failed;
  if (!c.failed) {
    const hca_buffer sq = c.as<const hca_qpc>().sq;
    qpc.release(c);
    fetch_buffer& buffer = buffers_.get();
    r.failed = !co_await read_blocks(q, sq, w.index, w.blocks, buffer.bytes.data(), t) ||
               std::memcmp(buffer.bytes.data(), w.bytes.data(), std::size_t{w.blocks} * HCA_WQE_BLOCK) != 0;
    fetched_bytes_ += std::uint64_t{w.blocks} * HCA_WQE_BLOCK;
    buffers_.put(buffer);
  }
  refetchers_.give();
  make_room(w.blocks);
  if (!w.on_chip && cache_.try_take(w.blocks)) {
    w.on_chip = true;
    evictable_.push(w);
  }
  note_cache();
  --q.busy;
  target_socket<wqe_refetch>::respond(r, now());
  check_stopped(q);
}

}  // namespace hcasim
