// The fault registers of the IOMMU: how many, and the last one.
#pragma once

#include <array>

#include "firmware/abi/iommu.h"
#include "tlm/base/probe.h"
#include "tlm/base/statistics.h"

namespace hcasim {

struct fault_log {
  static constexpr unsigned kinds = 8;

  std::uint64_t address = 0;
  std::uint64_t info = 0;
  counter faults;
  std::array<counter, kinds> of_kind;
  probe shown;

  // Records a fault, and shows it by a strobe of this width.
  void record(iommu_fault kind, std::uint32_t requester, std::uint64_t at, bool write, ps width) {
    ++faults;
    ++of_kind[kind];
    address = at;
    info = requester | std::uint64_t{kind} << 16 | (write ? std::uint64_t{1} << 31 : 0);
    shown.pulse(kind, now(), width);
  }
};

}  // namespace hcasim
