// One line declares a knob: name, where it lives, range, help; its default is the member's initial value.
//
//   struct walker_config {
//     std::uint32_t walkers = 4;
//     void knobs(knob_visitor& k) { k.count("walkers", walkers, 1, 64, "page-table walks in progress at once"); }
//   };
//
// Visitors read a description into the knobs, list them, or write the resolved values out. Cycles and time are never mixed:
// a knob is one or the other.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim {

enum class knob_kind { count, cycles, time, bytes, rate, clock, ratio, flag, choice, text, path };

struct knob {
  // A choice is seen as its current index into `choices`, behind a pair of functions that know the enum.
  struct selection {
    std::function<std::size_t()> get;
    std::function<void(std::size_t)> set;
  };
  using target =
      std::variant<std::uint32_t*, std::uint64_t*, double*, ps*, bit_rate*, frequency*, bool*, std::string*, selection>;

  std::string_view name;
  knob_kind kind;
  target value;
  double min;  // unit by kind: 1, cycles, ps, bytes, bit/s, Hz, 1
  double max;
  std::string_view help;
  std::vector<std::string_view> choices;  // kinds choice and path
};

class knob_visitor {
 public:
  virtual ~knob_visitor() = default;

  virtual void visit(knob k) = 0;
  // Enters and leaves a named group of knobs ("mrc_cache").
  virtual void enter(std::string_view name, std::string_view help) = 0;
  virtual void leave() = 0;

  template <class T>
  void group(std::string_view name, T& members, std::string_view help = {}) {
    enter(name, help);
    members.knobs(*this);
    leave();
  }
  void count(std::string_view name, std::uint32_t& v, double min, double max, std::string_view help) {
    visit({name, knob_kind::count, &v, min, max, help, {}});
  }
  void count(std::string_view name, std::uint64_t& v, double min, double max, std::string_view help) {
    visit({name, knob_kind::count, &v, min, max, help, {}});
  }
  void cycles(std::string_view name, double& v, double min, double max, std::string_view help) {
    visit({name, knob_kind::cycles, &v, min, max, help, {}});
  }
  void time(std::string_view name, ps& v, ps min, ps max, std::string_view help) {
    visit({name, knob_kind::time, &v, static_cast<double>(min.count()), static_cast<double>(max.count()), help, {}});
  }
  void bytes(std::string_view name, std::uint64_t& v, double min, double max, std::string_view help) {
    visit({name, knob_kind::bytes, &v, min, max, help, {}});
  }
  void rate(std::string_view name, bit_rate& v, bit_rate min, bit_rate max, std::string_view help) {
    visit({name, knob_kind::rate, &v, min.bits_per_second, max.bits_per_second, help, {}});
  }
  void clock(std::string_view name, frequency& v, frequency min, frequency max, std::string_view help) {
    visit({name, knob_kind::clock, &v, min.hertz, max.hertz, help, {}});
  }
  void ratio(std::string_view name, double& v, double min, double max, std::string_view help) {
    visit({name, knob_kind::ratio, &v, min, max, help, {}});
  }
  void flag(std::string_view name, bool& v, std::string_view help) { visit({name, knob_kind::flag, &v, 0, 1, help, {}}); }
  void text(std::string_view name, std::string& v, std::string_view help) {
    visit({name, knob_kind::text, &v, 0, 0, help, {}});
  }
  // Visits a knob that is one of `names`, or the path of a file; in a description, relative to the description's file.
  void path(std::string_view name, std::string& v, std::vector<std::string_view> names, std::string_view help) {
    visit({name, knob_kind::path, &v, 0, 0, help, std::move(names)});
  }
  // The enum's values are 0, 1, 2, ... in the order of `names`.
  template <class E>
  void choice(std::string_view name, E& v, std::initializer_list<std::string_view> names, std::string_view help) {
    visit({name, knob_kind::choice,
           knob::selection{[&v] { return static_cast<std::size_t>(v); }, [&v](std::size_t i) { v = static_cast<E>(i); }}, 0,
           static_cast<double>(names.size() - 1), help, names});
  }
};

}  // namespace hcasim
