#include "models/adapter/dma_engine/atomic_locks.h"

#include "models/adapter/dma_engine/dma_rules.h"

namespace hcasim {

bool atomic_locks::take(dma_job& j) {
  if (!is_full()) return lock(j);
  outside_.push(j);
  return false;
}

void atomic_locks::give(std::uint64_t address) {
  bucket& b = bucket_of(address);
  if (b.waiting.empty()) {
    b.locked = false;
    --held_;
  } else {
    --waiting_;
    ready_.push(b.waiting.pop());
  }
  while (!outside_.empty() && !is_full()) {
    dma_job& j = outside_.pop();
    if (lock(j)) ready_.push(j);
  }
}

bool atomic_locks::lock(dma_job& j) {
  bucket& b = bucket_of(j.request->address);
  if (b.locked) {
    ++waiting_;
    b.waiting.push(j);
    return false;
  }
  b.locked = true;
  ++held_;
  return true;
}

atomic_locks::bucket& atomic_locks::bucket_of(std::uint64_t address) {
  return buckets_[dma_rules::bucket_of(address, static_cast<std::uint32_t>(buckets_.size()))];
}

}  // namespace hcasim
