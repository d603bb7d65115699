#include "models/driver/device/dma_map.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "models/driver/device/access.h"

namespace hcasim::driver {

namespace {

constexpr unsigned shift_of(unsigned level) {
  return 12 + IOMMU_PTE_BITS * level;
}
constexpr std::uint64_t span_of(unsigned level) {
  return std::uint64_t{1} << shift_of(level);
}
constexpr std::uint64_t slot_of(std::uint64_t address, unsigned level) {
  return address >> shift_of(level) & 511;
}

}  // namespace

int dma_map::open(cpu& c) {
  if (!translated()) return 0;
  if (read_register<std::uint32_t>(c, registers_ + IOMMU_REG_ID) != IOMMU_ID) return ENODEV;
  const auto have = [this](std::uint64_t& at, std::uint64_t bytes) {
    if (at == 0) at = machine_.reserve_physical(bytes, page);
    return at != 0;
  };
  if (!have(root_, page) || !have(queue_, sizeof(iommu_command) << queue_log) || !have(status_, 64) ||
      !have(contexts_, IOMMU_CONTEXTS * sizeof(iommu_context))) {
    return ENOMEM;
  }
  store(c, contexts_ + requester_ * sizeof(iommu_context), iommu_context{root_, rights(), 0});
  // Devices that other drivers serve (requester 0) use physical addresses.
  if (requester_ != 0) store(c, contexts_, iommu_context{0, IOMMU_CONTEXT_PRESENT | IOMMU_CONTEXT_PASS, 0});
  write_register(c, registers_ + IOMMU_REG_CONTEXTS, contexts_);
  write_register(c, registers_ + IOMMU_REG_QUEUE, queue_);
  write_register(c, registers_ + IOMMU_REG_QUEUE_SIZE, std::uint32_t{queue_log});
  write_register(c, registers_ + IOMMU_REG_CONTROL, std::uint32_t{1});
  return 0;
}

std::uint32_t dma_map::rights() const {
  return std::uint32_t{IOMMU_CONTEXT_PRESENT} | (ats_.translations ? std::uint32_t{IOMMU_CONTEXT_ATS} : 0U) |
         (ats_.pages ? std::uint32_t{IOMMU_CONTEXT_PAGES} : 0U);
}

int dma_map::renew(cpu& c) {
  if (!translated() || !offered_.translations) return 0;
  free_.sleep_until(c, [this] { return !busy_; });
  busy_ = true;
  ats_ = offered_;
  store(c, contexts_ + requester_ * sizeof(iommu_context), iommu_context{root_, rights(), 0});
  put_command(c, {IOMMU_CMD_INVALIDATE_CONTEXT, requester_, 0, 0, 0, 0});
  const bool done = wait_for_commands(c);
  busy_ = false;
  free_.wake();
  return done ? 0 : EIO;
}

std::uint64_t dma_map::take_addresses(std::uint64_t bytes) {
  const std::uint64_t size = std::bit_ceil(std::max(bytes, page));
  auto& list = free_addresses_[static_cast<std::size_t>(std::countr_zero(size))];
  std::uint64_t address = 0;
  if (!list.empty()) {
    address = list.back();
    list.pop_back();
  } else {
    address = align_up(next_address_, size);
    if (size > end_address || address > end_address - size) return 0;
    next_address_ = address + size;
  }
  blocks_[address] = {size, bytes};
  return address;
}

void dma_map::give_back(const range& r) {
  const auto it = std::prev(blocks_.upper_bound(r.address));
  it->second.live -= r.bytes;
  if (it->second.live != 0) return;
  free_addresses_[static_cast<std::size_t>(std::countr_zero(it->second.bytes))].push_back(it->first);
  blocks_.erase(it);
}

void dma_map::write(cpu* c, std::uint64_t physical, std::span<const std::uint64_t> entries) {
  if (c) {
    c->store(physical, std::as_bytes(entries));
  } else {
    machine_.memory_bytes().write(physical, std::as_bytes(entries));
  }
}

// The table whose entries are for pages of `level`, made where it is missing; a large page above it is split.
std::uint64_t dma_map::node_for(cpu* c, std::uint64_t address, unsigned level, bool must) {
  std::uint64_t node = root_;
  for (unsigned l = IOMMU_LEVELS - 1; l > level; --l) {
    const std::uint64_t at = node + slot_of(address, l) * 8;
    const auto entry = machine_.memory_bytes().get<std::uint64_t>(at);
    const bool large = (entry & IOMMU_PTE_LARGE) != 0;
    if (entry != 0 && !large) {
      node = entry & IOMMU_PTE_ADDRESS;
      continue;
    }
    if (free_nodes_.empty()) {
      node = machine_.reserve_physical(page, page, must);
      if (node == 0) return 0;
    } else {
      node = free_nodes_.back();
      free_nodes_.pop_back();
    }
    if (large) {
      std::array<std::uint64_t, 512> pieces;
      const std::uint64_t keep = entry & (l == 1 ? ~std::uint64_t{IOMMU_PTE_LARGE} : ~std::uint64_t{0});
      for (std::uint64_t i = 0; i < pieces.size(); ++i) pieces[i] = keep + i * span_of(l - 1);
      write(c, node, pieces);
    }
    const std::uint64_t link = node | IOMMU_PTE_READ | IOMMU_PTE_WRITE;
    write(c, at, std::span(&link, 1));
  }
  return node;
}

bool dma_map::enter(cpu* c, std::uint64_t address, std::uint64_t physical, std::uint64_t bytes, std::uint64_t rights,
                    bool must) {
  const std::uint64_t begin = address;
  std::array<std::uint64_t, 512> entries;
  while (bytes != 0) {
    unsigned level = 2;
    while (level > 0 && (((address | physical) & (span_of(level) - 1)) != 0 || bytes < span_of(level))) --level;
    const std::uint64_t node = node_for(c, address, level, must);
    if (node == 0) {
      clear(c, begin, address - begin);
      return false;
    }
    const std::uint64_t first = slot_of(address, level);
    std::size_t n = 0;
    // On to the end of the node, or to where a larger page would do.
    while (first + n < entries.size() && bytes >= span_of(level)) {
      if (n != 0 && level < 2 && ((address | physical) & (span_of(level + 1) - 1)) == 0 && bytes >= span_of(level + 1)) break;
      entries[n++] = physical | rights | (level != 0 ? std::uint64_t{IOMMU_PTE_LARGE} : 0);
      address += span_of(level);
      physical += span_of(level);
      bytes -= span_of(level);
    }
    for (std::size_t i = 0; level != 0 && i < n; ++i) {
      const auto old = machine_.memory_bytes().get<std::uint64_t>(node + (first + i) * 8);
      if (old != 0) retire(old & IOMMU_PTE_ADDRESS, level - 1);
    }
    write(c, node + first * 8, std::span(entries).first(n));
  }
  return true;
}

// A table with nothing mapped in it, and those below it. The IOMMU has forgotten it with the last page that it had.
void dma_map::retire(std::uint64_t node, unsigned level) {
  for (std::uint64_t i = 0; level != 0 && i < 512; ++i) {
    const auto child = machine_.memory_bytes().get<std::uint64_t>(node + i * 8);
    if (child == 0) continue;
    retire(child & IOMMU_PTE_ADDRESS, level - 1);
    machine_.memory_bytes().put<std::uint64_t>(node + i * 8, 0);
  }
  free_nodes_.push_back(node);
}

void dma_map::clear(cpu* c, std::uint64_t address, std::uint64_t bytes) {
  static constexpr std::array<std::uint64_t, 512> zeros{};
  while (bytes != 0) {
    // The level of the page that is there now; one that is only partly meant is split.
    unsigned level = IOMMU_LEVELS - 1;
    for (std::uint64_t node = root_; level > 0; --level) {
      const auto entry = machine_.memory_bytes().get<std::uint64_t>(node + slot_of(address, level) * 8);
      if (entry & IOMMU_PTE_LARGE) break;
      node = entry & IOMMU_PTE_ADDRESS;
    }
    while (level > 0 && ((address & (span_of(level) - 1)) != 0 || bytes < span_of(level))) --level;
    const std::uint64_t node = node_for(c, address, level, true);
    const std::uint64_t first = slot_of(address, level);
    // Large pages one by one: what lies beside one may be a table.
    const std::uint64_t n = level != 0 ? 1 : std::min<std::uint64_t>(512 - first, bytes / page);
    write(c, node + first * 8, std::span(zeros).first(n));
    address += n * span_of(level);
    bytes -= n * span_of(level);
  }
}

std::uint64_t dma_map::allocate(std::uint64_t bytes, std::uint64_t alignment, bool must) {
  if (!translated()) return machine_.reserve_physical(bytes, alignment, must);
  bytes = align_up(bytes, page);
  // So that large areas need few entries.
  const std::uint64_t natural = bytes >= span_of(2) ? span_of(2) : bytes >= span_of(1) ? span_of(1) : page;
  const std::uint64_t physical = machine_.reserve_physical(bytes, std::max(alignment, natural), must);
  return physical != 0 && share(physical, bytes, must) ? physical : 0;
}

bool dma_map::share(std::uint64_t physical, std::uint64_t bytes, bool must) {
  if (!translated()) return true;
  const std::uint64_t address = take_addresses(bytes);
  if (address == 0) return false;
  if (!enter(nullptr, address, physical, bytes, IOMMU_PTE_READ | IOMMU_PTE_WRITE, must)) {
    stale_.push_back({address, bytes});
    return false;
  }
  shared_[physical] = {bytes, address};
  return true;
}

void dma_map::unshare(std::uint64_t physical) {
  const auto it = shared_.find(physical);
  if (it == shared_.end()) return;
  clear(nullptr, it->second.address, it->second.bytes);
  stale_.push_back({it->second.address, it->second.bytes});
  shared_.erase(it);
}

std::uint64_t dma_map::address(std::uint64_t physical) const {
  if (!translated()) return physical;
  auto it = shared_.upper_bound(physical);
  if (it == shared_.begin()) return 0;
  --it;
  const std::uint64_t offset = physical - it->first;
  return offset < it->second.bytes ? it->second.address + offset : 0;
}

std::uint64_t dma_map::map(cpu& c, std::span<const virtual_memory::frame_run> frames, bool writable) {
  std::uint64_t bytes = 0;
  for (const auto& f : frames) bytes += f.bytes;
  const std::uint64_t first = take_addresses(bytes);
  if (first == 0) return 0;
  std::uint64_t at = first;
  for (const auto& f : frames) {
    if (!enter(&c, at, f.physical, f.bytes, writable ? IOMMU_PTE_READ | IOMMU_PTE_WRITE : IOMMU_PTE_READ, false)) {
      if (at != first) clear(&c, first, at - first);
      stale_.push_back({first, bytes});
      return 0;
    }
    at += f.bytes;
  }
  ++stats_.dma_maps;
  return first;
}

void dma_map::unmap(cpu& c, std::span<const range> ranges) {
  const ps begin = c.time();
  for (const range& r : ranges) clear(&c, r.address, r.bytes);
  forget(c, ranges);
  for (const range& r : ranges) give_back(r);
  stats_.dma_unmaps += ranges.size();
  stats_.dma_unmap_time.add(c.time() - begin);
}

void dma_map::put_command(cpu& c, const iommu_command& what) {
  store(c, queue_ + (tail_ & ((1U << queue_log) - 1)) * sizeof what, what);
  ++tail_;
}

void dma_map::ring(cpu& c) {
  c.sync();  // the commands are in memory before the IOMMU is told
  write_register(c, registers_ + IOMMU_REG_TAIL, tail_);
}

bool dma_map::put(cpu& c, std::uint64_t address, std::uint64_t physical, bool writable) {
  return enter(&c, address, physical, page, writable ? IOMMU_PTE_READ | IOMMU_PTE_WRITE : IOMMU_PTE_READ, false);
}

void dma_map::take(cpu& c, std::span<const range> pages) {
  const ps begin = c.time();
  for (const range& r : pages) clear(&c, r.address, r.bytes);
  forget(c, pages);
  stats_.dma_unmaps += pages.size();
  stats_.dma_unmap_time.add(c.time() - begin);
}

// A device is told the smallest range that one message can name.
void dma_map::put_invalidation(cpu& c, const range& r) {
  put_command(c, {IOMMU_CMD_INVALIDATE, requester_, r.address, r.bytes, 0, 0});
  if (!ats_.translations) return;
  unsigned shift = 12;
  if (r.bytes == 0) shift = 48;
  while (shift < 48 && (r.address ^ (r.address + r.bytes - 1)) >> shift != 0) ++shift;
  put_command(c, {IOMMU_CMD_INVALIDATE_DEVICE, requester_, ats_entry(r.address, shift), 0, 0, 0});
}

// False = the adapter has not answered an invalidation.
bool dma_map::wait_for_commands(cpu& c) {
  token_ = (token_ + 1) & ~IOMMU_WAIT_TIMEOUT;
  put_command(c, {IOMMU_CMD_WAIT, requester_, status_, 0, token_, 0});
  const std::uint64_t watch = c.watch(status_, sizeof token_);
  ring(c);
  std::uint32_t seen = load<std::uint32_t>(c, status_);
  while ((seen & ~IOMMU_WAIT_TIMEOUT) != token_) {
    (void)c.wait_write(watch);
    seen = load<std::uint32_t>(c, status_);
  }
  c.unwatch(watch);
  return (seen & IOMMU_WAIT_TIMEOUT) == 0;
}

// Returns when the IOTLB has forgotten the ranges, and what was unshared before, and nothing of them is under way.
void dma_map::forget(cpu& c, std::span<const range> ranges) {
  constexpr std::size_t most = 32;  // a longer list is cheaper as a whole
  free_.sleep_until(c, [this] { return !busy_; });
  busy_ = true;
  const std::vector<range> stale = std::exchange(stale_, {});
  std::vector<range> all(ranges.begin(), ranges.end());
  all.insert(all.end(), stale.begin(), stale.end());
  if (all.size() > most) all = {{0, 0}};
  for (const range& r : all) put_invalidation(c, r);
  if (!wait_for_commands(c)) {
    // The adapter's cached translations are not known: from here on it may use none of them.
    ++stats_.ats_timeouts;
    ats_.translations = ats_.pages = false;
    store(c, contexts_ + requester_ * sizeof(iommu_context), iommu_context{root_, IOMMU_CONTEXT_PRESENT, 0});
    put_command(c, {IOMMU_CMD_INVALIDATE_CONTEXT, requester_, 0, 0, 0, 0});
    (void)wait_for_commands(c);
  }
  for (const range& r : stale) give_back(r);
  busy_ = false;
  free_.wake();
}

void dma_map::serve_pages(cpu& c, page_handler h) {
  on_page_ = std::move(h);
  page_queue_ = machine_.reserve_physical(sizeof(iommu_page_request) << ats_.log_queue, page, true);
  write_register(c, registers_ + IOMMU_REG_PAGES, page_queue_);
  write_register(c, registers_ + IOMMU_REG_PAGES_VECTOR, ats_.vector);
  write_register(c, registers_ + IOMMU_REG_PAGES_SIZE, 1U << 31 | ats_.log_queue);
  machine_.run("page_requests", [this](cpu& thread) { take_pages(thread); });
}

void dma_map::take_pages(cpu& c) {
  for (;;) {
    c.wait_interrupt(ats_.vector);
    c.sync();
    ++stats_.interrupts;
    // A request that arrives between the last look and the new head is seen by the next look.
    for (;;) {
      const auto tail = read_register<std::uint32_t>(c, registers_ + IOMMU_REG_PAGES_TAIL);
      if (tail == page_head_) break;
      while (page_head_ != tail) {
        const std::uint64_t slot = page_head_++ & ((1U << ats_.log_queue) - 1);
        on_page_(load<iommu_page_request>(c, page_queue_ + slot * sizeof(iommu_page_request)));
      }
      write_register(c, registers_ + IOMMU_REG_PAGES_HEAD, page_head_);
    }
  }
}

void dma_map::answer_page(cpu& c, std::uint32_t group, ats_response code) {
  free_.sleep_until(c, [this] { return !busy_; });
  busy_ = true;
  put_command(c, {IOMMU_CMD_PAGE_RESPONSE, requester_, 0, static_cast<std::uint64_t>(code), group, 0});
  ring(c);
  busy_ = false;
  free_.wake();
}

}  // namespace hcasim::driver
