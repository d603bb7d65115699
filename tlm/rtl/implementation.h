// The implementation in a unit's place, and how RTL is run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/base/knobs.h"

namespace hcasim {

// `model`, `rtl` (the project's own), or whatever else tlm/rtl/registry.h finds: a name, or the path of a shared object.
struct implementation {
  std::string name = "model";

  static const implementation model, rtl;
  [[nodiscard]] bool is_model() const { return name == "model"; }
  bool operator==(const implementation&) const = default;
};
inline const implementation implementation::model{"model"};
inline const implementation implementation::rtl{"rtl"};

struct rtl_knobs {
  double stall = 0;
  bool storms = false;
  std::uint64_t seed = 1;
  bool check_x = false;
  bool steps = true;
  std::string trace;
  ps trace_from{0};
  std::string coverage;

  bool operator==(const rtl_knobs&) const = default;
  void knobs(knob_visitor& k) {
    k.ratio("stall", stall, 0, 0.95, "each stream of the RTL stands still in this part of its cycles");
    k.flag("storms", storms, "and one transfer in 64 is held back for 160 cycles");
    k.count("seed", seed, 0, 1.8e19, "of the stalls");
    k.flag("check_x", check_x, "run a second copy whose registers begin as ones, and compare the control outputs of both");
    k.flag("steps", steps,
           "take the RTL step by step where that is proven to be the same; off: evaluate it as a whole at each edge");
    k.text("trace", trace, "folder for a waveform (VCD) of the inside of the RTL, or FOLDER/*.fst; empty: none");
    k.time("trace_from", trace_from, 0_ps, never, "when the waveform begins");
    k.text("coverage", coverage, "folder for the coverage of the RTL's lines and toggles; empty: none");
  }
};

// Values of the knob `implementation` of a unit of this kind besides a path: `first`, and the registered names.
namespace rtl {
std::vector<std::string_view> names_of(std::string_view kind, std::vector<std::string_view> first = {"model", "rtl"});
}

}  // namespace hcasim
