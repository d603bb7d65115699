// Where the program that runs lies.
#pragma once

#include <filesystem>

namespace hcasim {

// Without symbolic links; empty when the system does not say.
std::filesystem::path own_program();

}  // namespace hcasim
