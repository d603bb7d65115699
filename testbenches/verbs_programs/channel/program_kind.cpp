#include "testbenches/verbs_programs/channel/program_kind.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "testbenches/verbs_programs/channel/machine.h"

namespace hcasim::channel {
namespace {

// The kernel's call, even if the C library's is replaced: it serves within a signal's handler and a child of fork.
bool read_at(int file, std::uint64_t at, void* to, std::size_t n) {
  return ::syscall(SYS_pread64, file, to, n, at) == static_cast<long>(n);
}

}  // namespace

program_kind kind_of(int file) {
  struct stat s {};
  if (::syscall(SYS_fstat, file, &s) != 0) return program_kind::none;
  if (s.st_mode & (S_ISUID | S_ISGID)) return program_kind::set_user_id;
  Elf64_Ehdr header{};
  if (read_at(file, 0, &header, 2) && std::memcmp(&header, "#!", 2) == 0) return program_kind::script;
  if (!read_at(file, 0, &header, sizeof header)) return program_kind::none;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return program_kind::none;
  if (header.e_machine != machine::elf_number) return program_kind::of_another_machine;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!read_at(file, header.e_phoff + std::uint64_t{i} * header.e_phentsize, &part, sizeof part)) break;
    if (part.p_type == PT_INTERP) return program_kind::dynamic;
  }
  return program_kind::linked_statically;
}

}  // namespace hcasim::channel
