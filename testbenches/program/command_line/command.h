// One command of the program: its name, its options, its work.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "testbenches/program/execution/platform.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hcasim {

class command {
 public:
  struct context {
    const CLI::App& program;  // with all commands, and the options of all if the command shows them
    const CLI::App& own;      // this one's options, as they were given
    platform_factory machine;
  };

  command(std::string name, std::string summary) : name_(std::move(name)), summary_(std::move(summary)) {}
  virtual ~command() = default;
  command(const command&) = delete;
  command& operator=(const command&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& summary() const { return summary_; }

  // Returns whether the command needs the options of all commands.
  [[nodiscard]] virtual bool shows_all_options() const { return false; }
  // Takes words other than the program's own options; returns the number of remaining words.
  virtual int take_words(int argc, char** /*argv*/) { return argc; }
  virtual void declare(CLI::App& options) = 0;
  // Returns status 0 or 1; throws input_error (status 2).
  virtual int run(const context& c) = 0;

 private:
  std::string name_;
  std::string summary_;
};

using command_list = std::vector<std::unique_ptr<command>>;

// Returns all commands in the order of --help. A new command is a file with one of these functions, and its line in
// commands.cpp.
command_list all_commands();

void add_listing_commands(command_list& to);       // list, params, faults
void add_run_commands(command_list& to);           // run, exec, gateway
void add_sweep_command(command_list& to);          // sweep
void add_validate_command(command_list& to);       // validate
void add_fit_command(command_list& to);            // fit
void add_show_command(command_list& to);           // show
void add_result_commands(command_list& to);        // report, diff, trace
void add_results_command(command_list& to);        // results
void add_new_unit_command(command_list& to);       // new-unit
void add_new_testbench_command(command_list& to);  // new-testbench
void add_mutate_command(command_list& to);         // mutate
void add_coverage_command(command_list& to);       // coverage
void add_about_commands(command_list& to);         // completion, man, version

}  // namespace hcasim
