// hcasim report: what a study found out, or a run over time, as a page or as pictures.
#pragma once

#include <filesystem>

namespace hcasim {

struct report_options {
  std::filesystem::path results;  // folder, of a study or a run
  std::filesystem::path html;     // the page; empty = report.html in the results' folder, unless pictures are asked for
  std::filesystem::path compare;  // another folder of results over the same axes; empty = none
  std::filesystem::path svg;      // folder for one picture per chart; empty = none
  bool open = false;              // the page, in a browser
  bool json = false;
};

// Status 0; throws input_error.
int show_report(const report_options& options);

}  // namespace hcasim
