#include "testbenches/program/places/places.h"

namespace hcasim::places {

const char* const version = HCASIM_VERSION;

}  // namespace hcasim::places
