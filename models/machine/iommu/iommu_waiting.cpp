// Lists the requests that wait in the IOMMU.
#include "models/machine/iommu/iommu.h"

namespace hcasim {

void iommu::list_waiting(waiting_list& list) const {
  accesses_.each_in_use([&](const access& a) {
    list.add({.kind = "IOMMU translation",
              .text = std::string("address ") + hex_text(a.address),
              .since = a.arrived,
              .at = name(),
              .waits_for = {nearest("host")}});
  });
}

}  // namespace hcasim
