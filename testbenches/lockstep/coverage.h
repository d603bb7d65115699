// Counts of `verilator --coverage`: points of lines and of toggles, and those that a list leaves out with a reason.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hcasim::lockstep {

class rtl_coverage {
 public:
  // Adds the counts of one run. Throws std::runtime_error: not such a file.
  void add(const std::string& file);
  // Lines "KIND MODULE POINT  # reason" of a file: a line, or a signal, all of it or the bits [HIGH:LOW]; [*] stands for any
  // element of an array. Returns what is wrong with the list: a line without a reason, a point that is not there, or one that
  // was reached all the same.
  std::vector<std::string> leave_out(const std::string& list);

  struct share {
    std::uint64_t hit = 0;
    std::uint64_t points = 0;
    std::uint64_t left_out = 0;
    [[nodiscard]] double ratio() const { return points ? static_cast<double>(hit) / static_cast<double>(points) : 1; }
  };
  [[nodiscard]] share of(const std::string& kind) const;
  [[nodiscard]] std::vector<std::string> missed(const std::string& kind) const;

 private:
  struct point {
    std::uint64_t count = 0;
    bool left_out = false;
  };
  std::map<std::string, point> points_;  // "kind module text"
};

}  // namespace hcasim::lockstep
