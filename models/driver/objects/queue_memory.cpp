#include "models/driver/objects/queue_memory.h"

#include <cerrno>
#include <memory>
#include <utility>

#include "models/driver/device/access.h"
#include "models/driver/device/device.h"
#include "models/driver/objects/pinned_range.h"

namespace hcasim::driver {

namespace {

virtual_memory& memory_for_queues(const process& p) {
  return *(p.queue_memory ? p.queue_memory : p.memory);
}

}  // namespace

int queue_buffer::allocate(cpu& c, process& p, std::uint64_t bytes, page_policy policy) {
  virtual_memory& memory = memory_for_queues(p);
  const std::uint64_t va = memory.allocate(bytes, policy);
  if (va == 0) return ENOMEM;
  if (memory.pin(va, bytes, true, runs_) != 0) {
    memory.free(va);
    runs_.clear();
    return ENOMEM;
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (p.device->dma().share(runs_[i].physical, runs_[i].bytes)) continue;
    while (i-- > 0) p.device->dma().unshare(runs_[i].physical);
    memory.unpin(va, bytes);
    memory.free(va);
    runs_.clear();
    return ENOMEM;
  }
  process_ = &p;
  va_ = va;
  bytes_ = bytes;
  frames_ = uniform_pages(runs_, host_page_shift);
  first_ = frames_.front();
  c.pin_pages(frames_.size());
  p.stats.pinned_pages += frames_.size();
  return 0;
}

void queue_buffer::release(cpu& c) {
  if (process_) spend_unpinning(c, *process_, frames_.size());
  give_back();
}

void queue_buffer::swap(queue_buffer& other) {
  std::swap(first_, other.first_);
  std::swap(process_, other.process_);
  std::swap(va_, other.va_);
  std::swap(bytes_, other.bytes_);
  runs_.swap(other.runs_);
  frames_.swap(other.frames_);
}

// Memory that an adapter may still move stays pinned.
void queue_buffer::give_back() {
  if (!process_ || process_->device->may_move(*process_)) return;
  process_->stats.unpinned_pages += frames_.size();
  for (const auto& r : runs_) process_->device->dma().unshare(r.physical);
  memory_for_queues(*process_).unpin(va_, bytes_);
  memory_for_queues(*process_).free(va_);
  process_ = nullptr;
  runs_.clear();
  frames_.clear();
}

std::vector<std::uint64_t> queue_buffer::pages(unsigned shift) const {
  std::vector<std::uint64_t> list = uniform_pages(runs_, shift);
  for (std::uint64_t& p : list) p = process_->device->dma().address(p);
  return list;
}

std::uint64_t queue_buffer::address(std::uint64_t offset) const {
  return process_->device->dma().address(physical(offset));
}

std::uint64_t record_pool::address(std::uint64_t record) const {
  return process_.device->dma().address(record);
}

std::uint64_t record_pool::get(cpu& c) {
  if (free_.empty()) {
    auto page = std::make_unique<queue_buffer>();
    if (page->allocate(c, process_, host_page, page_policy::scattered) != 0) return 0;
    for (std::uint64_t at = host_page; at > 0; at -= record_bytes) free_.push_back(page->physical(at - record_bytes));
    pages_.push_back(std::move(page));
  }
  const std::uint64_t record = free_.back();
  free_.pop_back();
  store(c, record, std::uint64_t{0});
  return record;
}

}  // namespace hcasim::driver
