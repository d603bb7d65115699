#include "testbenches/traffic/producer.h"

#include <algorithm>
#include <cmath>

namespace hcasim::traffic {

flow_producer::flow_producer(const planned_flow& f, std::uint64_t seed, const std::string& lane, double stretch,
                             std::shared_ptr<const zipf_ranks> ranks)
    : flow_(f),
      ranks_(std::move(ranks)),
      operations_(seed, lane + ".operations"),
      sizes_(seed, lane + ".sizes"),
      places_(seed, lane + ".places"),
      gaps_(seed, lane + ".gaps"),
      stretch_(stretch * f.options.burst),
      // QPs begin at different points of their first gap.
      arrived_(f.open() ? -gaps_.unit() * f.gap->mean() * stretch_ : 0) {
  for (const double w : f.options.weights) weights_ += w;
}

traffic::operation flow_producer::draw_operation() {
  double at = operations_.unit() * weights_;
  std::size_t last = 0;
  for (std::size_t i = 0; i < operations; ++i) {
    const double w = flow_.options.weights[i];
    if (w <= 0) continue;
    if (at < w) return static_cast<traffic::operation>(i);
    at -= w;
    last = i;
  }
  return static_cast<traffic::operation>(last);
}

void flow_producer::draw_place(message& m) {
  const flow_options& o = flow_.options;
  if (flow_.order.by == access_order::kind::in_turn) {
    m.region = static_cast<std::uint32_t>(turn_++ % o.regions);
    m.offset = 0;
    return;
  }
  m.region = static_cast<std::uint32_t>(ranks_ ? ranks_->draw(places_) : places_.below(o.regions));
  // Places are multiples of the longest message, and of an atomic's alignment.
  const std::uint64_t slot = (flow_.longest + 7) / 8 * 8;
  m.offset = places_.below(std::max<std::uint64_t>(1, o.region / slot)) * slot;
}

// Adds the pauses to the time of arrivals.
ps flow_producer::draw_arrival() {
  if (of_burst_ == 0) {
    arrived_ += flow_.gap->draw(gaps_) * stretch_;
    of_burst_ = flow_.options.burst;
  }
  --of_burst_;
  const double t = std::max(0.0, arrived_);
  const flow_options& o = flow_.options;
  if (o.on == never) return ps(static_cast<std::int64_t>(t));
  const auto on = static_cast<double>(o.on.count());
  return ps(static_cast<std::int64_t>(t + std::floor(t / on) * static_cast<double>(o.off.count())));
}

bool flow_producer::next(message& m) {
  m.operation = draw_operation();
  const double size = std::clamp(std::round(flow_.size.draw(sizes_)), 1.0, static_cast<double>(flow_.longest));
  m.size = is_sized(m.operation) ? static_cast<std::uint32_t>(size) : own_bytes(m.operation);
  draw_place(m);
  m.at = flow_.open() ? draw_arrival() : ps(0);
  return true;
}

}  // namespace hcasim::traffic
