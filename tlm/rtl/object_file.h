// Shared objects as files.
#pragma once

#include <string>

namespace hcasim::rtl {

// Returns how much of an ELF file is missing at its end; empty = nothing, or no ELF file. The loader maps the pages promised by
// the headers, and a missing page would end the process.
std::string cut_off(const std::string& file);

}  // namespace hcasim::rtl
