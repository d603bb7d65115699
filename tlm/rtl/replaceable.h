// A unit's place in its adapter. The knob `implementation` (tlm/rtl/registry.h) chooses the model, RTL in a shell with the
// model's sockets, or a unit of a shared object. The adapter meets their sockets under the same names.
//
// A unit names its candidates in one line:
//   using key_check_unit = rtl::replaceable<"key_check", key_check_boundary, key_check, key_check_rtl, make_key_check_design>;
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "tlm/base/unit.h"
#include "tlm/rtl/registry.h"

namespace hcasim::rtl {

// The kind of a unit in the registry, as an argument of a template.
template <std::size_t size>
struct unit_kind {
  char text[size];
  constexpr unit_kind(const char (&literal)[size]) { std::copy_n(literal, size, text); }  // NOLINT(google-explicit-constructor)
};

// A candidate that a unit lacks.
struct none {};

// Boundary: the unit `made`, its sockets, `of(unit)`, and the type `maker` if a unit may bring sockets of its own.
// A shell's constructor takes the arguments of the model's, then the design and the options. `own`: the design named `rtl`.
template <unit_kind kind, class Boundary, class Model, class Shell = none, design_factory own = nullptr>
class replaceable : public Boundary {
 public:
  // Throws std::invalid_argument as rtl::choose does, and as the shells do.
  template <class Config, class... More>
  replaceable(const sc_core::sc_object& adapter, const char* name, const Config& config, const More&... more)
      : Boundary(make(std::string(adapter.name()) + "." + name, name, config, more...)) {}

  // The unit that testbenches ask for statistics and signals.
  operator const unit&() const { return *this->made; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const statistics& stats() const { return this->made->stats(); }

 private:
  static constexpr bool has_model = !std::is_same_v<Model, none>;
  static constexpr bool has_shell = !std::is_same_v<Shell, none>;
  static constexpr bool has_maker = requires { typename Boundary::maker; };

  template <class Config, class... More>
  static Boundary make(const std::string& who, const char* name, const Config& config, const More&... more) {
    if constexpr (has_model) {
      if (config.implementation.is_model()) {
        if (config.of_rtl != rtl_knobs())
          throw std::invalid_argument(who + ".rtl: has no effect on a model; set implementation");
        return Boundary::of(std::make_unique<Model>(name, config, more...));
      }
    }
    const auto& choice = has_maker ? choose_any : choose;
    const chosen c = choice(kind.text, who, config.implementation, config.of_rtl, own, knobs_of(config));
    if constexpr (has_maker) {
      if (c.whole) return maker_of(who, *c.whole)(name, config, more...);
    }
    if constexpr (has_shell)
      return Boundary::of(std::make_unique<Shell>(name, config, more..., c.make, c.options));
    else
      throw std::invalid_argument(who + ".implementation: a design needs a shell, which this unit has not");
  }

  static auto maker_of(const std::string& who, const whole_unit& whole) {
    const auto* const its = dynamic_cast<const whole_unit_of<typename Boundary::maker>*>(&whole);
    if (!its) throw std::invalid_argument(who + ".implementation: is made in another way than this unit");
    return its->make;
  }
};

}  // namespace hcasim::rtl
