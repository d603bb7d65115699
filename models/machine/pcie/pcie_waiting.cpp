// Lists the requests that wait in the PCIe tree.
#include "models/machine/pcie/pcie.h"

namespace hcasim {

void pcie::list_waiting(waiting_list& list) const {
  bursts_.each_in_use([&](const burst& b) {
    const std::string from = b.source == from_cpu ? "software" : std::string("device ") + std::to_string(b.source);
    std::string to = nearest("host");
    if (b.route.place == pcie_place::device) {
      to = b.route.device == 0 ? nearest("hca") : nearest((std::string("peer") + std::to_string(b.route.device - 1)).c_str());
    }
    list.add(
        {.kind = b.source == from_cpu ? (b.read ? "register read" : "register write") : (b.read ? "PCIe read" : "PCIe write"),
         .text = std::to_string(b.bytes) + std::string(" B at ") + hex_text(b.address) + ", from " + from,
         .since = b.begun,
         .at = spot(from),
         .waits_for = {to, nearest("iommu")}});
  });
}

}  // namespace hcasim
