// System calls that change pages while devices may use them.
#include <algorithm>
#include <array>
#include <cerrno>

#include "models/machine/host/cpu.h"
#include "models/machine/host/physical_memory.h"
#include "models/machine/host/virtual_memory.h"
#include "tlm/base/units.h"

namespace hcasim {

// Makes the change of a system call while no device uses the pages.
template <class F>
void virtual_memory::told(cpu& c, std::uint64_t first, std::uint64_t last, F change) {
  for (page_user* u : users_) u->begin_invalidate(c, first, last);
  change();
  for (page_user* u : users_) u->end_invalidate(c, first, last);
}

int virtual_memory::unmap(cpu& c, std::uint64_t va) {
  c.system_call();
  const allocation* a = at(va);
  if (!a || a->va != va) return ENOENT;
  told(c, va, va + a->bytes - 1, [&] { free(va); });
  return 0;
}

int virtual_memory::protect(cpu& c, std::uint64_t va, bool to) {
  c.system_call();
  const allocation* a = at(va);
  if (!a || a->va != va) return ENOENT;
  told(c, va, va + a->bytes - 1, [&] { allocations_.at(by_va_.lower_bound(va)->second).writable = to; });
  return 0;
}

// A whole allocation goes at once. Its pages still in the program get other frames when next asked for; a pinned frame still
// stands for its page.
void virtual_memory::lose(cpu& c, std::uint64_t va, std::uint64_t bytes) {
  if (!source_ || bytes == 0) return;
  const std::uint64_t first = align_down(va, page);
  const std::uint64_t last = (bytes - 1 > ~va ? ~std::uint64_t{0} : va + bytes - 1) | (page - 1);
  for (std::uint64_t at_va = first;;) {
    const auto it = by_va_.lower_bound(at_va);
    if (it == by_va_.end() || allocations_.at(it->second).va > last) return;
    const std::uint64_t id = it->second;
    const std::uint64_t a_first = allocations_.at(id).va;
    const std::uint64_t a_last = it->first;
    told(c, a_first, a_last, [&] {
      const auto now = by_va_.find(a_last);
      if (now == by_va_.end() || now->second != id) return;  // another thread was quicker
      const std::uint64_t end = std::min(last, a_last);
      for (std::uint64_t p = std::max(first, a_first); p <= end; p += page) {
        memory_.release(allocations_.at(id).frames[(p - a_first) / page]);
      }
      free(a_first);
    });
    at_va = a_last + 1;
  }
}

void virtual_memory::withdraw(cpu& c, std::uint64_t va, std::uint64_t bytes) {
  if (bytes == 0) return;
  told(c, align_down(va, page), (bytes - 1 > ~va ? ~std::uint64_t{0} : va + bytes - 1) | (page - 1), [] {});
}

int virtual_memory::discard(cpu& c, std::uint64_t va, std::uint64_t bytes) {
  return replace(c, va, bytes, false);
}

int virtual_memory::migrate(cpu& c, std::uint64_t va, std::uint64_t bytes) {
  return replace(c, va, bytes, true);
}

// New frames come first, so that an old one is not handed out again at once.
int virtual_memory::replace(cpu& c, std::uint64_t va, std::uint64_t bytes, bool keep) {
  c.system_call();
  const allocation* a = at(va);
  if (!a) return ENOENT;
  const bool whole_pages = va % page == 0 && bytes % page == 0 && bytes != 0 && bytes <= a->va + a->bytes - va;
  if (!whole_pages || !a->owned || a->policy != page_policy::scattered || a->pins != 0) return EINVAL;
  const std::size_t first = (va - a->va) / page;
  const std::size_t count = bytes / page;
  std::vector<std::uint64_t> fresh;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t f = scattered_frame();
    if (!f) {
      loose_.insert(loose_.end(), fresh.rbegin(), fresh.rend());
      return ENOMEM;
    }
    fresh.push_back(f);
  }
  if (keep) c.copy(bytes);
  told(c, va, va + bytes - 1, [&] {
    allocation& now = allocations_.at(by_va_.lower_bound(va)->second);
    for (std::size_t i = 0; i < count; ++i) {
      std::array<std::byte, page> content;
      std::uint64_t& frame = now.frames[first + i];
      if (keep) {
        memory_.read(frame, content);
        memory_.write(fresh[i], content);
      }
      memory_.discard(frame, page);
      loose_.push_back(std::exchange(frame, fresh[i]));
    }
  });
  return 0;
}

}  // namespace hcasim
