// Waveforms of Verilated designs as FST: takes the VCD that Verilator's code writes, and no VCD reaches the disk. So every
// INSTRUMENTED design can write either, whichever a run asks for.
#pragma once

#include <memory>
#include <string>

class VerilatedVcdFile;

namespace hcasim::rtl {

// Returns a file for a VerilatedVcdC, for opening by name and closing. Like VerilatedVcdFile, it goes on after a failed write.
std::unique_ptr<VerilatedVcdFile> fst_waves();
// Converts a VCD file written by fst_waves() to FST. Throws std::runtime_error.
void vcd_to_fst(const std::string& vcd, const std::string& fst);

}  // namespace hcasim::rtl
