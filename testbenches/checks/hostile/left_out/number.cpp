// Which check is left out while an ordinary test runs: HCASIM_LEFT_OUT.
#include <cstdlib>

#include "testbenches/checks/hostile/left_out/left_out.h"

namespace hcasim {

int left_out_check = std::getenv("HCASIM_LEFT_OUT") ? std::atoi(std::getenv("HCASIM_LEFT_OUT")) : 0;

}  // namespace hcasim
