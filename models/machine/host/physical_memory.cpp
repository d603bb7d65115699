#include "models/machine/host/physical_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "models/machine/host/outside_memory.h"

namespace hcasim {
namespace {

constexpr std::size_t slab_granules = 256;
constexpr std::size_t slab_bytes = slab_granules * physical_memory::granule;
constexpr std::size_t initial_table = 1024;

std::size_t hash(std::uint64_t number) {
  return static_cast<std::size_t>((number * 0x9e3779b97f4a7c15U) >> 20);
}

// A memcpy of a granule at most becomes `rep movs`, which is slower than the library's copy.
void copy(std::byte* to, const std::byte* from, std::size_t n) {
  std::memmove(to, from, n);
}

}  // namespace

physical_memory::physical_memory() : table_(initial_table) {}

physical_memory::~physical_memory() {
  for (std::byte* slab : slabs_) std::free(slab);
}

physical_memory::region* physical_memory::find(std::uint64_t number) const {
  region*& cached = cache_[number % cached_regions];
  if (cached && cached->number == number) return cached;
  for (std::size_t i = hash(number);; ++i) {
    region* r = table_[i & (table_.size() - 1)];
    if (!r) return nullptr;
    if (r->number == number) return cached = r;
  }
}

physical_memory::region& physical_memory::make(std::uint64_t number) {
  if (region* r = find(number)) return *r;
  if (2 * (regions_.size() + 1) > table_.size()) grow_table();
  regions_.push_back(std::make_unique<region>());
  region* r = regions_.back().get();
  r->number = number;
  std::size_t i = hash(number);
  while (table_[i & (table_.size() - 1)]) ++i;
  return *(table_[i & (table_.size() - 1)] = r);
}

void physical_memory::grow_table() {
  std::vector<region*> bigger(2 * table_.size());
  for (const auto& r : regions_) {
    std::size_t i = hash(r->number);
    while (bigger[i & (bigger.size() - 1)]) ++i;
    bigger[i & (bigger.size() - 1)] = r.get();
  }
  table_.swap(bigger);
}

std::byte* physical_memory::new_granule() {
  ++resident_;
  if (!free_granules_.empty()) {
    std::byte* g = free_granules_.back();
    free_granules_.pop_back();
    std::memset(g, 0, granule);
    return g;
  }
  if (first_used_ < slab_granules) {
    if (first_slab_.size() == 0) first_slab_ = lazy_array<std::byte>(slab_bytes);
    return &first_slab_[granule * first_used_++];
  }
  if (slabs_.empty() || slab_used_ == slab_granules) {
    auto* slab = static_cast<std::byte*>(std::calloc(slab_bytes, 1));
    if (!slab) throw std::bad_alloc();
    slabs_.push_back(slab);
    slab_used_ = 0;
  }
  return slabs_.back() + granule * slab_used_++;
}

void physical_memory::load_bytes(std::uint64_t address, std::span<std::byte> to) const {
  while (!to.empty()) {
    const std::uint64_t offset = address % granule;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(granule - offset, to.size()));
    const region* r = find(address >> region_shift);
    const std::byte* g = r ? r->granules[(address / granule) % region_granules] : nullptr;
    if (is_outside(address)) [[unlikely]] {
      load_outside(address, to.first(n));
    } else if (g) {
      copy(to.data(), g + offset, n);
    } else {
      std::memset(to.data(), 0, n);
    }
    to = to.subspan(n);
    address += n;
  }
}

void physical_memory::store_bytes(std::uint64_t address, std::span<const std::byte> from) {
  while (!from.empty()) {
    const std::uint64_t offset = address % granule;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(granule - offset, from.size()));
    if (is_outside(address)) [[unlikely]] {
      store_outside(address, from.first(n));
    } else {
      std::byte*& g = make(address >> region_shift).granules[(address / granule) % region_granules];
      if (!g) g = new_granule();
      copy(g + offset, from.data(), n);
    }
    from = from.subspan(n);
    address += n;
  }
}

void physical_memory::load_outside(std::uint64_t address, std::span<std::byte> to) const {
  const std::uint64_t index = (address - outside_address) / granule;
  ++outside_use_.reads;
  outside_use_.bytes += to.size();
  const outside_frame f = index < outside_frames_.size() ? outside_frames_[index] : outside_frame{};
  if (f.owner && f.owner->device_read(f.va + address % granule, to)) return;
  ++outside_use_.lost;
  std::memset(to.data(), 0, to.size());
}

void physical_memory::store_outside(std::uint64_t address, std::span<const std::byte> from) {
  const std::uint64_t index = (address - outside_address) / granule;
  ++outside_use_.writes;
  outside_use_.bytes += from.size();
  const outside_frame f = index < outside_frames_.size() ? outside_frames_[index] : outside_frame{};
  if (!f.owner || !f.owner->device_write(f.va + address % granule, from)) ++outside_use_.lost;
}

std::uint64_t physical_memory::reserve_outside(std::uint64_t bytes) {
  const std::uint64_t taken = outside_frames_.size() * granule;
  bytes = align_up(bytes, granule);
  if (bytes == 0 || bytes > outside_bytes - taken) return 0;
  outside_frames_.resize((taken + bytes) / granule);
  return outside_address + taken;
}

void physical_memory::adopt(std::uint64_t frame, outside_memory& owner, std::uint64_t va) {
  outside_frames_.at((frame - outside_address) / granule) = {&owner, va};
}

void physical_memory::release(std::uint64_t frame) {
  outside_frames_.at((frame - outside_address) / granule) = {};
}

void physical_memory::read(std::uint64_t address, std::span<std::byte> to) const {
  load_bytes(address, to);
  for (std::size_t i = pending_head_; i < pending_.size(); ++i) {
    const pending_store& s = pending_[i];
    // Offsets modulo 2^64: where the store begins in the read, or the read in the store.
    const std::uint64_t into = s.address - address;
    const std::uint64_t skip = address - s.address;
    if (into < to.size()) {
      std::memcpy(to.data() + into, s.data.data(), std::min<std::size_t>(s.bytes, to.size() - into));
    } else if (skip < s.bytes) {
      std::memcpy(to.data(), s.data.data() + skip, std::min<std::size_t>(s.bytes - skip, to.size()));
    }
  }
}

void physical_memory::write(std::uint64_t address, std::span<const std::byte> from) {
  settle(never);  // earlier stores must not overwrite it later
  store_bytes(address, from);
}

void physical_memory::store_at(ps when, ps current, std::uint64_t address, std::span<const std::byte> from) {
  settle(current);
  if (when <= current) return store_bytes(address, from);
  while (!from.empty()) {
    const std::size_t n = std::min(from.size(), line);
    buffer(when, address, from.first(n));
    from = from.subspan(n);
    address += n;
  }
}

void physical_memory::buffer(ps when, std::uint64_t address, std::span<const std::byte> from) {
  if (pending_head_ == pending_.size()) {
    pending_.clear();
    pending_head_ = 0;
  }
  pending_store s{when, address, static_cast<std::uint32_t>(from.size()), {}};
  std::memcpy(s.data.data(), from.data(), from.size());
  auto place = pending_.end();
  while (place != pending_.begin() + static_cast<std::ptrdiff_t>(pending_head_) && (place - 1)->when > when) --place;
  pending_.insert(place, s);
}

void physical_memory::apply(ps t) {
  while (pending_head_ != pending_.size() && pending_[pending_head_].when <= t) {
    const pending_store& s = pending_[pending_head_++];
    store_bytes(s.address, std::span(s.data).first(s.bytes));
  }
  constexpr std::size_t compact = 256;
  if (pending_head_ >= compact && 2 * pending_head_ >= pending_.size()) {
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(pending_head_));
    pending_head_ = 0;
  }
}

void physical_memory::put_code(std::uint64_t address, std::span<const std::uint8_t> code) {
  for (const std::uint8_t c : code) {
    auto& g = codes_[address / granule];
    if (!g) g = std::make_unique<code_granule>();
    (*g)[address % granule / code_word] = c;
    address += code_word;
  }
}

void physical_memory::get_code(std::uint64_t address, std::span<std::uint8_t> code) const {
  for (std::uint8_t& c : code) {
    const auto g = codes_.find(address / granule);
    c = g == codes_.end() ? 0 : (*g->second)[address % granule / code_word];
    address += code_word;
  }
}

std::uint64_t physical_memory::reserve(std::uint64_t bytes, std::uint64_t alignment, bool must) {
  if (exhausted_ && !must) return 0;
  const std::uint64_t at = align_up(next_address_, std::max(alignment, granule));
  if (bytes == 0 || at >= end_address || bytes > end_address - at) return 0;
  next_address_ = at + align_up(bytes, granule);
  return at;
}

void physical_memory::discard(std::uint64_t address, std::uint64_t bytes) {
  settle(never);
  std::uint64_t left = bytes < align_up(address, granule) - address ? 0 : bytes - (align_up(address, granule) - address);
  std::uint64_t number = align_up(address, granule) / granule;
  for (left /= granule; left > 0;) {
    const std::uint64_t n = std::min(left, region_granules - number % region_granules);
    if (region* r = find(number / region_granules)) {
      for (std::uint64_t i = 0; i < n; ++i) {
        if (!codes_.empty()) codes_.erase(number + i);
        std::byte*& g = r->granules[(number + i) % region_granules];
        if (!g) continue;
        free_granules_.push_back(g);
        g = nullptr;
        --resident_;
      }
    }
    number += n;
    left -= n;
  }
}

}  // namespace hcasim
