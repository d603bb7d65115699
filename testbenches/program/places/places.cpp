#include "testbenches/program/places/places.h"

namespace hcasim::places {

const char* const source = HCASIM_SOURCE_DIR;
const char* const program = HCASIM_BUILD_DIR "/hcasim";
const char* const selftest = HCASIM_BUILD_DIR "/testbenches/hcasim_selftest";
const char* const conformance = HCASIM_BUILD_DIR "/testbenches/checks/conformance/conformance_test";

}  // namespace hcasim::places
