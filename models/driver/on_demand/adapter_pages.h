// Lent pages stand in the adapter's table: one command makes an entry after a fault of the adapter, another zaps it.
#pragma once

#include "models/driver/on_demand/lent_pages.h"

namespace hcasim::driver {

class adapter_pages final : public lent_pages {
 public:
  explicit adapter_pages(process& owner) : lent_pages(owner) {}

  [[nodiscard]] int check(std::uint32_t rights, bool implicit) const override;
  [[nodiscard]] bool complete() const override { return false; }
  command_result give(cpu& c, memory_region& mr, hca_region region) override;
  command_result withdraw(cpu& c, memory_region& mr) override;

 private:
  std::uint64_t put(cpu& c, memory_region& mr, std::uint64_t first, std::uint64_t pages, bool write) override;
  bool zap(cpu& c, memory_region& mr, const hca_pages& pages) override;
  void unmap(cpu& c, const std::vector<dma_map::range>& pages) override;
  std::uint64_t lend(cpu& c, const page& p);
};

}  // namespace hcasim::driver
