#include "models/driver/queue_memory.h"

#include <cerrno>
#include <memory>

#include "models/driver/access.h"
#include "models/driver/dma_map.h"
#include "models/driver/driver_statistics.h"

namespace hcasim::driver {

int queue_buffer::allocate(virtual_memory& memory, std::uint64_t bytes, page_policy policy, dma_map& dma,
                           driver_statistics& stats) {
  const std::uint64_t va = memory.allocate(bytes, policy);
  if (va == 0) return ENOMEM;
  if (memory.pin(va, bytes, true, runs_) != 0) {
    memory.free(va);
    runs_.clear();
    return ENOMEM;
  }
  memory_ = &memory;
  dma_ = &dma;
  stats_ = &stats;
  va_ = va;
  bytes_ = bytes;
  frames_ = uniform_pages(runs_, host_page_shift);
  first_ = frames_.front();
  for (const auto& r : runs_) dma.share(r.physical, r.bytes);
  stats.pinned_pages += frames_.size();
  return 0;
}

void queue_buffer::release() {
  if (!memory_) return;
  stats_->unpinned_pages += frames_.size();
  for (const auto& r : runs_) dma_->unshare(r.physical);
  memory_->unpin(va_, bytes_);
  memory_->free(va_);
  memory_ = nullptr;
  runs_.clear();
  frames_.clear();
}

std::vector<std::uint64_t> queue_buffer::pages(unsigned shift) const {
  std::vector<std::uint64_t> list = uniform_pages(runs_, shift);
  for (std::uint64_t& p : list) p = dma_->address(p);
  return list;
}

std::uint64_t queue_buffer::address(std::uint64_t offset) const {
  return dma_->address(physical(offset));
}

std::uint64_t record_pool::address(std::uint64_t record) const {
  return dma_.address(record);
}

std::uint64_t record_pool::get(cpu& c) {
  if (free_.empty()) {
    auto page = std::make_unique<queue_buffer>();
    if (page->allocate(memory_, host_page, page_policy::scattered, dma_, stats_) != 0) return 0;
    for (std::uint64_t at = host_page; at > 0; at -= record_bytes) free_.push_back(page->physical(at - record_bytes));
    pages_.push_back(std::move(page));
  }
  const std::uint64_t record = free_.back();
  free_.pop_back();
  store(c, record, std::uint64_t{0});
  return record;
}

}  // namespace hcasim::driver
