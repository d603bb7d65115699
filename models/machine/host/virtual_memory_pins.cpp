// Pins of a process's pages, counted as Linux counts them.
#include <algorithm>
#include <cerrno>

#include "models/machine/host/physical_memory.h"
#include "models/machine/host/virtual_memory.h"
#include "tlm/base/units.h"

namespace hcasim {
namespace {

void append(std::vector<virtual_memory::frame_run>& out, virtual_memory::frame_run r) {
  if (!out.empty() && out.back().physical + out.back().bytes == r.physical) {
    out.back().bytes += r.bytes;
  } else {
    out.push_back(r);
  }
}

}  // namespace

int virtual_memory::pin(std::uint64_t va, std::uint64_t bytes, bool write, std::vector<frame_run>& out) {
  if (bytes > ~va || va + bytes > ~(page - 1)) return EINVAL;
  const std::uint64_t first = align_down(va, page);
  const std::uint64_t end = align_up(va + bytes, page);
  if (first == end) return EINVAL;
  if (end - first > pin_limit_ || pinned_ > pin_limit_ - (end - first)) return ENOMEM;
  if (memory_.exhausted()) return ENOMEM;

  if (source_) {
    if (const int error = take_over(first, end - 1, write)) return error;
  }
  pin_record record{next_order_, {}};
  for (std::uint64_t v = first; v != end;) {
    const auto it = by_va_.lower_bound(v);
    if (it == by_va_.end()) return EFAULT;
    const allocation& a = allocations_.at(it->second);
    if (a.va > v || (write && !a.writable)) return EFAULT;
    const std::uint64_t last = std::min(it->first, end - 1);
    record.parts.push_back({it->second, v, last});
    v = last + 1;
  }
  out.clear();
  for (const part& p : record.parts) {
    allocation& a = allocations_.at(p.id);
    a.pins += p.last - p.first + 1;
    for (std::uint64_t offset = p.first - a.va; offset <= p.last - a.va;) {
      frame_run r = a.piece(offset);
      r.bytes = std::min(r.bytes, p.last - a.va - offset + 1);
      append(out, r);
      offset += r.bytes;
    }
  }
  pinned_ += end - first;
  ++next_order_;
  pin_records_.emplace(range{first, end - 1}, std::move(record));
  return 0;
}

void virtual_memory::release_pin(const part& p) {
  const std::uint64_t bytes = p.last - p.first + 1;
  allocation& a = allocations_.at(p.id);
  pinned_ -= bytes;
  a.pins -= bytes;
  if (a.pins == 0 && !a.mapped) retire(p.id);
}

void virtual_memory::unpin(std::uint64_t va, std::uint64_t bytes) {
  const std::uint64_t first = align_down(va, page);
  const std::uint64_t last = align_up(va + bytes, page) - 1;
  if (first == last + 1) return;
  const auto it = pin_records_.lower_bound(range{first, last});
  if (it == pin_records_.end() || it->first != range{first, last}) return unpin_partly(first, last);
  for (const part& p : it->second.parts) release_pin(p);
  pin_records_.erase(it);
}

void virtual_memory::unpin_partly(std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t v = first; v <= last && v >= first;) {
    auto oldest = pin_records_.end();
    std::size_t index = 0;
    std::uint64_t next = last + 1;  // where the next pinned part begins, if `v` is not pinned
    for (auto it = pin_records_.begin(); it != pin_records_.end(); ++it) {
      for (std::size_t i = 0; i < it->second.parts.size(); ++i) {
        const part& p = it->second.parts[i];
        if (p.first > v && p.first <= last) next = std::min(next, p.first);
        if (p.first > v || p.last < v) continue;
        if (oldest != pin_records_.end() && oldest->second.order < it->second.order) continue;
        oldest = it;
        index = i;
      }
    }
    if (oldest == pin_records_.end()) {
      v = next;
      continue;
    }
    pin_record record = std::move(oldest->second);
    pin_records_.erase(oldest);
    std::vector<part>& parts = record.parts;
    const part whole = parts[index];
    const part cut{whole.id, v, std::min(whole.last, last)};
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(index));
    if (whole.first < cut.first) parts.push_back({whole.id, whole.first, cut.first - 1});
    if (cut.last < whole.last) parts.push_back({whole.id, cut.last + 1, whole.last});
    // The rest goes under ranges of its own, so that a later pin of the old range is not taken for it.
    for (const part& p : parts) {
      const range r{p.first, p.last};
      pin_records_.emplace_hint(pin_records_.lower_bound(r), r, pin_record{record.order, {p}});
    }
    release_pin(cut);
    v = cut.last + 1;
  }
}

}  // namespace hcasim
