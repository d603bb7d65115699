#include "testbenches/program/command_line/window.h"

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/quantity.h"

namespace hcasim {
namespace {

ps time(const char* option, const std::string& text, ps otherwise) {
  try {
    if (text.empty()) return otherwise;
    const long double t = parse_quantity(knob_kind::time, text);
    if (t < 0 || t > static_cast<long double>(never.count()))
      throw quantity_error(fmt::format("{} is out of range; allowed is 0 ns to never", text));
    return ps(static_cast<std::int64_t>(t));
  } catch (const quantity_error& e) {
    throw input_error(fmt::format("{}: {}", option, e.what()));
  }
}

}  // namespace

wave_window read_window(const std::string& from, const std::string& until) {
  const wave_window w{time("--from", from, ps(0)), time("--until", until, never)};
  if (w.until <= w.from) throw input_error("--until: not after --from, so nothing would be recorded");
  return w;
}

}  // namespace hcasim
