// The published measurements of the source tree and the descriptions that replay them.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "testbenches/program/validation/comparison.h"

namespace hcasim {

// A folder of its own for studies and points, removed at the end unless the user named it.
class work_folder {
 public:
  work_folder(const std::filesystem::path& named, const char* purpose);
  ~work_folder();
  work_folder(const work_folder&) = delete;
  work_folder& operator=(const work_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
  bool kept_;
};

using experiment_list = std::vector<std::unique_ptr<experiment>>;

// Returns the folder with the data and the descriptions. Throws input_error when there is none.
std::filesystem::path calibration_folder();
// Returns the points of published.csv and recent.csv.
published_data read_calibration();
// Reads all descriptions. A file among `names` comes instead of the description with its experiment.
experiment_list read_experiments(const std::vector<std::string>& names);
// Returns nullptr when there is no such experiment.
const experiment* find_experiment(const experiment_list& all, const std::string& name);
// Returns the names of the experiments to run; empty = all in the data.
std::set<std::string> wanted_experiments(const std::vector<std::string>& names, const experiment_list& all);
// Sorts the points into experiments and their series. Throws description_error at the line of a point that no description
// replays.
std::vector<compared_experiment> sort_points(const published_data& data, const experiment_list& all,
                                             const std::set<std::string>& wanted);

}  // namespace hcasim
