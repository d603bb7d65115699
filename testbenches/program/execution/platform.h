// The machine that testbenches run on, as the runner sees it: something with knobs. The `hcasim` program's machine is the
// system; the runner's own tests bring a small one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tlm/base/faults.h"
#include "tlm/base/knobs.h"

namespace hcasim {

struct system_config;

class platform {
 public:
  virtual ~platform() = default;

  virtual void knobs(knob_visitor& k) = 0;
  // Called once when all knobs are set: throws std::exception when values do not go together.
  virtual void check() {}
  virtual system_config* config() { return nullptr; }
  // Returns the places that can fail, and how.
  [[nodiscard]] virtual std::span<const fault_place> faults() const { return {}; }
  [[nodiscard]] virtual std::size_t nodes() const { return 0; }
  // Lists the units that are RTL, and how each was evaluated, which depends on the host's Verilator and is no result.
  [[nodiscard]] virtual std::vector<std::string> ways_of_rtl() const { return {}; }
};

using platform_factory = std::unique_ptr<platform> (*)();

}  // namespace hcasim
