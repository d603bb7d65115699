#include "testbenches/traffic/steadiness.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hcasim::traffic {

steadiness::steadiness(const plan& p, const std::vector<flow_record>& records) : plan_(p), records_(records) {
  for (const planned_flow& f : p.flows) {
    all_.push_back({.flow = f.name, .what = "message rate", .unit = "M/s", .means = {}});
    all_.push_back({.flow = f.name, .what = "mean latency", .unit = "us", .scale = 1e-6, .means = {}});
  }
}

const latency_histogram& steadiness::latency_of(std::size_t flow) const {
  return plan_.flows[flow].open() ? records_[flow].response() : records_[flow].latency();
}

void steadiness::advance() {
  const auto add = [](quantity& q, double over, double under) {
    q.means.add(over - q.over, under - q.under);
    q.over = over;
    q.under = under;
  };
  time_ += to_us(step);
  for (std::size_t f = 0; f < records_.size(); ++f) {
    const latency_histogram& h = latency_of(f);
    const auto messages = static_cast<double>(h.count());
    add(all_[2 * f], messages, time_);
    add(all_[2 * f + 1], h.mean() * messages, messages);
  }
}

bool steadiness::reached() const {
  return std::all_of(all_.begin(), all_.end(), [this](const quantity& q) { return q.means.steady(plan_.precision); });
}

bool steadiness::within() const {
  return std::all_of(all_.begin(), all_.end(), [this](const quantity& q) { return q.means.within(plan_.precision); });
}

double steadiness::relative_error(const quantity& q) {
  const double mean = q.means.mean();
  return mean == 0 ? std::numeric_limits<double>::infinity() : q.means.half_width() / std::fabs(mean);
}

const steadiness::quantity& steadiness::worst() const {
  return *std::max_element(all_.begin(), all_.end(),
                           [](const quantity& a, const quantity& b) { return relative_error(a) < relative_error(b); });
}

}  // namespace hcasim::traffic
