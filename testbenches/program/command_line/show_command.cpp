#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/report/operation_way.h"
#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using show_rows = std::vector<std::vector<std::string>>;

constexpr int timeline_characters = 40;

// Returns where a slice lies in its operation, as a line of text.
std::string timeline(const way_slice& s, ps begin, ps length) {
  const auto place = [&](ps t) {
    return length == 0_ps ? 0 : static_cast<int>((t - begin).count() * timeline_characters / length.count());
  };
  const int from = std::min(place(s.begin), timeline_characters - 1);
  const int to = std::max(place(s.end), from + 1);
  return fmt::format("|{}{}{}|", std::string(static_cast<std::size_t>(from), ' '),
                     std::string(static_cast<std::size_t>(to - from), '='),
                     std::string(static_cast<std::size_t>(timeline_characters - to), ' '));
}

std::string nanoseconds(ps t) {
  return fmt::format("{}", to_ns(t));
}

class show_command final : public command {
 public:
  show_command() : command("show", "List a run's operations, the slowest first, or follow one of them from unit to unit") {}

  void declare(CLI::App& options) override {
    options.add_option("results", folder_, "The folder that 'hcasim run --spans' wrote")->required()->type_name("DIR");
    options.add_option("operation", number_, "The operation's number, as the list tells it: 6.21")->type_name("OPERATION");
    options.add_option("--most", most_, "List so many operations")
        ->type_name("N")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    options.add_flag("--json", json_, "Print JSON");
  }

  int run(const context& /*c*/) override {
    if (!fs::is_directory(folder_)) throw input_error(fmt::format("{}: no such folder", folder_));
    return number_.empty() ? list() : follow();
  }

 private:
  [[nodiscard]] fs::path spans() const { return fs::path(folder_) / "spans.json"; }

  int list() {
    const std::vector<recorded_operation> all = recorded_operations(spans());
    if (all.empty()) throw input_error(fmt::format("{}: no operation was recorded", spans().string()));
    const std::size_t shown = std::min<std::size_t>(most_, all.size());
    ordered_json out = ordered_json::array();
    show_rows table = {{"operation", "node", "what", "begins at [us]", "takes [ns]", "slices"}};
    for (std::size_t i = 0; i < shown; ++i) {
      const recorded_operation& o = all[i];
      table.push_back({o.number, o.node, o.what, fmt::format("{:.6f}", to_ns(o.begin) / 1000), nanoseconds(o.end - o.begin),
                       std::to_string(o.slices)});
      out.push_back({{"operation", o.number},
                     {"node", o.node},
                     {"what", o.what},
                     {"begin_ns", to_ns(o.begin)},
                     {"time_ns", to_ns(o.end - o.begin)},
                     {"slices", o.slices}});
    }
    if (json_) {
      std::cout << dump({{"operations", all.size()}, {"slowest", out}});
      return run_passed;
    }
    std::cout << fmt::format("{} operations, the slowest first{}\n\n{}\nhcasim show {} {} follows one of them\n", all.size(),
                             shown == all.size() ? "" : fmt::format("; {} of them", shown),
                             aligned(table, {false, false, false, true, true, true}), folder_, all[0].number);
    return run_passed;
  }

  int follow() {
    const std::vector<way_slice> way = way_of_operation(spans(), number_);
    if (way.empty()) {
      throw input_error(fmt::format("{}: no operation {}; 'hcasim show {}' lists them", spans().string(), number_, folder_));
    }
    ps begin = way[0].begin;
    ps end = way[0].end;
    for (const way_slice& s : way) {
      begin = std::min(begin, s.begin);
      end = std::max(end, s.end);
    }
    const std::vector<way_share> shares = shares_of(way);
    json_ ? print_json(way, shares, begin, end) : print(way, shares, begin, end);
    return run_passed;
  }

  void print(const std::vector<way_slice>& way, const std::vector<way_share>& shares, ps begin, ps end) const {
    show_rows slices = {{"at [ns]", "took [ns]", "node", "unit", "what", "", "with"}};
    for (const way_slice& s : way) {
      slices.push_back({nanoseconds(s.begin - begin), nanoseconds(s.end - s.begin), s.node, s.unit, s.what,
                        timeline(s, begin, end - begin), s.with});
    }
    show_rows sums = {{"node", "unit", "time [ns]", "share [%]"}};
    for (const way_share& s : shares) {
      sums.push_back({s.node, s.unit.empty() ? "between units" : s.unit, nanoseconds(s.time),
                      number_text(100.0 * to_ns(s.time) / std::max(to_ns(end - begin), 1e-3))});
    }
    std::cout << fmt::format(
                     "operation {}: {} of {}, begins at {:.6f} us, takes {} ns from its doorbell to its CQE in memory\n\n",
                     number_, way[0].what, way[0].node, to_ns(begin) / 1000, nanoseconds(end - begin))
              << aligned(slices, {true, true, false, false, false, false, false}) << "\ntime by the unit that began last\n"
              << aligned(sums, {false, false, true, true});
  }

  void print_json(const std::vector<way_slice>& way, const std::vector<way_share>& shares, ps begin, ps end) const {
    ordered_json slices = ordered_json::array();
    for (const way_slice& s : way) {
      slices.push_back({{"at_ns", to_ns(s.begin - begin)},
                        {"time_ns", to_ns(s.end - s.begin)},
                        {"node", s.node},
                        {"unit", s.unit},
                        {"what", s.what},
                        {"with", s.with}});
    }
    ordered_json sums = ordered_json::array();
    for (const way_share& s : shares) sums.push_back({{"node", s.node}, {"unit", s.unit}, {"time_ns", to_ns(s.time)}});
    std::cout << dump({{"operation", number_},
                       {"begin_ns", to_ns(begin)},
                       {"time_ns", to_ns(end - begin)},
                       {"slices", slices},
                       {"shares", sums}});
  }

  std::string folder_;
  std::string number_;
  std::uint32_t most_ = 20;
  bool json_ = false;
};

}  // namespace

void add_show_command(command_list& to) {
  to.push_back(std::make_unique<show_command>());
}

}  // namespace hcasim
