// Reads FST files, through the reader (fstapi) that Verilator ships.
#pragma once

#include <filesystem>

namespace hcasim {

class wave_listener;

// Throws input_error: the file is damaged, or holds real numbers or strings.
void read_fst(const std::filesystem::path& file, wave_listener& listener);

}  // namespace hcasim
