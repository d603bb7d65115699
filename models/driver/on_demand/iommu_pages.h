// Lent pages stand in the IOMMU's table [E10]. The adapter's own table is complete: its addresses are reserved ones of the
// IOMMU, and the pages come and go there. The adapter's translation cache asks for pages. An invalidation waits for this cache
// instead of for the key.
#pragma once

#include "models/driver/on_demand/lent_pages.h"

namespace hcasim::driver {

class iommu_pages final : public lent_pages {
 public:
  explicit iommu_pages(process& owner) : lent_pages(owner) {}

  [[nodiscard]] int check(std::uint32_t rights, bool implicit) const override;
  [[nodiscard]] bool complete() const override { return true; }
  // Gives the region to the adapter without the lock. The adapter's accesses under way, of this region or another, may wait for
  // pages, which come under the lock.
  command_result give(cpu& c, memory_region& mr, hca_region region) override;
  command_result withdraw(cpu& c, memory_region& mr) override;

 private:
  std::uint64_t put(cpu& c, memory_region& mr, std::uint64_t first, std::uint64_t pages, bool write) override;
  bool zap(cpu& c, memory_region& mr, const hca_pages& pages) override;
  void unmap(cpu& c, const std::vector<dma_map::range>& pages) override;
  void release(memory_region& mr) override;
};

}  // namespace hcasim::driver
