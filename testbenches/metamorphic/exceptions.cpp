#include "testbenches/metamorphic/exceptions.h"

#include <algorithm>
#include <span>

#include "testbenches/runner/description/names.h"

namespace hcasim::metamorphic {
namespace {

struct exception {
  const char* workload;
  const char* knob;
  double fall;
  const char* why;
};

// Falls with a physical reason, and what it is: {"workload", "node*.knob", 0.05, "why"}. There is none.
std::span<const exception> exceptions() {
  return {};
}

}  // namespace

double allowed_fall(std::string_view workload_name, std::string_view knob) {
  const auto all = exceptions();
  const auto it = std::find_if(all.begin(), all.end(), [&](const exception& e) {
    return glob_match(e.workload, workload_name) && glob_match(e.knob, knob);
  });
  return it == all.end() ? 0 : it->fall;
}

}  // namespace hcasim::metamorphic
