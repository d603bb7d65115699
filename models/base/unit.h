// Base of every hardware unit: a SystemC module with statistics, watchable signals and one queue of future work.
#pragma once

#include "models/base/event_queue.h"
#include "models/base/kernel.h"
#include "models/base/probe.h"
#include "models/base/statistics.h"

namespace hcasim {

class unit : public sc_core::sc_module {
 public:
  [[nodiscard]] const statistics& stats() const { return stats_; }
  [[nodiscard]] const probes& signals() const { return signals_; }

 protected:
  explicit unit(const sc_core::sc_module_name& name) : sc_module(name), queue_("queue") {}

  statistics stats_;
  probes signals_;
  event_queue queue_;
};

}  // namespace hcasim
