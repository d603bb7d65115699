// `hcasim trace`: a part of a waveform file, by pattern and time, as VCD or FST.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "testbenches/program/recording/waves.h"

namespace hcasim {

struct convert_options {
  std::filesystem::path from;         // told VCD or FST by what it holds
  std::filesystem::path to;           // by its ending
  std::vector<std::string> patterns;  // empty = every signal
  wave_window window;
  bool force = false;  // replace `to`
};

// Throws input_error; then `to` is as it was.
struct converted_waves {
  std::string format;  // vcd, fst
  std::size_t signals = 0;
  ps begin{0};
  ps end{0};
};

converted_waves convert_waves(const convert_options& options);

}  // namespace hcasim
