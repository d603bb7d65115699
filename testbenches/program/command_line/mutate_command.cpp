// Builds a program for lockstep on each fault of a unit's RTL, and runs it (docs/mutation.md).
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/own_program.h"
#include "testbenches/program/description/shared_file.h"
#include "testbenches/program/processes/signals.h"
#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using arguments = std::vector<std::string>;

enum class prints : std::uint8_t { as_we_do, to_the_errors, for_us };

// Waits for a program of its own in a folder; its status.
int run_in(const fs::path& folder, const arguments& words, prints where, std::string& said) {
  std::vector<char*> pointers;
  for (const std::string& w : words) pointers.push_back(const_cast<char*>(w.c_str()));
  pointers.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "mutate: no pipe can be made");
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "mutate: no process can be made");
  if (child == 0) {
    restore_signals();
    if (where != prints::as_we_do) dup2(where == prints::for_us ? ends[1] : STDERR_FILENO, STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    if (chdir(folder.c_str()) == 0) execvp(pointers[0], pointers.data());
    _exit(127);
  }
  close(ends[1]);
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void build_step(const fs::path& folder, const arguments& words) {
  std::string nothing;
  if (run_in(folder, words, prints::to_the_errors, nothing) != 0)
    throw input_error(fmt::format("mutate: in {}: {} failed", folder.string(), fmt::join(words, " ")));
}

// Reads the program's output, line by line: faults that live, and a table of kinds.
nlohmann::ordered_json in_json(const std::string& said) {
  using json = nlohmann::ordered_json;
  json out{{"survived", json::array()}, {"in_storms_alone", json::array()}, {"kinds", json::object()}};
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    for (const auto& [begin, list] : {std::pair("survived: ", "survived"), std::pair("in storms alone: ", "in_storms_alone")}) {
      if (line.starts_with(begin)) out[list].push_back(line.substr(std::strlen(begin)));
    }
    std::istringstream row(line);
    std::string kind;
    std::uint64_t faults = 0, killed = 0, by_storms = 0, survived = 0, equivalent = 0;
    double score = 0;
    if (row >> kind >> faults >> killed >> by_storms >> survived >> equivalent >> score) {
      out["kinds"][kind] = {{"faults", faults},     {"killed", killed},         {"in_storms_alone", by_storms},
                            {"survived", survived}, {"equivalent", equivalent}, {"score_percent", score}};
    }
  }
  return out;
}

class mutate_command final : public command {
 public:
  mutate_command()
      : command("mutate", "Make faults in a unit's RTL, one after the other, and see which of them lockstep finds") {}

  void declare(CLI::App& options) override {
    options
        .add_option(
            "what", what_,
            "A unit of hcasim (key_check, page_walker, context_cache, doorbell), in a build of its sources, or the folder "
            "of a project from new-unit")
        ->required()
        ->type_name("UNIT|FOLDER");
    options.add_flag("--all", all_, "Every fault of the unit, in a build of its own, and not the hundred of this build");
    options.add_flag("--json", json_, "Print the faults that survive and the scores as JSON");
    for (passed& p : passed_) options.add_option(p.name, p.value, p.help)->type_name(p.type);
    options.footer("Status: 0 the score is reached, 1 it is not, 2 bad input or a build that fails.");
  }
  int run(const context& /*c*/) override {
    arguments words;
    if (fs::exists(fs::path(what_) / "CMakePresets.json")) {
      words = of_project(fs::absolute(what_));
    } else if (what_.find('/') == std::string::npos && fs::exists(equivalents_of(what_))) {
      words = of_unit();
    } else {
      throw input_error(fmt::format(
          "mutate: '{}' is neither a unit of hcasim with RTL, as key_check, nor a folder with a CMakePresets.json, as "
          "new-unit writes it",
          what_));
    }
    for (const passed& p : passed_) {
      if (!p.value.empty()) words.insert(words.end(), {p.name, p.value});
    }
    std::string said;
    const int status = run_in(".", words, json_ ? prints::for_us : prints::as_we_do, said);
    if (status > 1) throw input_error(fmt::format("mutate: {} ended with status {}", fmt::join(words, " "), status));
    if (json_) std::cout << dump(in_json(said));
    return status;
  }

 private:
  struct passed {
    std::string name, type, help;
    std::string value;
  };

  static fs::path equivalents_of(const std::string& unit) {
    return shared_file("models/adapter/" + unit + "/rtl/equivalents.txt");
  }
  [[nodiscard]] arguments of_unit() const {
    const fs::path build = own_program().parent_path();
    if (!fs::exists(build / "CMakeCache.txt"))
      throw input_error(
          "mutate: an installed hcasim has no units to build; name the folder of a project, or build hcasim from its sources");
    const fs::path in = all_ ? build.parent_path() / "mutation" : build;
    const fs::path program = in / "testbenches/coverification/lockstep" / ("mutate_" + what_);
    if (!all_ && !fs::exists(program.string() + ".cpp")) {  // a build without tests has no faults
      build_step(in, {"cmake", "-DHCASIM_MUTANTS=100", "."});
    }
    if (all_) {
      build_step(fs::canonical(shared_file("models")).parent_path(),
                 {"cmake", "--preset", "release", "-B", in.string(), "-DHCASIM_MUTANTS=all", "-DHCASIM_TESTS=OFF"});
    }
    build_step(in, {"cmake", "--build", ".", "--target", "mutate_" + what_});
    return {program.string(), "--equivalents", equivalents_of(what_).string()};
  }
  [[nodiscard]] arguments of_project(const fs::path& folder) const {
    if (all_) throw input_error("mutate: --all is for units of hcasim; a project says MUTANTS all in its CMakeLists.txt");
    build_step(folder, {"cmake", "--preset", "mutate"});
    build_step(folder, {"cmake", "--build", "--preset", "mutate"});
    return {(folder / "build/mutate/mutate").string()};
  }

  std::string what_;
  bool all_ = false;
  bool json_ = false;
  passed passed_[7] = {
      {"--requests",
       "N",
       "Requests of each of two random streams and of the storm (default 20000); other streams have a part of this",
       {}},
      {"--seed", "N", "Seed of the streams (default 1)", {}},
      {"--jobs", "N", "Processes at a time; as many as there are processors", {}},
      {"--only", "N", "Run only this fault, and show what killed it", {}},
      {"--file", "NAME", "The faults of one source file", {}},
      {"--equivalents", "FILE", "File of faults without a visible effect, each with its reason", {}},
      {"--least", "SHARE", "Score to reach (default 0.95)", {}}};
};

}  // namespace

void add_mutate_command(command_list& to) {
  to.push_back(std::make_unique<mutate_command>());
}

}  // namespace hcasim
