// Marks in the comments of presets. "fitted to V01, V02" stands behind a constant. "validated: V01, V04" stands on a line of
// its own and names the experiments within whose tolerance the preset claims to be.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace hcasim {

struct preset_marks {
  std::string name;
  std::string crc;  // of the file; of included files behind it, joined by '+'
  struct constant {
    std::string text;  // "read_tags: 34"
    std::set<std::string> experiments;
  };
  std::vector<constant> fitted;
  std::set<std::string> validated;

  // Returns the constants fitted to the experiment.
  [[nodiscard]] std::vector<std::string> fitted_to(const std::string& experiment) const;
};

// Reads the preset and its included files. Throws input_error when there is no such preset.
preset_marks read_marks(const std::string& preset);

}  // namespace hcasim
