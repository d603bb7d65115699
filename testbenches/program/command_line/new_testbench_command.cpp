#include <iostream>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/command_line/project_files.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

const std::string& testbench_project() {
  static const std::string name = "new-testbench";
  return name;
}

void check_testbench_name(const std::string& name) {
  static const std::regex good("[a-z][a-z0-9_]{0,39}");
  static const std::set<std::string> targets{"all", "clean", "help", "install", "main", "package", "test"};
  if (!std::regex_match(name, good)) {
    throw input_error(fmt::format("{}: '{}' is no name: begin with a letter, then letters, digits and _, all small, at most 40",
                                  testbench_project(), name));
  }
  if (targets.contains(name)) {
    throw input_error(
        fmt::format("{}: '{}' is a target of CMake; name it otherwise, my_... for instance", testbench_project(), name));
  }
}

project_files testbench_files(const std::string& name) {
  const installation from = own_installation(testbench_project());
  const fs::path folder = from.share / "testbenches/program/templates/testbench";
  project_files files;
  for (const char* const file : {"CMakeLists.txt", "NAME.cpp", "README.md", "CMakePresets.json"}) {
    std::string text = template_text(folder / (std::string(file) + ".in"), testbench_project());
    text = replaced(std::move(text), "@PREFIX@", from.prefix.string());
    files[replaced(file, "NAME", name)] = replaced(std::move(text), "@NAME@", name);
  }
  files[".gitignore"] = "build/\n";
  return files;
}

class new_testbench_command final : public command {
 public:
  new_testbench_command()
      : command(testbench_project(), "Write a project with a testbench of your own that builds and passes") {}

  void declare(CLI::App& options) override {
    options.add_option("name", name_, "Name of the testbench, and of the folder unless -o names another")
        ->required()
        ->type_name("NAME");
    options.add_option("-o,--output", folder_, "The folder that is written; it must not be there, or be empty")
        ->type_name("DIR");
    options.add_flag("--json", json_, "Print what was written as JSON");
    options.footer("Then, in the folder: cmake --workflow --preset check");
  }
  int run(const context& /*c*/) override {
    check_testbench_name(name_);
    const fs::path folder = project_folder(folder_, name_, testbench_project());
    const std::vector<std::string> files = write_project(folder, testbench_files(name_), testbench_project());
    if (json_) {
      std::cout << dump({{"folder", fs::absolute(folder).string()}, {"files", files}});
    } else {
      std::cout << fmt::format("{}: {}\ncd {} && cmake --workflow --preset check\n", folder.string(), fmt::join(files, " "),
                               folder.string());
    }
    return run_passed;
  }

 private:
  std::string name_;
  std::string folder_;
  bool json_ = false;
};

}  // namespace

void add_new_testbench_command(command_list& to) {
  to.push_back(std::make_unique<new_testbench_command>());
}

}  // namespace hcasim
