#include "testbenches/verbs_programs/preload/registered_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>

#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/libc.h"

// NOLINTBEGIN(performance-no-int-to-ptr): pages are numbers

namespace hcasim::preload {
namespace {

constexpr std::uint64_t page = 4096;

// The range that holds all memory of a kind. Most programs unmap far away from this range, or not at all.
struct range {
  std::atomic<std::uint64_t> first{~std::uint64_t{0}};
  std::atomic<std::uint64_t> end{0};

  void add(std::uint64_t address, std::uint64_t length) {
    first = std::min(first.load(), address & ~(page - 1));
    end = std::max(end.load(), address + length);
  }
  [[nodiscard]] bool meets(std::uint64_t address, std::uint64_t length) const {
    return length != 0 && length <= ~address && address < end && address + length > first;
  }
};
range registered;
range registered_on_demand;

std::uint64_t address_of(const void* p) {
  return reinterpret_cast<std::uint64_t>(p);
}

}  // namespace

void lend(std::uint64_t address, std::uint64_t length, bool on_demand) {
  if (length == 0 || length > ~address) return;
  registered.add(address, length);
  if (on_demand) registered_on_demand.add(address, length);
}

void lose(std::uint64_t address, std::uint64_t length) {
  if (registered.meets(address, length) && present()) call(channel::lose_memory{address, length});
}

namespace {

void protect(const void* at, std::uint64_t length) {
  if (registered_on_demand.meets(address_of(at), length) && present()) {
    call(channel::protect_memory{address_of(at), length});
  }
}

}  // namespace

}  // namespace hcasim::preload

using namespace hcasim::preload;

HCASIM_PUBLIC int munmap(void* at, size_t length) noexcept {
  lose(address_of(at), length);
  return static_cast<int>(::syscall(SYS_munmap, at, length));
}

HCASIM_PUBLIC int madvise(void* at, size_t length, int advice) noexcept {
  if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE) lose(address_of(at), length);
  return static_cast<int>(::syscall(SYS_madvise, at, length, advice));
}

HCASIM_PUBLIC int mprotect(void* at, size_t length, int rights) noexcept {
  protect(at, length);
  return static_cast<int>(::syscall(SYS_mprotect, at, length, rights));
}

HCASIM_PUBLIC int pkey_mprotect(void* at, size_t length, int rights, int key) noexcept {
  protect(at, length);
  return static_cast<int>(::syscall(SYS_pkey_mprotect, at, length, rights, key));
}

HCASIM_PUBLIC void* mmap(void* at, size_t length, int rights, int flags, int fd, off_t offset) noexcept {
  if (flags & MAP_FIXED) lose(address_of(at), length);
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, length, rights, flags, fd, offset));
}

HCASIM_PUBLIC void* mmap64(void* at, size_t length, int rights, int flags, int fd, off64_t offset) noexcept {
  return mmap(at, length, rights, flags, fd, offset);
}

HCASIM_PUBLIC void* mremap(void* at, size_t length, size_t wanted, int flags, ...) noexcept {
  va_list more;
  va_start(more, flags);
  void* to = (flags & MREMAP_FIXED) ? va_arg(more, void*) : nullptr;
  va_end(more);
  lose(address_of(at), length);
  if (to) lose(address_of(to), wanted);
  return reinterpret_cast<void*>(::syscall(SYS_mremap, at, length, wanted, flags, to));
}
// NOLINTEND(performance-no-int-to-ptr)
