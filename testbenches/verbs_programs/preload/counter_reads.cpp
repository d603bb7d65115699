#include "testbenches/verbs_programs/preload/counter_reads.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "testbenches/verbs_programs/channel/machine.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/instructions.h"

// NOLINTBEGIN(performance-no-int-to-ptr): registers and tables hold numbers

namespace hcasim::preload {

#if defined(__x86_64__)

namespace {

constexpr std::uint8_t halt = 0xf4;

// The table of functions that a linker makes for exceptions: first addresses, sorted, relative to the table.
class function_table {
 public:
  explicit function_table(const std::uint8_t* at) : at_(at) {
    constexpr std::uint8_t version = 1;
    constexpr std::uint8_t number_of_4_bytes = 0x03;
    constexpr std::uint8_t from_here_of_4_bytes = 0x1b;
    constexpr std::uint8_t from_table_of_4_bytes = 0x3b;
    const bool known =
        at && at[0] == version && at[1] == from_here_of_4_bytes && at[2] == number_of_4_bytes && at[3] == from_table_of_4_bytes;
    if (known) std::memcpy(&count_, at + 8, sizeof count_);
  }

  // Returns the code of the function around an address; empty = there is none.
  [[nodiscard]] std::span<const std::uint8_t> function(const std::uint8_t* address) const {
    std::uint32_t low = 0;
    for (std::uint32_t high = count_; low < high;) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (begin(middle) <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == 0) return {};
    const std::uint8_t* const first = begin(low - 1);
    // Length and link come first in the entry, then the function's beginning, relative to its place, and its length.
    const std::uint8_t* const entry = at_ + number(12 + 8 * std::size_t{low - 1} + 4);
    std::int32_t from_here = 0;
    std::uint32_t length = 0;
    std::memcpy(&from_here, entry + 8, sizeof from_here);
    std::memcpy(&length, entry + 12, sizeof length);
    if (entry + 8 + from_here != first || address >= first + length) return {};
    return {first, length};
  }

 private:
  [[nodiscard]] std::int32_t number(std::size_t place) const {
    std::int32_t v = 0;
    std::memcpy(&v, at_ + place, sizeof v);
    return v;
  }
  [[nodiscard]] const std::uint8_t* begin(std::uint32_t i) const { return at_ + number(12 + 8 * std::size_t{i}); }

  const std::uint8_t* at_;
  std::uint32_t count_ = 0;
};

bool set_byte(const std::uint8_t* at, std::uint8_t value) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  void* const begin = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(at) & ~(page - 1));
  if (::syscall(SYS_mprotect, begin, page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  *const_cast<std::uint8_t*>(at) = value;
  return ::syscall(SYS_mprotect, begin, page, PROT_READ | PROT_EXEC) == 0;
}

// The last read is replaced first: the way to a read leads over earlier reads, which must be as they were.
bool replace_in(std::span<const std::uint8_t> code, const function_table& functions) {
  for (std::size_t at = last_counter_read(code); at < code.size(); at = last_counter_read(code)) {
    const std::uint8_t* const place = code.data() + at;
    code = code.first(at);
    const std::span<const std::uint8_t> function = functions.function(place);
    if (function.empty() || !begins_at(function, static_cast<std::size_t>(place - function.data()))) continue;
    if (!set_byte(place, halt)) return false;
  }
  return true;
}

// Objects whose code has been changed, by the address that they are loaded to. A loader has no memory to give while it loads.
struct changed_objects {
  static constexpr std::size_t most = 4096;
  std::array<std::uintptr_t, most> at{};
  std::size_t count = 0;

  [[nodiscard]] bool has(std::uintptr_t place) const {
    return std::find(at.begin(), at.begin() + count, place) != at.begin() + count;
  }
};
changed_objects changed;
changed_objects present_now;
bool failed = false;

int change(dl_phdr_info* object, std::size_t /*bytes*/, void* /*unused*/) {
  const auto place = static_cast<std::uintptr_t>(object->dlpi_addr);
  if (present_now.count == changed_objects::most) {
    failed = true;
    return 1;
  }
  present_now.at[present_now.count++] = place;
  // The kernel's own code for programs (vDSO) has no file; the program's name is empty.
  const bool kernels = std::strncmp(object->dlpi_name, "linux-vdso", 10) == 0;
  const std::span headers(object->dlpi_phdr, object->dlpi_phnum);
  // The preload library reads the counter for threads without a simulator.
  const bool own = std::any_of(headers.begin(), headers.end(), [place](const auto& h) {
    return h.p_type == PT_LOAD && reinterpret_cast<std::uintptr_t>(&changed) - place - h.p_vaddr < h.p_memsz;
  });
  if (kernels || own || changed.has(place)) return 0;
  const std::uint8_t* table = nullptr;
  for (const auto& h : headers) {
    if (h.p_type == PT_GNU_EH_FRAME) table = reinterpret_cast<const std::uint8_t*>(place + h.p_vaddr);
  }
  const function_table functions(table);
  for (const auto& h : headers) {
    if (h.p_type != PT_LOAD || !(h.p_flags & PF_X)) continue;
    failed |= !replace_in({reinterpret_cast<const std::uint8_t*>(place + h.p_vaddr), h.p_memsz}, functions);
  }
  return 0;
}

bool change_new_objects() {
  present_now.count = 0;
  ::dl_iterate_phdr(change, nullptr);
  changed = present_now;
  return !failed;
}

}  // namespace

bool replace_counter_reads() {
  return change_new_objects() && _r_debug.r_brk != 0 && set_byte(reinterpret_cast<const std::uint8_t*>(_r_debug.r_brk), halt);
}

bool have_libraries_changed(void* context) {
  auto& u = *static_cast<ucontext_t*>(context);
  if (machine::place_of(u) != _r_debug.r_brk) return false;
  if (_r_debug.r_state == r_debug::RT_CONSISTENT && !change_new_objects()) {
    give_up("reads of the time-stamp counter in a library that it loads cannot be replaced");
  }
  machine::go_back(u);
  return true;
}

#else

bool replace_counter_reads() {
  return false;
}
bool have_libraries_changed(void* /*context*/) {
  return false;
}

#endif

}  // namespace hcasim::preload
// NOLINTEND(performance-no-int-to-ptr)
