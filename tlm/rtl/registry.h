// Designs that may replace a unit, by the kind of its shell (key_check, context_cache, page_walker, doorbell, device) and a
// name. The program registers some designs, shared objects bring others (unit_object.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/rtl/implementation.h"
#include "tlm/rtl/shell.h"
#include "tlm/rtl/unit_object.h"

namespace hcasim::rtl {

// Registers a unit as a constant of the program: `const rtl::registered mine("key_check", "my_keys", rtl::make_my_keys)`.
// Two names belong to the project's own RTL: `instrumented` has waveforms, `covered` has coverage as well. `rtl` means these
// when a run requests waveforms or coverage.
struct registered {
  registered(const char* kind, const char* name, design_factory make);
  registered(const char* kind, const char* name, const whole_unit& unit);
};

struct chosen {
  design_factory make = nullptr;
  const whole_unit* whole = nullptr;
  shell_options options = {};
};
// Chooses the design for the unit `unit_name`; `own`: meaning of `rtl`, null = none; `knobs` from knobs_of. Throws
// std::invalid_argument on an unknown name or file, a file without a unit, or a unit of another kind, version or layout.
// Refused knobs, or a waveform of a design built without, throw it as well.
chosen choose(std::string_view kind, const std::string& unit_name, const implementation& which, const rtl_knobs& how,
              design_factory own, const std::vector<std::string>& knobs);

// Does the same for a unit that may also bring sockets of its own: exactly one of `make` and `whole` is set.
chosen choose_any(std::string_view kind, const std::string& unit_name, const implementation& which, const rtl_knobs& how,
                  design_factory own, const std::vector<std::string>& knobs);

// Returns "ways=8" for each knob of a configuration.
std::vector<std::string> knob_texts(const std::function<void(knob_visitor&)>& visit);
template <class Config>
std::vector<std::string> knobs_of(Config config) {
  return knob_texts([&config](knob_visitor& k) { config.knobs(k); });
}

}  // namespace hcasim::rtl
