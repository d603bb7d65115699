#include "models/driver/on_demand/iommu_pages.h"

#include "models/driver/objects/page_list.h"

namespace hcasim::driver {

namespace {

dma_map::range reserved(const memory_region& mr) {
  return {mr.pinned_dma, pages_of(mr.addr, mr.length) * host_page};
}

}  // namespace

int iommu_pages::check(std::uint32_t /*rights*/, bool implicit) const {
  return implicit ? EOPNOTSUPP : 0;
}

command_result iommu_pages::give(cpu& c, memory_region& mr, hca_region region) {
  dma_map& dma = owner_.device->dma();
  const std::uint64_t bytes = pages_of(mr.addr, mr.length) * host_page;
  mr.pinned_dma = dma.reserve(bytes);
  command_result r;
  r.error = ENOMEM;
  if (mr.pinned_dma != 0) {
    const virtual_memory::frame_run run_of_addresses{mr.pinned_dma, bytes};
    std::vector<hca_chunk> chunks;
    append_chunks(std::span(&run_of_addresses, 1), align_down(owner_.device->config().max_segment, host_page), chunks);
    region.access &= ~std::uint32_t{HCA_ACCESS_ON_DEMAND};
    region.chunks = static_cast<std::uint32_t>(chunks.size());
    r = run(c, &owner_, {.code = HCA_CMD_REGISTER, .in = in_bytes(region), .list = std::as_bytes(std::span(chunks))});
    if (r.error) dma.release(reserved(mr));
  }
  lock(c);
  return r;
}

command_result iommu_pages::withdraw(cpu& c, memory_region& mr) {
  const command_result r = run(c, &owner_, {.code = HCA_CMD_DEREGISTER, .object = mr.key});
  lock(c);
  return r;
}

std::uint64_t iommu_pages::put(cpu& c, memory_region& mr, std::uint64_t first, std::uint64_t pages, bool write) {
  const std::uint64_t begin = align_down(mr.addr, host_page);
  std::uint64_t done = 0;
  for (; done < pages; ++done) {
    const page p = look(mr, first + done * host_page, write);
    if (p.physical == 0) break;
    const std::uint64_t at = mr.pinned_dma + (p.address - begin);
    const bool fresh = !mr.lent.contains(p.address);
    if (fresh) c.pin_pages(1);
    if (!owner_.device->dma().put(c, at, p.physical, p.writable)) break;
    if (!fresh) continue;
    mr.lent.emplace(p.address, at);
    ++owner_.stats.pages_lent;
    ++owner_.stats.dma_maps;
  }
  c.sync();  // the next holder of the lock finds the entries made
  return done;
}

bool iommu_pages::zap(cpu& /*c*/, memory_region& /*mr*/, const hca_pages& /*pages*/) {
  return true;
}

void iommu_pages::unmap(cpu& c, const std::vector<dma_map::range>& pages) {
  owner_.device->dma().take(c, pages);
}

void iommu_pages::release(memory_region& mr) {
  owner_.device->dma().release(reserved(mr));
}

}  // namespace hcasim::driver
