#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <systemc>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/command_line/completion.h"
#include "testbenches/program/command_line/manual.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/places/places.h"
#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

class completion_command final : public command {
 public:
  completion_command() : command("completion", "Print a completion script: eval \"$(hcasim completion bash)\"") {}

  [[nodiscard]] bool shows_all_options() const override { return true; }
  void declare(CLI::App& options) override {
    options.add_option("shell", shell_, "bash, zsh or fish")
        ->required()
        ->type_name("SHELL")
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    options.add_option("--line", line_, "Print what may stand at the end of this line instead; the script asks so")
        ->type_name("LINE");
    options.add_flag("--json", json_, "Print the script, or the words, within JSON");
  }
  int run(const context& c) override {
    if (!line_.empty()) {
      const std::vector<std::string> words = completions(c.program, c.machine, line_);
      std::cout << (json_ ? dump({{"words", words}}) : fmt::format("{}{}", fmt::join(words, "\n"), words.empty() ? "" : "\n"));
      return run_passed;
    }
    const std::string script = completion_script(c.program, shell_);
    std::cout << (json_ ? dump({{"shell", shell_}, {"script", script}}) : script);
    return run_passed;
  }

 private:
  std::string shell_;
  std::string line_;
  bool json_ = false;
};

class man_command final : public command {
 public:
  man_command() : command("man", "Print the manual page: hcasim man | man -l -") {}

  [[nodiscard]] bool shows_all_options() const override { return true; }
  void declare(CLI::App& options) override { options.add_flag("--json", json_, "Print commands and options as JSON"); }
  int run(const context& c) override {
    std::cout << (json_ ? dump(manual_json(c.program, places::version)) : manual_page(c.program, places::version));
    return run_passed;
  }

 private:
  bool json_ = false;
};

class version_command final : public command {
 public:
  version_command() : command("version", "Print the version and what it was built with") {}

  void declare(CLI::App& options) override { options.add_flag("--json", json_, "Print JSON"); }
  int run(const context& /*c*/) override {
    if (json_) {
      std::cout << dump({{"hcasim", places::version}, {"systemc", sc_core::sc_version()}, {"compiler", __VERSION__}});
    } else {
      std::cout << fmt::format("hcasim {}\n{}\ncompiler {}\n", places::version, sc_core::sc_version(), __VERSION__);
    }
    return run_passed;
  }

 private:
  bool json_ = false;
};

}  // namespace

void add_about_commands(command_list& to) {
  to.push_back(std::make_unique<completion_command>());
  to.push_back(std::make_unique<man_command>());
  to.push_back(std::make_unique<version_command>());
}

}  // namespace hcasim
