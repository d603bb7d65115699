// Pages of a user's device behind the IOMMU, as its driver would map them: 2 MiB of addresses, one table of leaves.
#pragma once

#include <cstdint>
#include <span>

#include "firmware/abi/iommu.h"
#include "models/system/system.h"

namespace hcasim::testing {

class io_pages {
 public:
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t window = 0x1'4000'0000;  // where the device sees the first one
  static constexpr unsigned both = IOMMU_PTE_READ | IOMMU_PTE_WRITE;

  io_pages(node& n, std::size_t of_device)
      : host_(n.host), contexts_(host_.reserve_physical(page, page)), tables_(host_.reserve_physical(4 * page, page)) {
    store(contexts_ + node::device_requester(of_device) * sizeof(iommu_context),
          iommu_context{tables_, IOMMU_CONTEXT_PRESENT, 0});
    for (std::uint64_t level = 0; level < 3; ++level)
      store(tables_ + page * level + (window >> (39 - 9 * level)) % 512 * 8, (tables_ + page * (level + 1)) | both);
  }
  // Before the device has asked for that page.
  void map(std::uint64_t number, std::uint64_t physical, unsigned rights) {
    store(tables_ + 3 * page + number * 8, rights ? physical | rights : 0);
  }
  void enable(cpu& c) const {
    set_register(c, IOMMU_REG_CONTEXTS, contexts_);
    set_register(c, IOMMU_REG_CONTROL, std::uint32_t{1});
  }

 private:
  template <class T>
  void store(std::uint64_t at, T v) {
    host_.memory_bytes().write(at, std::as_bytes(std::span(&v, 1)));
  }
  template <class T>
  static void set_register(cpu& c, std::uint64_t at, T v) {
    c.mmio_write(node::iommu_base + at, std::as_bytes(std::span(&v, 1)));
  }

  host& host_;
  std::uint64_t contexts_;
  std::uint64_t tables_;
};

}  // namespace hcasim::testing
