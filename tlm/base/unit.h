// Base of every hardware unit: a SystemC module with statistics, watchable signals and the list of future work.
#pragma once

#include "tlm/base/event_queue.h"
#include "tlm/base/kernel.h"
#include "tlm/base/probe.h"
#include "tlm/base/statistics.h"

namespace hcasim {

class unit : public sc_core::sc_module {
 public:
  [[nodiscard]] const statistics& stats() const { return stats_; }
  [[nodiscard]] const probes& signals() const { return signals_; }

 protected:
  explicit unit(const sc_core::sc_module_name& name) : sc_module(name) {}

  statistics stats_;
  probes signals_;
  event_queue& queue_ = event_queue::instance();
};

}  // namespace hcasim
