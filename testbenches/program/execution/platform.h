// The machine under testbenches, as the runner sees it: something with knobs. The `hcasim` program's machine is the system; the
// runner's own tests bring a small one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tlm/base/faults.h"
#include "tlm/base/knobs.h"
#include "tlm/base/memories.h"

namespace hcasim {

class run_context;
class system;
struct system_config;

class platform {
 public:
  virtual ~platform() = default;

  virtual void knobs(knob_visitor& k) = 0;
  // Throws std::exception when values do not go together; called once, when all knobs are set.
  virtual void check() {}
  virtual system_config* config() { return nullptr; }
  // Elaborates the machine for `run`, which keeps it. Throws input_error when the description does not fit together.
  virtual system& build(run_context& run) = 0;
  // Declares the on-chip memories of the machine, as its knobs are set.
  virtual void memories(memory_list& /*to*/) const {}
  // Returns the places that can fail, and how.
  [[nodiscard]] virtual std::span<const fault_place> faults() const { return {}; }
  [[nodiscard]] virtual std::size_t nodes() const { return 0; }
  // Sets the number of nodes for a description that does not say any.
  virtual void set_nodes(std::size_t) {}
  // Lists the units that are RTL, and how each was evaluated, which depends on the host's Verilator and is no result.
  [[nodiscard]] virtual std::vector<std::string> ways_of_rtl() const { return {}; }
};

using platform_factory = std::unique_ptr<platform> (*)();

}  // namespace hcasim
