// A GTKWave save file beside a waveform: one group per unit, a colour per kind of signal, enum values by name, markers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "testbenches/program/recording/waves.h"
#include "tlm/base/units.h"

namespace hcasim {

// The part of the run that is in view when the file is opened.
struct gtkwave_marker {
  ps at;
  std::string name;
};
struct gtkwave_view {
  ps from{0};
  ps length = 5_us;
  std::vector<gtkwave_marker> markers = {};  // A, B, ...; at most 26
};

// Writes `waves.gtkw` for `waves` (a file name) and `gtkwave/*.txt` (translate filters) into `folder`; `final_folder` is where
// they will be opened.
void write_gtkwave(const std::filesystem::path& folder, const std::filesystem::path& final_folder, const std::string& waves,
                   const std::vector<wave_signal>& signals, gtkwave_view view);

}  // namespace hcasim
