// Runs points of a study in processes of their own on this machine and hands over what is left of each. A point whose process
// did not come to its end gets a record that says why.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "testbenches/program/study/point.h"
#include "tlm/base/units.h"

namespace hcasim {

class point_pool {
 public:
  struct options {
    unsigned jobs = 1;
    std::optional<ps> time_limit{};  // of one point, wall-clock time
    int stop_fd = -1;                // readable: end
  };
  // Scratch folders lie in `folder` while their points run.
  point_pool(const study& s, platform_factory machine, std::filesystem::path folder, options o)
      : study_(s), machine_(machine), folder_(std::move(folder)), options_(o) {}

  std::function<std::optional<std::uint64_t>()> next;
  std::function<bool(const std::string&)> knows_catalogue;  // called in the child
  // In the order they end, with the CPU time of each one's process in seconds; the record is not encoded yet.
  std::function<void(point_record, double)> done;
  std::function<void()> idle;

  // False = stopped, and no point runs any more.
  bool run();

  [[nodiscard]] static std::filesystem::path scratch(const std::filesystem::path& folder, std::uint64_t id);
  // Removes what points that were killed have left.
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

// The record of a point that has none of its own.
point_record lost_point(const study& s, std::uint64_t id, const std::string& status, const std::string& why);

}  // namespace hcasim
