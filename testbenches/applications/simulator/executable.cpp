#include "testbenches/applications/simulator/executable.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

namespace hcasim::applications {

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  bool within = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (!quote && (c == ' ' || c == '\t' || c == '\n')) {
      within = false;
      continue;
    }
    if (!within) words.emplace_back();
    within = true;
    if (c == '\\' && quote != '\'') {
      if (++i < line.size()) words.back() += line[i];
    } else if (quote ? c == quote : (c == '\'' || c == '"')) {
      quote = quote ? '\0' : c;
    } else {
      words.back() += c;
    }
  }
  if (quote) throw std::invalid_argument(fmt::format("a quote ({}) is not closed", quote));
  return words;
}

namespace {

// Scripts lead to their interpreters, which are looked at in turn.
std::string objection_to(const std::string& path, int depth) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return fmt::format("{}: {}", path, std::strerror(errno));
  if (!S_ISREG(s.st_mode)) return path + " is no file";
  if (::access(path.c_str(), X_OK) != 0) return path + " may not be executed";
  if (s.st_mode & (S_ISUID | S_ISGID)) {
    return path + " is set-user-ID, and the system loads no library into such programs; make a copy without that bit";
  }
  std::ifstream file(path, std::ios::binary);
  std::string head(2, '\0');
  file.read(head.data(), 2);
  if (head == "#!" && depth < 4) {
    std::string line;
    std::getline(file, line);
    const std::vector<std::string> words = split_words(line);
    return words.empty() ? path + " names no interpreter" : objection_to(words[0], depth + 1);
  }
  file.seekg(0);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    return path + " is no 64-bit program";
  }
  if (header.e_machine != EM_X86_64) return path + " is a program of another machine";
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * header.e_phentsize));
    if (!file.read(reinterpret_cast<char*>(&part), sizeof part)) break;
    if (part.p_type == PT_INTERP) return {};
  }
  return path + " is linked statically, so that no library can stand in for libibverbs; link it dynamically";
}

}  // namespace

found_program find_program(const std::string& name) {
  if (name.empty()) return {name, "the program has no name"};
  if (name.find('/') != std::string::npos) return {name, objection_to(name, 0)};
  const char* path = std::getenv("PATH");
  const std::string list = path ? path : "/usr/bin:/bin";
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    std::string candidate = (end == at ? std::string(".") : list.substr(at, end - at)) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return {candidate, objection_to(candidate, 0)};
    at = end + 1;
  }
  return {name, fmt::format("there is no program '{}' in PATH", name)};
}

}  // namespace hcasim::applications
