// Functions that Verilator's library leaves to its user (VL_USER_FINISH, VL_USER_STOP, VL_USER_FATAL, VL_TIME_STAMP64,
// VL_PRINTF).
#include "tlm/rtl/verilated_run.h"

#include <verilated.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tlm/rtl/verilated_print.h"

namespace hcasim::rtl {

verilated_run* verilated_run::current = nullptr;

namespace {

// The last printed text: an assertion prints its failure right before it ends the run.
std::string printed;

// Without the folder, as assertions print it.
std::string place(const char* file, int line) {
  if (!file || !*file) return "an unknown line";
  const std::string_view path = file;
  return std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(line);
}

void end(const std::string& why) {
  Verilated::threadContextp()->gotFinish(true);
  if (verilated_run::current && verilated_run::current->why.empty()) verilated_run::current->why = why;
}

// Takes failure and text from "[0] %Error: x.sv:7: Assertion failed in top.u.name: text". Quotes hold the name together.
std::string failure(const std::string& at) {
  const std::string said = std::exchange(printed, {});
  constexpr const char* failed = ": Assertion failed in ";
  const std::size_t begin = said.find(at + failed);
  if (begin == std::string::npos) return "$stop at '" + at + "'";
  std::string name = said.substr(begin + at.size() + std::string_view(failed).size());
  while (!name.empty() && name.back() == '\n') name.pop_back();
  std::replace(name.begin(), name.end(), '\n', ' ');
  const std::size_t colon = name.find(": ");
  const std::string text = colon == std::string::npos ? std::string() : name.substr(colon);
  const char* const kind = said.find("%Fatal") < begin ? "$fatal in" : "assertion";
  return std::string(kind) + " '" + name.substr(0, colon) + ", " + at + "' failed" + text;
}

}  // namespace
}  // namespace hcasim::rtl

using hcasim::rtl::verilated_run;

int hcasim_verilated_print(const char* format, ...) {
  va_list arguments;
  va_list again;
  va_start(arguments, format);
  va_copy(again, arguments);
  char text[500];
  std::vsnprintf(text, sizeof text, format, again);
  va_end(again);
  hcasim::rtl::printed = text;
  const int n = std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  return n;
}

// Verilator's own version ends the process at the second call, with status 0.
void vl_finish(const char* file, int line, const char* /*scope*/) {
  hcasim::rtl::end("$finish at '" + hcasim::rtl::place(file, line) + "'");
}

void vl_stop(const char* file, int line, const char* /*scope*/) {
  Verilated::threadContextp()->gotError(true);
  hcasim::rtl::end(hcasim::rtl::failure(hcasim::rtl::place(file, line)));
}

// Must not return: its caller would go on for ever.
void vl_fatal(const char* file, int line, const char* /*scope*/, const char* message) {
  const std::string why = std::string(message) + " (" + hcasim::rtl::place(file, line) + ")";
  hcasim::rtl::end(why);
  throw std::runtime_error(why);
}

std::uint64_t vl_time_stamp64() {
  const verilated_run* const run = verilated_run::current;
  if (!run) return 0;
  std::uint64_t t = run->time;
  for (int p = -12; p < run->precision; ++p) t /= 10;
  for (int p = -12; p > run->precision; --p) t *= 10;
  return t;
}
