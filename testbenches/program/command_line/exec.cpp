#include "testbenches/program/command_line/exec.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace hcasim {
namespace {

// Quotes a word for the testbench, which gets it back unchanged by splitting the line.
std::string quoted(const std::string& word) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string out(1, '\'');
  for (const char c : word) {
    if (c == '\'') out.append("'\\'");
    out.push_back(c);
  }
  out.push_back('\'');
  return out;
}

}  // namespace

program_words take_programs(const std::string& command, int argc, char** argv) {
  program_words out{argc, {}};
  if (argc < 2 || argv[1] != command) return out;
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--") {
      if (out.programs.empty()) out.argc = i;
      out.programs.emplace_back();
    } else if (!out.programs.empty()) {
      out.programs.back().emplace_back(argv[i]);
    }
  }
  return out;
}

run_options with_programs(run_options options, const program_words& words, const program_bench& bench) {
  if (words.programs.empty()) {
    throw input_error(fmt::format("{0}: there is no program; write hcasim {0} {1}", bench.command, bench.example));
  }
  options.what = bench.testbench;
  for (std::size_t i = 0; i < words.programs.size(); ++i) {
    if (words.programs[i].empty())
      throw input_error(fmt::format("{}: no command follows the '--' of program {}", bench.command, i));
    std::string line;
    for (const std::string& w : words.programs[i]) {
      if (!line.empty()) line.push_back(' ');
      line.append(quoted(w));
    }
    options.parameters.push_back(fmt::format("program{}.run={}", i, line));
  }
  if (!options.json) options.parameters.emplace_back("echo=true");
  // The user's settings come later, and win.
  options.set.insert(options.set.begin(), fmt::format("nodes={}", std::max(bench.least_nodes, words.programs.size())));
  return options;
}

}  // namespace hcasim
