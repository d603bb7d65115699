// Adds up coverage files and prints the coverage: lines and toggles of RTL, its cover properties, and bins.
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/results/report.h"
#include "tlm/rtl/coverage_file.h"

namespace hcasim {
namespace {

constexpr const char* coverage_kinds[] = {"line", "toggle", "user", "bin"};

class coverage_command final : public command {
 public:
  coverage_command() : command("coverage", "Add up coverage files of RTL and of streams, and report the coverage") {}

  void declare(CLI::App& options) override {
    options
        .add_option("files", files_,
                    "Files from the knob rtl.coverage, lockstep's option --coverage, cover_group or verilator --coverage")
        ->required()
        ->type_name("FILE.dat");
    options
        .add_option("--leave-out", lists_,
                    "Points that cannot be reached, lines 'KIND MODULE POINT  # reason'; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    options.add_option("--write", merged_, "Write the sum as one file, for verilator_coverage as well")->type_name("FILE.dat");
    options.add_option("--least", least_, "Share of the points of each kind to reach")
        ->type_name("SHARE")
        ->check(CLI::Range(0.0, 1.0));
    options.add_flag("--missed", missed_, "Name the points that were not reached");
    options.add_flag("--json", json_, "Print JSON");
    options.footer("Status: 0 every kind reaches the share, 1 a kind does not, or a list is wrong, 2 bad input.");
  }

  int run(const context& /*c*/) override {
    rtl::coverage_file all;
    for (const std::string& f : files_) {
      try {
        all.add(f);
      } catch (const std::exception& e) {
        throw input_error(fmt::format("coverage: {}", e.what()));
      }
    }
    std::vector<std::string> wrong;
    for (const std::string& list : lists_) {
      for (std::string& w : all.leave_out(list)) wrong.push_back(std::move(w));
    }
    if (!merged_.empty()) write(all);
    if (json_) {
      print_json(all, wrong);
    } else {
      print(all, wrong);
    }
    bool ok = wrong.empty();
    for (const char* kind : coverage_kinds) ok &= all.of(kind).ratio() >= least_;
    return ok ? run_passed : run_failed;
  }

 private:
  void write(const rtl::coverage_file& all) const {
    try {
      all.write(merged_);
    } catch (const std::exception& e) {
      throw input_error(fmt::format("coverage: {}", e.what()));
    }
  }
  void print(const rtl::coverage_file& all, const std::vector<std::string>& wrong) const {
    std::vector<std::vector<std::string>> rows{{"module", "kind", "reached", "points", "share", "left out"}};
    const auto add = [&](const std::string& name, const std::string& module, const char* kind) {
      const rtl::coverage_file::share s = all.of(kind, module);
      if (s.points + s.left_out == 0) return;
      rows.push_back({name, kind, std::to_string(s.hit), std::to_string(s.points), fmt::format("{:.1f} %", 100 * s.ratio()),
                      std::to_string(s.left_out)});
    };
    for (const std::string& module : all.modules()) {
      for (const char* kind : coverage_kinds) add(module, module, kind);
    }
    for (const char* kind : coverage_kinds) add("all", {}, kind);
    std::cout << aligned(rows, {false, false, true, true, true, true}, "");
    for (const char* kind : coverage_kinds) {
      if (!missed_) break;
      for (const std::string& m : all.missed(kind)) std::cout << "missed: " << m << '\n';
    }
    for (const std::string& w : wrong) std::cout << w << '\n';
  }
  void print_json(const rtl::coverage_file& all, const std::vector<std::string>& wrong) const {
    nlohmann::ordered_json out{{"kinds", nlohmann::ordered_json::object()}, {"modules", nlohmann::ordered_json::array()}};
    const auto of = [&](const char* kind, const std::string& module) {
      const rtl::coverage_file::share s = all.of(kind, module);
      return nlohmann::ordered_json{{"reached", s.hit}, {"points", s.points}, {"left_out", s.left_out}};
    };
    for (const char* kind : coverage_kinds) {
      out["kinds"][kind] = of(kind, {});
      out["kinds"][kind]["missed"] = all.missed(kind);
    }
    for (const std::string& module : all.modules()) {
      nlohmann::ordered_json row{{"module", module}};
      for (const char* kind : coverage_kinds) {
        if (const rtl::coverage_file::share s = all.of(kind, module); s.points + s.left_out > 0) row[kind] = of(kind, module);
      }
      out["modules"].push_back(std::move(row));
    }
    out["wrong"] = wrong;
    std::cout << dump(out);
  }

  std::vector<std::string> files_;
  std::vector<std::string> lists_;
  std::string merged_;
  double least_ = 0;
  bool missed_ = false;
  bool json_ = false;
};

}  // namespace

void add_coverage_command(command_list& to) {
  to.push_back(std::make_unique<coverage_command>());
}

}  // namespace hcasim
