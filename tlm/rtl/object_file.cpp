#include "tlm/rtl/object_file.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>

namespace hcasim::rtl {

std::string cut_off(const std::string& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const auto size = static_cast<std::uint64_t>(in.tellg());
  Elf64_Ehdr head{};
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(&head), sizeof head)) return {};
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64) return {};
  std::uint64_t end = head.e_phoff + std::uint64_t{head.e_phnum} * sizeof(Elf64_Phdr);
  end = std::max(end, head.e_shoff + std::uint64_t{head.e_shnum} * sizeof(Elf64_Shdr));
  in.seekg(static_cast<std::streamoff>(head.e_phoff));
  Elf64_Phdr part{};
  for (unsigned n = 0; n < head.e_phnum && in.read(reinterpret_cast<char*>(&part), sizeof part); ++n)
    end = std::max(end, part.p_offset + part.p_filesz);
  if (end <= size) return {};
  return "it is cut off: it has " + std::to_string(size) + " bytes of " + std::to_string(end) + "; build it again";
}

}  // namespace hcasim::rtl
