// How ending_port.sv ends the run: HCASIM_TEST_ENDING is the name of it.
#include <cstdlib>
#include <string_view>

namespace {

std::string_view how() {
  const char* const name = std::getenv("HCASIM_TEST_ENDING");
  return name ? name : "";
}

// A shared object may end the process when it is loaded.
const struct at_load {
  at_load() {
    if (how() == "load") std::exit(0);
  }
} loaded;

}  // namespace

extern "C" int hcasim_test_ending() {
  if (how() == "exit") std::exit(0);
  if (how() == "abort") std::abort();
  return how() == "finish" ? 1 : how() == "stop" ? 2 : how() == "fatal" ? 3 : 0;
}
