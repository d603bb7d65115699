// Waveforms of Verilated designs as FST: takes the VCD that Verilator's code writes, and no VCD reaches the disk. So every
// design with WAVES can write either, whichever a run asks for.
#pragma once

#include <memory>

class VerilatedVcdFile;

namespace hcasim::rtl {

// Returns a file for a VerilatedVcdC, for opening by name and closing. Like VerilatedVcdFile, it goes on after a failed write.
std::unique_ptr<VerilatedVcdFile> fst_waves();

}  // namespace hcasim::rtl
