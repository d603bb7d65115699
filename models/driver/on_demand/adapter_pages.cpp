#include "models/driver/on_demand/adapter_pages.h"

#include <algorithm>

namespace hcasim::driver {

int adapter_pages::check(std::uint32_t rights, bool /*implicit*/) const {
  return rights & HCA_ACCESS_MW_BIND ? EOPNOTSUPP : 0;
}

command_result adapter_pages::give(cpu& c, memory_region& /*mr*/, hca_region region) {
  lock(c);
  return run(c, &owner_, {.code = HCA_CMD_REGISTER, .in = in_bytes(region)});
}

command_result adapter_pages::withdraw(cpu& c, memory_region& mr) {
  lock(c);
  return run(c, &owner_, {.code = HCA_CMD_DEREGISTER, .object = mr.key});
}

std::uint64_t adapter_pages::put(cpu& c, memory_region& mr, std::uint64_t first, std::uint64_t pages, bool write) {
  std::uint64_t done = 0;
  std::vector<hca_pte> entries;
  while (done < pages) {
    const std::uint64_t from = first + done * host_page;
    const std::uint64_t most = std::min<std::uint64_t>(pages - done, HCA_FILL_PAGES);
    entries.clear();
    while (entries.size() < most) {
      const page p = look(mr, from + entries.size() * host_page, write);
      if (p.physical == 0) break;
      const auto [entry, fresh] = mr.lent.try_emplace(p.address, 0);
      if (fresh) entry->second = lend(c, p);
      if (entry->second == 0) {
        mr.lent.erase(entry);
        break;
      }
      entries.push_back(entry->second | HCA_PTE_PRESENT | (p.writable ? 0U : std::uint64_t{HCA_PTE_READ_ONLY}));
    }
    if (entries.empty()) break;
    c.pin_pages(entries.size());
    const hca_pages range{from, entries.size()};
    const command_result r =
        run(c, &owner_,
            {.code = HCA_CMD_FILL_PAGES, .object = mr.key, .in = in_bytes(range), .list = std::as_bytes(std::span(entries))});
    if (r.error) break;
    owner_.stats.pages_lent += entries.size();
    done += entries.size();
    if (entries.size() < most) break;
  }
  return done;
}

// The page's DMA address.
std::uint64_t adapter_pages::lend(cpu& c, const page& p) {
  dma_map& dma = owner_.device->dma();
  if (!dma.translated()) return p.physical;
  const virtual_memory::frame_run frame{p.physical, host_page};
  return dma.map(c, std::span(&frame, 1), p.writable);
}

bool adapter_pages::zap(cpu& c, memory_region& mr, const hca_pages& pages) {
  return insist(c, &owner_, {.code = HCA_CMD_ZAP_PAGES, .object = mr.key, .in = in_bytes(pages)}).error == 0;
}

void adapter_pages::unmap(cpu& c, const std::vector<dma_map::range>& pages) {
  owner_.device->dma().unmap(c, pages);
}

}  // namespace hcasim::driver
