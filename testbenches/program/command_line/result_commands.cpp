#include <iostream>

#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/command_line/compare.h"
#include "testbenches/program/command_line/convert.h"
#include "testbenches/program/command_line/window.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/report/show.h"
#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class report_command final : public command {
 public:
  report_command()
      : command("report",
                "Show the results of a study, or a run over time, as one page that needs no network, or as pictures") {}

  void declare(CLI::App& options) override {
    options.add_option("results", folder_, "The folder that 'hcasim sweep' wrote, or 'hcasim run' with statistics.interval")
        ->required()
        ->type_name("DIR");
    options.add_option("--html", html_, "Write the page to this file; the default is DIR/report.html")->type_name("FILE");
    options.add_option("--compare", compared_, "Draw the results of this folder beside them; it must have the same axes")
        ->type_name("DIR");
    options.add_option("--svg", svg_, "Write each chart as a picture into this folder")->type_name("FOLDER");
    options.add_flag("--open", open_, "Show the page in a browser ($BROWSER, or xdg-open)");
    options.add_flag("--json", json_, "Print what was written as JSON");
  }
  int run(const context& /*c*/) override {
    return show_report({.results = folder_, .html = html_, .compare = compared_, .svg = svg_, .open = open_, .json = json_});
  }

 private:
  std::string folder_;
  std::string html_;
  std::string compared_;
  std::string svg_;
  bool open_ = false;
  bool json_ = false;
};

class diff_command final : public command {
 public:
  diff_command() : command("diff", "Say what differs between two runs, in description and results") {}

  void declare(CLI::App& options) override {
    options.add_option("a", first_, "A folder that 'hcasim run -o' wrote")->required()->type_name("DIR");
    options.add_option("b", second_, "Another one")->required()->type_name("DIR");
    options.add_option("--threshold", threshold_, "Leave out statistics that changed by less than this share")
        ->type_name("RATIO")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    options.add_flag("--json", json_, "Print JSON");
    options.footer("Status: 0 nothing differs, 1 something does, 2 bad input.");
  }
  int run(const context& /*c*/) override {
    return compare_runs({.a = first_, .b = second_, .threshold = threshold_, .json = json_});
  }

 private:
  std::string first_;
  std::string second_;
  double threshold_ = compare_options().threshold;
  bool json_ = false;
};

class trace_command final : public command {
 public:
  trace_command() : command("trace", "Take a part of a waveform, or turn VCD into FST and back") {}

  void declare(CLI::App& options) override {
    options.add_option("input", from_, "A VCD or FST file")->required()->type_name("FILE");
    options.add_option("output", to_, "Output file; its ending, .vcd or .fst, selects the format")
        ->required()
        ->type_name("FILE.vcd|FILE.fst");
    options.add_option("--trace", patterns_, "Take only signals whose name matches, '*.key_check.*'; may be repeated")
        ->type_name("PATTERN")
        ->allow_extra_args(false);
    options.add_option("--from", begin_, "Begin at this simulated time")->type_name("TIME");
    options.add_option("--until", end_, "End at this simulated time")->type_name("TIME");
    options.add_flag("--force", force_, "Replace the output when it is there");
    options.add_flag("--json", json_, "Print what was written as JSON");
  }
  int run(const context& /*c*/) override {
    const converted_waves made =
        convert_waves({.from = from_, .to = to_, .patterns = patterns_, .window = read_window(begin_, end_), .force = force_});
    if (json_) {
      std::cout << dump({{"output", fs::absolute(to_).string()},
                         {"format", made.format},
                         {"signals", made.signals},
                         {"from_ns", to_ns(made.begin)},
                         {"until_ns", to_ns(made.end)}});
    }
    return run_passed;
  }

 private:
  std::string from_;
  std::string to_;
  std::vector<std::string> patterns_;
  std::string begin_;
  std::string end_;
  bool force_ = false;
  bool json_ = false;
};

}  // namespace

void add_result_commands(command_list& to) {
  to.push_back(std::make_unique<report_command>());
  to.push_back(std::make_unique<diff_command>());
  to.push_back(std::make_unique<trace_command>());
}

}  // namespace hcasim
