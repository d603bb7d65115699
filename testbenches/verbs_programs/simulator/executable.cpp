#include "testbenches/verbs_programs/simulator/executable.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "testbenches/verbs_programs/channel/program_kind.h"
#include "testbenches/verbs_programs/simulator/waiting.h"

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

std::string objection_to_script(const std::string& path, int depth);

std::string objection_to(const std::string& path, int depth) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return fmt::format("{}: {}", path, std::strerror(errno));
  if (!S_ISREG(s.st_mode)) return path + " is not a file";
  if (::access(path.c_str(), X_OK) != 0) return path + " may not be executed";
  const descriptor program(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!program) return fmt::format("{}: {}", path, std::strerror(errno));
  switch (channel::kind_of(program.get())) {
    case channel::program_kind::dynamic:
      return {};
    case channel::program_kind::script:
      return objection_to_script(path, depth);
    case channel::program_kind::set_user_id:
      return path + " is set-user-ID, and the system loads no library into such programs; make a copy without that bit";
    case channel::program_kind::linked_statically:
      return path + " is linked statically, so that no library can stand in for libibverbs; link it dynamically";
    case channel::program_kind::of_another_machine:
      return path + " is a program of another machine";
    case channel::program_kind::none:
      break;
  }
  return path + " is not a 64-bit program";
}

// Returns the objection to a script, whose interpreter is checked in turn.
std::string objection_to_script(const std::string& path, int depth) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> words = split_words(line.substr(2));
  if (words.empty()) return path + " names no interpreter";
  constexpr int most = 4;
  return depth < most ? objection_to(words[0], depth + 1) : path + " leads to too many interpreters";
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
