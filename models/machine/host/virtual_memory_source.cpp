// The address space of a program that runs outside: frames for its pages.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "models/machine/host/cpu.h"
#include "models/machine/host/outside_memory.h"
#include "models/machine/host/physical_memory.h"
#include "models/machine/host/virtual_memory.h"
#include "tlm/base/units.h"

namespace hcasim {

// Frames for the pages of [first, last] that have none. 0; EFAULT: not all of it is mapped, or writable if it must be; ENOMEM.
int virtual_memory::take_over(std::uint64_t first, std::uint64_t last, bool write) {
  std::uint64_t next = first;
  for (const outside_memory::piece& p : source_->mapped(first, last - first + 1)) {
    if (p.va > next || (write && !p.writable)) return EFAULT;
    next = p.va + p.bytes;
  }
  if (next != last + 1) return EFAULT;
  for (std::uint64_t va = first; va <= last;) {
    const auto known = by_va_.lower_bound(va);
    const std::uint64_t begin = known == by_va_.end() ? last + 1 : allocations_.at(known->second).va;
    if (begin <= va) {
      va = known->first + 1;
      continue;
    }
    const std::uint64_t end = std::min(begin, last + 1);
    if (!adopt(va, end - 1)) return ENOMEM;
    va = end;
  }
  return 0;
}

bool virtual_memory::adopt(std::uint64_t first, std::uint64_t last) {
  allocation a;
  a.va = first;
  a.bytes = last - first + 1;
  if (!give_frames(a)) return false;
  for (std::size_t i = 0; i < a.frames.size(); ++i) memory_.adopt(a.frames[i], *source_, first + i * page);
  by_va_.emplace(last, next_id_);
  allocations_.emplace(next_id_++, std::move(a));
  return true;
}

}  // namespace hcasim
