// Files that RTL writes in a run: waveforms and coverage of its inside, as the knobs `*.rtl.trace` and `*.rtl.coverage` name
// them. Runs beside each other, the points of a study and the trials of a what-if, have the same knobs.
#pragma once

#include <string>

#include "testbenches/program/description/knob_tree.h"

namespace hcasim {

// Takes the knobs back: the run leaves no such files.
void write_no_rtl_files(knob_tree& tree);
// Puts the files into the folder `part` of the knobs' folders.
void write_rtl_files_into(knob_tree& tree, const std::string& part);

}  // namespace hcasim
