// The result of a run, filled by a testbench; the runner writes it as result.json, statistics.txt and a table on the screen.
// Everything in here is a function of the description and the seed: no wall-clock time, no paths.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <variant>
#include <vector>

namespace hcasim {

using cell = std::variant<std::int64_t, std::uint64_t, double, std::string>;

struct column {
  std::string name;
  std::string unit = {};  // "" for a name or a plain number
};

class table {
 public:
  table(std::string title, std::vector<column> columns) : title_(std::move(title)), columns_(std::move(columns)) {}

  // One cell for each column; throws std::logic_error otherwise.
  template <class... T>
  table& row(const T&... values) {
    return row(std::vector<cell>{make(values)...});
  }
  table& row(std::vector<cell> cells);

  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::vector<column>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<std::vector<cell>>& rows() const { return rows_; }

 private:
  template <class T>
  static cell make(const T& v) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(v);
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      return static_cast<std::int64_t>(v);
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<std::uint64_t>(v);
    } else {
      return std::string(v);
    }
  }

  std::string title_;
  std::vector<column> columns_;
  std::vector<std::vector<cell>> rows_;
};

// How busy a resource was in the measured part.
struct resource_use {
  std::string unit;  // node0.hca.key_check
  std::string name;  // the statistic
  double utilisation = 0;
  std::string help;
};

// One step of an operation's time, in the order of first entry to each unit; the steps add up to the time.
struct waterfall_step {
  std::string unit;
  std::string kind;  // software, service, memory (DMA, PCIe and host), wire
  double nanoseconds;
};
struct waterfall {
  std::string title;
  std::vector<waterfall_step> steps;
};

// The aim by which a run is judged, so that two runs can be told apart: high is better, or low.
enum class aim : std::uint8_t { high, low };
struct headline {
  std::string name;
  double value;
  std::string unit;
  aim direction;
  double known_to = 0;  // half the confidence interval of 95 %, as a share; 0 = exact
};

class result {
 public:
  struct figure_entry {
    std::string name;
    double value;
    std::string unit;
    std::string help;
  };

  void figure(std::string name, double value, std::string unit, std::string help) {
    figures_.push_back({std::move(name), value, std::move(unit), std::move(help)});
  }
  // Sets the figure by which the run is judged (`hcasim run --what-if`); without any, the simulated time is taken.
  void judged_by(std::string name, double value, std::string unit, aim direction) {
    headlines_.push_back({std::move(name), value, std::move(unit), direction});
  }
  // Says of all these figures how well they are known: half the confidence interval of 95 %, as a share.
  void known_to(double share) {
    for (hcasim::headline& h : headlines_) h.known_to = share;
  }
  // Adds a figure by which the run is judged.
  void headline(std::string name, double value, std::string unit, aim direction, std::string help) {
    judged_by(name, value, unit, direction);
    figure(std::move(name), value, std::move(unit), std::move(help));
  }
  // Adds a table; the reference stays valid.
  hcasim::table& table(std::string title, std::vector<column> columns) {
    return tables_.emplace_back(std::move(title), std::move(columns));
  }
  // Adds a resource known only to the testbench: a software thread.
  void resource(resource_use r) { resources_.push_back(std::move(r)); }
  // Adds a waterfall for `hcasim run --explain`.
  void explain(waterfall w) { waterfalls_.push_back(std::move(w)); }
  // Records a failed check: the run's exit status is 1. The run goes on.
  void fail(std::string message) { failures_.push_back(std::move(message)); }
  // Records that the run ended before its time.
  void stop(std::string message) {
    partial_ = true;
    fail(std::move(message));
  }
  // Sets the work done, for the host's speed; counted from the statistics when not given.
  void operations(std::uint64_t n) { operations_ = n; }
  void packets(std::uint64_t n) { packets_ = n; }

  [[nodiscard]] const std::vector<figure_entry>& figures() const { return figures_; }
  [[nodiscard]] const std::vector<hcasim::headline>& headlines() const { return headlines_; }
  [[nodiscard]] const std::deque<hcasim::table>& tables() const { return tables_; }
  [[nodiscard]] const std::vector<resource_use>& resources() const { return resources_; }
  [[nodiscard]] const std::vector<waterfall>& waterfalls() const { return waterfalls_; }
  [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }
  [[nodiscard]] bool passed() const { return failures_.empty(); }
  [[nodiscard]] bool partial() const { return partial_; }
  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  [[nodiscard]] std::uint64_t packets() const { return packets_; }

 private:
  std::vector<figure_entry> figures_;
  std::vector<hcasim::headline> headlines_;
  std::deque<hcasim::table> tables_;
  std::vector<resource_use> resources_;
  std::vector<waterfall> waterfalls_;
  std::vector<std::string> failures_;
  bool partial_ = false;
  std::uint64_t operations_ = 0;
  std::uint64_t packets_ = 0;
};

}  // namespace hcasim
