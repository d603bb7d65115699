#include "models/driver/on_demand/lent_pages.h"

#include "models/driver/on_demand/adapter_pages.h"
#include "models/driver/on_demand/iommu_pages.h"

namespace hcasim::driver {

std::shared_ptr<lent_pages> lent_pages::make(process& owner) {
  if (owner.device->on_demand_by_iommu()) return std::make_shared<iommu_pages>(owner);
  return std::make_shared<adapter_pages>(owner);
}

void lent_pages::lock(cpu& c) {
  unlocked_.sleep_until(c, [this] { return !locked_; });
  locked_ = true;
}

void lent_pages::unlock() {
  locked_ = false;
  unlocked_.wake();
}

std::uint64_t lent_pages::fill(cpu& c, memory_region& mr, std::uint64_t va, std::uint64_t pages, bool write) {
  const std::uint64_t first = align_down(va, host_page);
  return put(c, mr, first, std::min(pages, (last_va(mr) - first) / host_page + 1), write);
}

lent_pages::page lent_pages::look(const memory_region& mr, std::uint64_t va, bool write) const {
  const std::uint64_t address = align_down(address_of(mr, va), host_page);
  const std::uint64_t physical = owner_.memory->touch(address);
  const bool writable = owner_.memory->writable(address);
  return {address, write && !writable ? 0 : physical, writable};
}

// The adapter may have pages of [first, last] only if `lent` has them.
void lent_pages::take(cpu& c, memory_region& mr, std::uint64_t first, std::uint64_t last) {
  const auto begin = mr.lent.lower_bound(align_down(first, host_page));
  const auto end = mr.lent.upper_bound(last);
  if (begin == end) return;
  const std::uint64_t low = begin->first;
  const std::uint64_t high = std::prev(end)->first;
  ++owner_.stats.zaps;
  if (zap(c, mr, {align_down(va_of(mr, low), host_page), (high - low) / host_page + 1})) take_back(c, mr, begin, end);
}

void lent_pages::take_back_all(cpu& c, memory_region& mr) {
  take_back(c, mr, mr.lent.begin(), mr.lent.end());
  release(mr);
}

// The adapter has given these pages up.
void lent_pages::take_back(cpu& c, memory_region& mr, page_list::iterator begin, page_list::iterator end) {
  owner_.stats.pages_returned += static_cast<std::uint64_t>(std::distance(begin, end));
  if (owner_.device->dma().translated() && begin != end) {
    std::vector<dma_map::range> pages;
    for (auto it = begin; it != end; ++it) pages.push_back({it->second, host_page});
    unmap(c, pages);
  }
  mr.lent.erase(begin, end);
}

void lent_pages::begin_invalidate(cpu& c, std::uint64_t first, std::uint64_t last) {
  lock(c);
  for (memory_region* mr : regions_) take(c, *mr, first, last);
}

void lent_pages::end_invalidate(cpu&, std::uint64_t, std::uint64_t) {
  unlock();
}

}  // namespace hcasim::driver
