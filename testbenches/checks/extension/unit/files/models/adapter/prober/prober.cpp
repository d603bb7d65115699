#include "models/adapter/prober/prober.h"

namespace hcasim {

prober::prober(const sc_core::sc_module_name& name, const prober_config& config) : unit(name), config_(config) {
  stats_.add("round_trip", "ps", "from a read to its answer", round_trip_);
  stats_.add("failed", "1", "reads of an address that could not be reached", failed_);
  signals_.add("under_way", 1, under_way_);
  if (config_.interval != 0_ps) later();
}

// A run does not go on for this alone.
void prober::later() {
  queue_.disregard(1);
  queue_.at(now() + config_.interval, {[](void* self) {
                                         auto& due = *static_cast<prober*>(self);
                                         due.queue_.disregard(-1);
                                         due.read();
                                       },
                                       this});
}

process prober::read() {
  dma_request r;
  r.source = dma_source::command;
  r.bytes = static_cast<std::uint32_t>(line_.size());
  r.data = line_.data();
  ps t = now();
  const ps begin = t;
  under_way_.set(1, t);
  co_await dma.request(r, t);
  under_way_.set(0, t);
  round_trip_.add(t - begin);
  if (r.failed) ++failed_;
  later();
}

}  // namespace hcasim
