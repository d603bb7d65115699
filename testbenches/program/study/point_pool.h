// Runs points of a study in processes of their own on this machine and hands over their records. A point whose process did not
// come to its end gets a record with the reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "testbenches/program/study/point.h"
#include "tlm/base/units.h"

namespace hcasim {

// Resources of this machine that a point used.
struct point_cost {
  double seconds = 0;
  double cpu_seconds = 0;
  std::uint64_t peak_bytes = 0;
};

class point_pool {
 public:
  struct options {
    unsigned jobs = 1;
    std::optional<ps> time_limit{};  // for one point, wall-clock time
    int stop_fd = -1;                // readable: end
  };
  // Scratch folders lie in `folder` while their points run.
  point_pool(const study& s, platform_factory machine, std::filesystem::path folder, options o)
      : study_(s), machine_(machine), folder_(std::move(folder)), options_(o) {}

  std::function<std::optional<std::uint64_t>()> next;
  std::function<bool(const std::string&)> knows_catalogue;  // called in the child
  // Called in the order of the ends; the record is not encoded yet.
  std::function<void(point_record, const point_cost&)> done;
  std::function<void()> idle;

  // Runs the points; false = stopped, and no point runs any more.
  bool run();

  [[nodiscard]] static std::filesystem::path scratch(const std::filesystem::path& folder, std::uint64_t id);
  // Removes the leftovers of killed points.
  static void remove_leftovers(const std::filesystem::path& folder);

 private:
  std::string in_child(std::uint64_t id);
  void make_scratch(std::uint64_t id);

  const study& study_;
  platform_factory machine_;
  std::filesystem::path folder_;
  options options_;
  std::vector<std::uint64_t> spares_;  // points that have ended: a new one takes over the empty scratch folder of one of them
};

// Returns the record of a point that has none of its own.
point_record lost_point(const study& s, std::uint64_t id, const std::string& status, const std::string& why);

}  // namespace hcasim
