#include "models/machine/host/virtual_memory.h"

#include <algorithm>

#include "models/machine/host/outside_memory.h"
#include "models/machine/host/physical_memory.h"
#include "tlm/base/units.h"

namespace hcasim {
namespace {

constexpr std::uint64_t first_va = 0x1000'0000'0000;
constexpr std::uint64_t end_va = 0x7fff'ffff'f000;
constexpr std::uint64_t guard = virtual_memory::page;
constexpr std::uint64_t scatter_window = 32_MiB;  // frames are shuffled inside windows, which keeps the memory's tables dense

std::uint64_t page_bytes(page_policy p) {
  switch (p) {
    case page_policy::huge_2m:
      return 2_MiB;
    case page_policy::huge_1g:
      return 1_GiB;
    default:
      return virtual_memory::page;
  }
}

template <class T>
void shuffle(std::vector<T>& v, std::size_t from, random_stream& random) {
  for (std::size_t i = v.size(); i > from + 1; --i) std::swap(v[i - 1], v[from + random.below(i - from)]);
}

}  // namespace

virtual_memory::virtual_memory(physical_memory& memory, std::uint64_t seed)
    : memory_(memory), random_(seed, "virtual_memory"), next_va_(first_va) {}

virtual_memory::frame_run virtual_memory::allocation::piece(std::uint64_t offset) const {
  if (stride) {
    const std::uint64_t i = offset / stride;
    const std::uint64_t within = offset % stride;
    return {frames[i] + within, std::min(stride - within, bytes - offset)};
  }
  const auto next = std::upper_bound(starts.begin(), starts.end(), offset);
  const auto i = static_cast<std::size_t>(next - starts.begin()) - 1;
  return {frames[i] + (offset - starts[i]), (next == starts.end() ? bytes : *next) - offset};
}

const virtual_memory::allocation* virtual_memory::at(std::uint64_t va) const {
  const auto it = by_va_.lower_bound(va);
  if (it == by_va_.end()) return nullptr;
  const allocation& a = allocations_.at(it->second);
  return va >= a.va ? &a : nullptr;
}

bool virtual_memory::is_free(std::uint64_t first, std::uint64_t last) const {
  const auto it = by_va_.lower_bound(first);
  return it == by_va_.end() || allocations_.at(it->second).va > last;
}

std::uint64_t virtual_memory::choose_va(std::uint64_t bytes, std::uint64_t alignment) {
  for (std::uint64_t va = align_up(next_va_, alignment); va < end_va && bytes <= end_va - va;) {
    const auto it = by_va_.lower_bound(va);
    if (is_free(va, va + bytes - 1)) {
      next_va_ = va + bytes + guard;
      return va;
    }
    va = align_up(it->first + 1, alignment);
  }
  return 0;
}

std::uint64_t virtual_memory::scattered_frame() {
  if (memory_.exhausted()) return 0;
  if (loose_.empty()) {
    const std::uint64_t window =
        source_ ? memory_.reserve_outside(scatter_window) : memory_.reserve(scatter_window, scatter_window);
    if (!window) return 0;
    for (std::uint64_t f = 0; f < scatter_window; f += page) loose_.push_back(window + f);
    shuffle(loose_, 0, random_);
  }
  const std::uint64_t f = loose_.back();
  loose_.pop_back();
  return f;
}

bool virtual_memory::give_frames(allocation& a) {
  if (a.policy == page_policy::scattered) {
    a.stride = page;
    a.frames.reserve(a.bytes / page);
    for (std::uint64_t offset = 0; offset < a.bytes; offset += page) {
      const std::uint64_t f = scattered_frame();
      if (!f) {
        loose_.insert(loose_.end(), a.frames.rbegin(), a.frames.rend());
        return false;
      }
      a.frames.push_back(f);
    }
    return true;
  }
  if (memory_.exhausted()) return false;
  const std::uint64_t size = page_bytes(a.policy);
  std::uint64_t base = 0;
  if (const auto it = free_runs_.find({a.bytes, size}); it != free_runs_.end()) {
    base = it->second;
    free_runs_.erase(it);
  } else {
    base = memory_.reserve(a.bytes, size);
  }
  if (!base) return false;
  a.stride = a.policy == page_policy::contiguous ? a.bytes : size;
  for (std::uint64_t offset = 0; offset < a.bytes; offset += a.stride) a.frames.push_back(base + offset);
  shuffle(a.frames, 0, random_);
  return true;
}

std::uint64_t virtual_memory::allocate(std::uint64_t bytes, page_policy policy, std::uint64_t at_va, bool writable) {
  const std::uint64_t size = page_bytes(policy);
  if (source_ || bytes == 0 || bytes > end_va || at_va % size != 0) return 0;
  allocation a;
  a.bytes = align_up(bytes, size);
  a.policy = policy;
  a.writable = writable;
  if (at_va && (at_va > ~(a.bytes - 1) || !is_free(at_va, at_va + a.bytes - 1))) return 0;
  a.va = at_va ? at_va : choose_va(a.bytes, size);
  if (!a.va || !give_frames(a)) return 0;
  const std::uint64_t va = a.va;
  by_va_.emplace(va + a.bytes - 1, next_id_);
  allocations_.emplace(next_id_++, std::move(a));
  return va;
}

bool virtual_memory::map(std::uint64_t va, std::span<const frame_run> frames, bool writable) {
  allocation a;
  a.va = va;
  a.writable = writable;
  a.owned = false;
  for (const frame_run& r : frames) {
    if (r.physical % page != 0 || r.bytes % page != 0 || r.bytes == 0) return false;
    a.starts.push_back(a.bytes);
    a.frames.push_back(r.physical);
    a.bytes += r.bytes;
  }
  if (va == 0 || va % page != 0 || a.bytes == 0 || va > ~(a.bytes - 1) || !is_free(va, va + a.bytes - 1)) return false;
  by_va_.emplace(va + a.bytes - 1, next_id_);
  allocations_.emplace(next_id_++, std::move(a));
  return true;
}

void virtual_memory::free(std::uint64_t va) {
  const auto it = by_va_.lower_bound(va);
  if (it == by_va_.end()) return;
  const std::uint64_t id = it->second;
  allocation& a = allocations_.at(id);
  if (a.va != va) return;
  by_va_.erase(it);
  a.mapped = false;
  if (a.pins == 0) retire(id);
}

// The frames go back only as a whole; their bytes are forgotten, as an operating system clears pages before it reuses them.
void virtual_memory::retire(std::uint64_t id) {
  const auto it = allocations_.find(id);
  const allocation& a = it->second;
  if (a.owned && a.policy == page_policy::scattered) {
    for (const std::uint64_t f : a.frames) source_ ? memory_.release(f) : memory_.discard(f, page);
    loose_.insert(loose_.end(), a.frames.rbegin(), a.frames.rend());
  } else if (a.owned) {
    const std::uint64_t base = *std::min_element(a.frames.begin(), a.frames.end());
    memory_.discard(base, a.bytes);
    free_runs_.emplace(std::pair(a.bytes, page_bytes(a.policy)), base);
  }
  allocations_.erase(it);
}

bool virtual_memory::writable(std::uint64_t va) const {
  if (source_) {
    const auto there = source_->mapped(align_down(va, page), page);
    return !there.empty() && there.front().writable;
  }
  const allocation* a = at(va);
  return a && a->writable;
}

std::uint64_t virtual_memory::touch(std::uint64_t va) {
  if (source_ && take_over(align_down(va, page), align_down(va, page) + page - 1, false) != 0) return 0;
  return translate(va);
}

std::uint64_t virtual_memory::translate(std::uint64_t va) const {
  const allocation* a = at(va);
  return a ? a->piece(va - a->va).physical : 0;
}

bool virtual_memory::read(std::uint64_t va, std::span<std::byte> to) const {
  if (source_) return source_->read(va, to);
  while (!to.empty()) {
    const allocation* a = at(va);
    if (!a) return false;
    const frame_run r = a->piece(va - a->va);
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(r.bytes, to.size()));
    memory_.read(r.physical, to.first(n));
    to = to.subspan(n);
    va += n;
  }
  return true;
}

bool virtual_memory::write(std::uint64_t va, std::span<const std::byte> from) {
  if (source_) return source_->write(va, from);
  while (!from.empty()) {
    const allocation* a = at(va);
    if (!a) return false;
    const frame_run r = a->piece(va - a->va);
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(r.bytes, from.size()));
    memory_.write(r.physical, from.first(n));
    from = from.subspan(n);
    va += n;
  }
  return true;
}

}  // namespace hcasim
