// Shared objects as files.
#pragma once

#include <string>

namespace hcasim::rtl {

// Says how much of an ELF file is missing at its end; empty = nothing, or it is none. The loader maps what its headers promise,
// and a page that is not there would end the process.
std::string cut_off(const std::string& file);

}  // namespace hcasim::rtl
