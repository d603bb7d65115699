// hcasim report: what a study found out, as pictures.
#pragma once

#include <filesystem>

namespace hcasim {

struct report_options {
  std::filesystem::path results;  // folder
  std::filesystem::path svg;      // folder for one picture per chart; empty: none
};

// Status 0; throws input_error.
int show_report(const report_options& options);

}  // namespace hcasim
