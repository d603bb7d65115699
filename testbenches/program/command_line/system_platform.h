// The machine of the `hcasim` program: the system that a description sets up.
#pragma once

#include "testbenches/program/execution/platform.h"

namespace hcasim {

std::unique_ptr<platform> make_system_platform();

}  // namespace hcasim
