// Base of every hardware unit: a SystemC module with statistics, watchable signals and the list of future work.
#pragma once

#include "tlm/base/event_queue.h"
#include "tlm/base/kernel.h"
#include "tlm/base/probe.h"
#include "tlm/base/statistics.h"
#include "tlm/base/waiting.h"

namespace hcasim {

class unit : public sc_core::sc_module {
 public:
  [[nodiscard]] const statistics& stats() const { return stats_; }
  [[nodiscard]] const probes& signals() const { return signals_; }
  // Lists the requests that the unit holds; `completed` counts its completions for which software waits.
  virtual void list_waiting(waiting_list&) const {}
  [[nodiscard]] virtual std::uint64_t completed() const { return 0; }

 protected:
  explicit unit(const sc_core::sc_module_name& name) : sc_module(name) {}

  [[nodiscard]] std::string spot(const std::string& part) const { return std::string(name()).append(" ").append(part); }
  // Returns the name of the nearest unit of this name upwards in the hierarchy: a neighbour, or one of the node.
  [[nodiscard]] std::string nearest(const char* other) const;

  statistics stats_;
  probes signals_;
  event_queue& queue_ = event_queue::instance();
};

}  // namespace hcasim
