// hcasim diff A B: what is different between two runs, in their descriptions and in what came of them.
#pragma once

#include <filesystem>

namespace hcasim {

struct compare_options {
  std::filesystem::path a;  // folders of results, or result.json files
  std::filesystem::path b;
  double threshold = 0.01;  // statistics that changed by less, relatively, are left out
  bool json = false;
};

// Status 0: nothing differs; 1: something does. Throws input_error.
int compare_runs(const compare_options& options);

}  // namespace hcasim
