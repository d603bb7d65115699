// Reads VCD of any tool (IEEE 1364), and the values of ports in extended VCD.
#pragma once

#include <filesystem>

namespace hcasim {

class wave_listener;

// Throws input_error with the file's line: what is damaged, cut off or not read.
void read_vcd(const std::filesystem::path& file, wave_listener& listener);

}  // namespace hcasim
