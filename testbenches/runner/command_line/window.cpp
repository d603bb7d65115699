#include "testbenches/runner/command_line/window.h"

#include <fmt/format.h>

#include "testbenches/runner/description/errors.h"
#include "testbenches/runner/description/quantity.h"

namespace hcasim {
namespace {

ps time(const char* option, const std::string& text, ps otherwise) {
  try {
    return text.empty() ? otherwise : ps(static_cast<std::int64_t>(parse_quantity(knob_kind::time, text)));
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
