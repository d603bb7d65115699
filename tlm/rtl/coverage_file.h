// Coverage files, as `verilator --coverage` and cover_group write them: lines and toggles of RTL, its cover properties (user),
// and bins. Runs add up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hcasim::rtl {

class coverage_file {
 public:
  // Adds the counts of one run. Throws std::runtime_error: no coverage file.
  void add(const std::string& file);
  // Writes the sums as one coverage file. Throws std::runtime_error.
  void write(const std::string& file) const;
  // Leaves out the points of a list with lines "KIND MODULE POINT  # reason". POINT is a line, or a signal, or its bits
  // [HIGH:LOW]; * stands for anything, [*] for any element of an array. Returns the mistakes in the list: a line without a
  // reason, an unknown point, a point that was reached all the same.
  std::vector<std::string> leave_out(const std::string& list);

  struct share {
    std::uint64_t hit = 0;  // points with their goal reached
    std::uint64_t points = 0;
    std::uint64_t left_out = 0;
    [[nodiscard]] double ratio() const { return points ? static_cast<double>(hit) / static_cast<double>(points) : 1; }
  };
  // `kind`: line, toggle, user or bin. `module`: of this module or group alone; empty = of all.
  [[nodiscard]] share of(const std::string& kind, const std::string& module = {}) const;
  [[nodiscard]] std::vector<std::string> missed(const std::string& kind, const std::string& module = {}) const;
  [[nodiscard]] std::vector<std::string> modules() const;

 private:
  struct point {
    std::string kind;
    std::string module;
    std::uint64_t count = 0;
    std::uint64_t goal = 1;
    bool left_out = false;
  };
  [[nodiscard]] static bool belongs(const point& p, const std::string& kind, const std::string& module) {
    return p.kind == kind && (module.empty() || p.module == module);
  }
  std::map<std::string, point> points_;        // "kind module text"
  std::map<std::string, std::uint64_t> sums_;  // keys as in the files
};

}  // namespace hcasim::rtl
