// WQEs that come by BlueFlame while older ones of their QP are fetched, or while the QP's context is read for the first time.
#include "models/adapter/send_queue/send_queue.h"

namespace hcasim {

// Room for one fetch is left to the older WQEs, so that these can always come.
bool send_queue::keep_early(scheduled_qp& q, const doorbell_ring& b) {
  const std::uint32_t blocks = b.blueflame_bytes / HCA_WQE_BLOCK;
  const bool follows = static_cast<std::uint16_t>(q.pi + blocks) == static_cast<std::uint16_t>(b.value);
  if (blocks == 0 || !follows || q.state.has(scheduled_qp_mark::paused)) return false;
  if (early_blocks_ + blocks + config_.fetch_batch > cache_.total()) return false;
  make_room(blocks);
  if (!cache_.try_take(blocks)) return false;
  ++early_;
  early_blocks_ += blocks;
  q.early.push(&make(q, q.pi, b.blueflame.data(), blocks));
  q.pi = static_cast<std::uint16_t>(b.value);
  note_cache();
  return true;
}

// Takes the WQEs whose turn has come.
void send_queue::take_early(scheduled_qp& q, ps t) {
  while (!q.early.empty() && q.early.front()->index == q.ci) {
    cached_wqe& w = *q.early.pop();
    early_blocks_ -= w.blocks;
    q.ci = static_cast<std::uint16_t>(q.ci + w.blocks);
    enqueue(q, w, t);
  }
}

void send_queue::drop_early(scheduled_qp& q) {
  while (!q.early.empty()) {
    cached_wqe& w = *q.early.pop();
    early_blocks_ -= w.blocks;
    forget(w);
  }
}

}  // namespace hcasim
