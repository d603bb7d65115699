// Designs that may stand in a unit's place, by the kind of its shell (key_check, context_cache, page_walker, doorbell, device)
// and a name: those that the program registers, and those of shared objects (unit_object.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/rtl/implementation.h"
#include "tlm/rtl/shell.h"
#include "tlm/rtl/unit_object.h"

namespace hcasim::rtl {

// Registers a unit as a constant of the program: `const rtl::registered mine("key_check", "my_keys", rtl::make_my_keys);` The
// name `instrumented` is that of the project's own RTL with waveforms and coverage: `rtl` means it where they are asked for.
struct registered {
  registered(const char* kind, const char* name, design_factory make);
  registered(const char* kind, const char* name, whole_unit_maker make);
};

struct chosen {
  design_factory make = nullptr;
  whole_unit_maker whole = nullptr;
  shell_options options = {};
};
// For the unit `unit_name`; `own`: what `rtl` means, null = nothing. `knobs` as knobs_of gives them. Throws
// std::invalid_argument: there is no such name or file; it is not a shared object, or exports no unit, or one of another kind,
// version or layout, or one that does not take the knobs; a waveform is asked of a design that was built without.
chosen choose(std::string_view kind, const std::string& unit_name, const implementation& which, const rtl_knobs& how,
              design_factory own, const std::vector<std::string>& knobs);

// The same, of a unit that may also bring sockets of its own: one of `make` and `whole` is there.
chosen choose_any(std::string_view kind, const std::string& unit_name, const implementation& which, const rtl_knobs& how,
                  design_factory own, const std::vector<std::string>& knobs);

// "ways=8" for each knob of a configuration.
std::vector<std::string> knob_texts(const std::function<void(knob_visitor&)>& visit);
template <class Config>
std::vector<std::string> knobs_of(Config config) {
  return knob_texts([&config](knob_visitor& k) { config.knobs(k); });
}

// At the end of a run: the coverage, if it is asked for.
void write_coverage(design& of, const rtl_knobs& how, const std::string& unit_name);

}  // namespace hcasim::rtl
