// Runs the studies of experiments, all points of all of them in one pool of processes.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "testbenches/program/execution/platform.h"
#include "testbenches/program/study/study.h"
#include "testbenches/program/validation/comparison.h"

namespace hcasim {

struct point_record;

class replay {
 public:
  // Studies are written into `folder`, and points run there. `preset`: instead of the series' own; empty = theirs.
  replay(std::filesystem::path folder, std::string preset, platform_factory machine)
      : folder_(std::move(folder)), preset_(std::move(preset)), machine_(machine) {}

  // Makes the study of a series. The series must stay where it is until run() has ended. `constants`: values in place of the
  // preset's. Throws input_error.
  void add(const experiment& e, compared_series& s, const knob_values& constants = {});
  [[nodiscard]] std::uint64_t points() const { return work_.size(); }
  // Runs everything; false = interrupted.
  bool run(unsigned jobs, int stop_fd);

 private:
  struct replayed {
    study runs;
    compared_series* series;
    double factor;  // from the value of the study to the base unit
  };
  struct piece {
    replayed* of;
    std::uint64_t point;
  };

  std::string in_child(std::uint64_t id) const;
  void take(const piece& p, const point_record& r) const;

  std::filesystem::path folder_;
  std::string preset_;
  platform_factory machine_;
  std::deque<std::unique_ptr<replayed>> studies_;
  std::vector<piece> work_;
};

}  // namespace hcasim
