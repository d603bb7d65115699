// Lent pages stand in the IOMMU's table [E10]: the adapter's own is complete, its addresses are reserved ones of the IOMMU, and
// the pages come and go there. The adapter's translation cache asks for them, and an invalidation waits for it instead of for
// the key.
#pragma once

#include "models/driver/on_demand/lent_pages.h"

namespace hcasim::driver {

class iommu_pages final : public lent_pages {
 public:
  explicit iommu_pages(process& owner) : lent_pages(owner) {}

  [[nodiscard]] int check(std::uint32_t rights, bool implicit) const override;
  [[nodiscard]] bool complete() const override { return true; }
  // Without the lock while the adapter is at work: its accesses under way, of this region or another, may wait for pages that
  // are put in under the lock.
  command_result give(cpu& c, memory_region& mr, hca_region region) override;
  command_result withdraw(cpu& c, memory_region& mr) override;

 private:
  std::uint64_t put(cpu& c, memory_region& mr, std::uint64_t first, std::uint64_t pages, bool write) override;
  bool zap(cpu& c, memory_region& mr, const hca_pages& pages) override;
  void unmap(cpu& c, const std::vector<dma_map::range>& pages) override;
  void release(memory_region& mr) override;
};

}  // namespace hcasim::driver
