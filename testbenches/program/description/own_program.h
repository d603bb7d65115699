// Finds the file of the running program.
#pragma once

#include <filesystem>

namespace hcasim {

// Returns the path without symbolic links; empty = unknown.
std::filesystem::path own_program();

}  // namespace hcasim
