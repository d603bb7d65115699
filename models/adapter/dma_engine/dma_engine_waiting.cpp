// Lists the requests that wait in the DMA engine.
#include "models/adapter/dma_engine/dma_engine.h"

namespace hcasim {

void dma_engine::list_waiting(waiting_list& list) const {
  jobs_.each_in_use([&](const dma_job& j) {
    const dma_request& r = *j.request;
    const bool on_the_way = j.in_flight != 0;
    const char* const kind = j.atomic() ? "DMA atomic" : r.op == dma_op::read ? "DMA read" : "DMA write";
    const bool unmapped = j.entry != icm_entry::none && icm_map_.on() && j.frames.empty();
    const char* const missing = unmapped ? "entry of the ICM map" : r.op == dma_op::write ? "write buffer" : "read tags";
    list.add({.kind = kind,
              .text = std::string(dma_source_names[static_cast<std::size_t>(r.source)]) + ", " + std::to_string(r.bytes) +
                      std::string(" B at ") + hex_text(r.address) + (on_the_way ? "" : std::string(", has no ") + missing),
              .since = j.begun,
              .at = spot(on_the_way ? "on the way" : "queue"),
              .waits_for = {on_the_way ? nearest("pcie") : spot("on the way")}});
  });
}

}  // namespace hcasim
