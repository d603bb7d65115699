// Designs in the shapes of other projects, each attached by a few lines of hca_add_rtl, and their drivers.
#pragma once

#include <string>
#include <vector>

#include "tlm/base/random.h"
#include "tlm/rtl/shell.h"
#include "tlm/rtl/testing/clock_400.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl::shapes {

struct run_options {
  unsigned mutant = 0;  // a fault of the design that is active
  bool random_registers = false;
  shell_options shell;
};

struct shape {
  const char* name;
  design_factory make;
  // Runs random traffic; returns the first fault, or nothing.
  std::string (*run)(const run_options&);
};
const std::vector<shape>& all_shapes();

// Returns the same design with random initial registers, so that a missing reset shows.
inline design_factory with_random_registers(design_factory make) {
  static design_factory made_by;
  made_by = make;
  return [](unsigned) { return made_by(2); };
}

// A shell that keeps the first violation.
class bench_shell : public open_shell {
 public:
  std::string wrong;

  bench_shell(design_factory make, const run_options& o)
      : open_shell("rtl", clock_400, o.random_registers ? with_random_registers(make) : make, o.shell) {
    if (o.mutant > 0) design().mutate(o.mutant);
    on_violation = [this](const std::string& what) { expect(false, what.substr(what.find(": ") + 2)); };
  }
  void expect(bool right, const std::string& otherwise) {
    if (!right && wrong.empty()) wrong = otherwise;
  }
};

std::string run_axi_ram(const run_options&);
std::string run_axi_cdma(const run_options&);
std::string run_fifo_async(const run_options&);
std::string run_axi_crossbar(const run_options&);
std::string run_axis_frame_fifo(const run_options&);
std::string run_axil_registers(const run_options&);
std::string run_queue_manager(const run_options&);
std::string run_doorbell_fifo(const run_options&);
std::string run_axis_widen(const run_options&);
std::string run_dma_stream(const run_options&);

}  // namespace hcasim::rtl::shapes
