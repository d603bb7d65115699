#include "testbenches/program/command_line/cli.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <new>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/places/places.h"
#include "testbenches/program/processes/signals.h"
#include "testbenches/program/results/report.h"
#include "tlm/base/ending.h"
#include "tlm/base/missing_part.h"

namespace hcasim {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& n : o->get_lnames()) names.push_back("--" + n);
  }
  return names;
}

// Returns the fault that CLI11 found, with the nearest valid option.
std::string mended(const CLI::App& app, const CLI::ParseError& e) {
  std::string help = "see 'hcasim --help'";
  for (const CLI::App* c : app.get_subcommands()) {
    help = fmt::format("see 'hcasim {} --help'", c->get_name());
    std::string unexpected;
    for (const std::string& extra : c->remaining()) {
      const std::string option = extra.substr(0, extra.find('='));
      if (option.starts_with("--"))
        return fmt::format("unknown option '{}'; {}", option, suggestion(option, option_names(*c), "options"));
      unexpected = extra;
    }
    constexpr std::array units{"ps",  "ns", "us",  "ms",  "s",   "B",   "KiB",  "MiB",   "GiB",
                               "TiB", "Hz", "kHz", "MHz", "GHz", "b/s", "Gb/s", "cycles"};
    if (std::find(units.begin(), units.end(), unexpected) != units.end())
      return fmt::format("unexpected argument '{0}'; write a value and its unit as one word, '4 {0}' or 4{0}", unexpected);
    if (!unexpected.empty()) return fmt::format("unexpected argument '{}'; {}", unexpected, help);
    for (const CLI::Option* o : c->get_options()) {
      const int most = o->get_items_expected_max();
      if (most == 1 && o->count() > 1 && !o->get_lnames().empty())
        return fmt::format("--{} is given {} times; leave one", o->get_lnames().front(), o->count());
    }
  }
  const std::string fault = e.what();
  if (const std::size_t end = fault.find(" was given a disallowed flag override"); end != std::string::npos)
    return fmt::format("--{} takes no value; {}", fault.substr(0, end), help);
  return fmt::format("{}; {}", fault, help);
}

const CLI::Option* option_of(const CLI::App& app, const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return nullptr;
  const std::vector<const CLI::Option*> all = app.get_options();
  const auto found = std::find_if(all.begin(), all.end(), [&](const CLI::Option* o) { return o->check_name(word); });
  return found == all.end() ? nullptr : *found;
}

// Returns the fault of an option that would take the next option for its value: "--packets -o".
std::string missing_value(const CLI::App& own, int argc, char** argv) {
  for (int i = 2; i + 1 < argc; ++i) {
    const CLI::Option* o = option_of(own, argv[i]);
    if (!o || o->get_items_expected_min() == 0) continue;
    if (option_of(own, argv[i + 1]))
      return fmt::format("{} needs a value, and '{}' is an option; see 'hcasim {} --help'", argv[i], argv[i + 1],
                         own.get_name());
    ++i;
  }
  return {};
}

// Prints the error, with --json also as JSON. Relative paths fail without a working folder, so its absence is added.
int refuse(std::string message, bool json, int status = run_bad_input) {
  std::error_code ec;
  if (std::filesystem::current_path(ec).empty()) message += "; the working folder has been removed: change to one that exists";
  std::cerr << "hcasim: " << message << "\n";
  if (json) std::cout << dump({{"error", message}, {"status", status}});
  return status;
}

// Throws input_error when the stack may overflow, which would end the program without a message.
void check_stack() {
  constexpr rlim_t least = 128 << 10;
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= least) return;
  throw input_error(fmt::format("the stack is limited to {} KiB; raise the limit to {} KiB or more (ulimit -s)",
                                stack.rlim_cur >> 10, least >> 10));
}

int run_words(int argc, char** argv, platform_factory machine) {
  const bool wants_json = std::any_of(argv, argv + argc, [](const char* a) { return std::string_view(a) == "--json"; });
  CLI::App app("Cycle-approximate simulator of an InfiniBand host channel adapter", "hcasim");
  app.require_subcommand(1);
  app.option_defaults()->disable_flag_override();  // --spans=3: an option without a value refuses one
  app.set_version_flag("--version", std::string("hcasim ") + places::version);
  const command_list commands = all_commands();
  // The options of all testbenches' parameters take longer to declare than a short run.
  const bool names_command = argc > 1 && argv[1][0] != '-';
  const bool needs_all = !names_command || std::any_of(commands.begin(), commands.end(), [&](const auto& c) {
    return c->shows_all_options() && c->name() == argv[1];
  });
  for (const auto& c : commands) {
    CLI::App& own = *app.add_subcommand(c->name(), c->summary());
    if (needs_all || c->name() == argv[1]) c->declare(own);
    argc = c->take_words(argc, argv);
  }

  if (names_command) {
    std::vector<std::string> names;
    for (const auto& c : commands) names.push_back(c->name());
    if (std::find(names.begin(), names.end(), argv[1]) == names.end()) {
      return refuse(fmt::format("there is no command '{}'; {}", argv[1], suggestion(argv[1], names, "commands")), wants_json);
    }
    const std::string fault = missing_value(*app.get_subcommand(argv[1]), argc, argv);
    if (!fault.empty()) return refuse(fault, wants_json);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    return refuse(mended(app, e), wants_json);
  }
  try {
    check_stack();
    for (const auto& c : commands) {
      const CLI::App* own = app.get_subcommand(c->name());
      if (own->parsed()) return c->run({app, *own, machine});
    }
  } catch (const input_error& e) {
    return refuse(e.what(), wants_json);
  } catch (const missing_part& e) {
    return refuse(e.what(), wants_json, run_without_part);
  } catch (const std::system_error& e) {
    return refuse(cause(e), wants_json);
  } catch (const std::exception& e) {
    if (is_out_of_memory(e)) return refuse(std::string(out_of_memory), wants_json);
    return refuse(fmt::format("internal error: {}", e.what()), wants_json, run_failed);
  }
  return run_passed;
}

// Returns the status, or 2 when some of the output could not be written: it may be a command's whole result. A reader that has
// seen enough (`| head`) gets no message.
int with_output_written(int status) {
  if (std::cout.flush() && std::ferror(stdout) == 0) return status;
  const bool again = ::write(STDOUT_FILENO, "\n", 1) == 1;
  if (!again && errno == EPIPE) return run_bad_input;
  std::cerr << fmt::format("hcasim: not all of standard output could be written: {}\n",
                           again ? "make room where it goes" : cause(errno, "send it to where it is read"));
  return run_bad_input;
}

}  // namespace

int command_line(int argc, char** argv, platform_factory machine) {
  try {
    begin_program();
    const int status = with_output_written(run_words(argc, argv, machine));
    ending::done();
    return status;
  } catch (const std::bad_alloc&) {  // not even a message could be put together
    std::fprintf(stderr, "hcasim: %.*s\n", static_cast<int>(out_of_memory.size()), out_of_memory.data());
    return run_bad_input;
  }
}

}  // namespace hcasim
