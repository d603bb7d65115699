// --from and --until: which part of simulated time is recorded.
#pragma once

#include <string>

#include "testbenches/program/recording/waves.h"

namespace hcasim {

// Empty = from the beginning, to the end. Throws input_error: no time, or nothing lies between them.
wave_window read_window(const std::string& from, const std::string& until);

}  // namespace hcasim
