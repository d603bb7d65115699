#include "testbenches/program/places/places.h"

namespace hcasim::places {

const char* const version = HCASIM_VERSION;
const char* const source = HCASIM_SOURCE_DIR;
const char* const traces = HCASIM_TRACES_DIR;
const char* const charts = HCASIM_BUILD_DIR "/report/node_modules/echarts/dist/echarts.min.js";
const char* const program = HCASIM_BUILD_DIR "/hcasim";
const char* const selftest = HCASIM_BUILD_DIR "/testbenches/hcasim_selftest";
const char* const conformance = HCASIM_BUILD_DIR "/testbenches/checks/conformance/conformance_test";

}  // namespace hcasim::places
