#include "models/driver/objects/pinned_range.h"

#include "models/driver/device/device.h"

namespace hcasim::driver {

namespace {

int map_runs(cpu& c, process& p, std::vector<virtual_memory::frame_run>& runs, std::uint64_t pages, bool writable,
             std::vector<hca_chunk>& out, std::uint64_t& dma) {
  dma_map& map = p.device->dma();
  if (map.translated()) {
    dma = map.map(c, runs, writable);
    if (dma == 0) return ENOMEM;
    runs = {{dma, pages * host_page}};
  }
  const std::size_t before = out.size();
  append_chunks(runs, align_down(p.device->config().max_segment, host_page), out);
  p.stats.chunks += out.size() - before;
  return 0;
}

}  // namespace

int pin_range(cpu& c, process& p, std::uint64_t at, std::uint64_t bytes, bool writable, std::vector<hca_chunk>& out,
              std::uint64_t& dma) {
  if (bytes == 0) return 0;
  std::vector<virtual_memory::frame_run> runs;
  if (const int error = p.memory->pin(at, bytes, writable, runs)) return error;
  const std::uint64_t pages = pages_of(at, bytes);
  c.pin_pages(pages);
  if (const int error = map_runs(c, p, runs, pages, writable, out, dma)) {
    p.memory->unpin(at, bytes);
    return error;
  }
  p.stats.pinned_pages += pages;
  return 0;
}

int map_physical(cpu& c, process& p, std::uint64_t at, std::uint64_t bytes, bool writable, std::vector<hca_chunk>& out,
                 std::uint64_t& dma) {
  const std::uint64_t pages = pages_of(at, bytes);
  std::vector<virtual_memory::frame_run> runs{{align_down(at, host_page), pages * host_page}};
  return map_runs(c, p, runs, pages, writable, out, dma);
}

void unmap_physical(cpu& c, process& p, std::uint64_t at, std::uint64_t bytes, std::uint64_t dma) {
  if (!p.device->dma().translated()) return;
  const dma_map::range r{align_down(dma, host_page), pages_of(at, bytes) * host_page};
  p.device->dma().unmap(c, std::span(&r, 1));
}

void unpin_range(cpu& c, process& p, std::uint64_t at, std::uint64_t bytes, std::uint64_t dma) {
  if (bytes == 0) return;
  unmap_physical(c, p, at, bytes, dma);
  p.memory->unpin(at, bytes);
  const std::uint64_t pages = pages_of(at, bytes);
  spend_unpinning(c, p, pages);
  p.stats.unpinned_pages += pages;
}

void spend_unpinning(cpu& c, const process& p, std::uint64_t pages) {
  c.spend(ps(p.device->config().unpin_page.count() * static_cast<std::int64_t>(pages)));
}

bool can_protect_from_fork(const process& p, std::uint64_t at, std::uint64_t bytes) {
  if (!p.fork_safe || bytes == 0) return true;
  const std::uint64_t first = align_down(at, host_page);
  for (std::uint64_t i = 0; i < pages_of(at, bytes); ++i) {
    if (p.memory->touch(first + i * host_page) == 0) return false;
  }
  return true;
}

}  // namespace hcasim::driver
