// A GTKWave save file beside a VCD: one group per unit, a colour per kind of signal, enum values by name.
#pragma once

#include <filesystem>
#include <vector>

#include "models/base/units.h"
#include "testbenches/runner/vcd.h"

namespace hcasim {

// Writes `waves.gtkw` and `gtkwave/*.txt` (translate filters) into `folder`; `final_folder` is where they will be opened.
void write_gtkwave(const std::filesystem::path& folder, const std::filesystem::path& final_folder,
                   const std::vector<vcd_signal>& signals, ps end);

}  // namespace hcasim
