#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/command_line/new_unit.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class new_unit_command final : public command {
 public:
  new_unit_command() : command("new-unit", "Write a project with RTL of your own that builds and passes, to begin from") {}

  void declare(CLI::App& options) override {
    options.add_option("name", unit_.name, "Name of the module, and of the folder unless -o names another")
        ->required()
        ->type_name("NAME");
    options
        .add_option(
            "--kind", unit_.kind,
            "The unit to compare it with (key_check, context_cache, page_walker, doorbell), stream (RTL of any "
            "kind), axi4 (a memory behind AXI4), device or tlp_device (a PCIe device beside the adapter, by AXI or by TLPs)")
        ->type_name("KIND")
        ->capture_default_str();
    options.add_option("-o,--output", unit_.folder, "The folder that is written; it must not be there, or be empty")
        ->type_name("DIR");
    options.add_flag("--json", json_, "Print what was written as JSON");
    options.footer("Then, in the folder: cmake --workflow --preset check");
  }
  int run(const context& /*c*/) override {
    const new_unit made = make_new_unit(unit_);
    if (json_) {
      std::cout << dump({{"folder", fs::absolute(made.folder).string()}, {"kind", unit_.kind}, {"files", made.files}});
    } else {
      std::cout << fmt::format("{}: {}\ncd {} && cmake --workflow --preset check\n", made.folder.string(),
                               fmt::join(made.files, " "), made.folder.string());
    }
    return run_passed;
  }

 private:
  new_unit_options unit_;
  bool json_ = false;
};

}  // namespace

void add_new_unit_command(command_list& to) {
  to.push_back(std::make_unique<new_unit_command>());
}

}  // namespace hcasim
