#include "testbenches/scenarios/steady_state.h"

#include <cmath>
#include <utility>

#include "testbenches/program/results/hierarchy.h"
#include "tlm/base/unit.h"

namespace hcasim::kit {

std::map<std::string, steady_state::lookups> steady_state::totals() {
  std::map<std::string, lookups> out;
  for (const unit* u : all_units()) {
    std::map<std::string, double> counts;
    for (const statistic& s : u->stats().all()) {
      if (const auto* c = std::get_if<const counter*>(&s.value)) counts[s.name] = static_cast<double>((*c)->value());
    }
    if (counts.contains("hits") && counts.contains("misses") && counts.contains("evictions"))
      out[u->name()] = {counts["hits"], counts["misses"], counts["merged"], counts["evictions"]};
  }
  return out;
}

// The noise is three standard deviations of the difference of two sampled ratios.
bool steady_state::same_ratio(const lookups& a, const lookups& b) {
  if (a.all() == 0 || b.all() == 0) return a.all() == b.all();
  const double p = (a.hits + b.hits) / (a.all() + b.all());
  const double noise = 3 * std::sqrt(p * (1 - p) * (1 / a.all() + 1 / b.all()));
  return std::fabs(a.ratio() - b.ratio()) <= ratio_step + noise;
}

bool steady_state::reached(double messages_per_second) {
  bool steady = rate_ > 0 && std::fabs(messages_per_second / rate_ - 1) <= rate_step;
  rate_ = messages_per_second;
  const auto now_total = totals();
  const bool first = total_.empty();
  std::map<std::string, lookups> news;
  for (const auto& [name, t] : now_total) {
    const lookups before = total_[name];
    const lookups n{t.hits - before.hits, t.misses - before.misses, t.merged - before.merged, t.evictions - before.evictions};
    if (n.misses - n.evictions > most_filling * n.all() || !same_ratio(n, last_[name])) steady = false;
    news[name] = n;
  }
  total_ = now_total;
  last_ = std::move(news);
  agreed_ = steady && !first ? agreed_ + 1 : 0;
  return agreed_ >= stretches;
}

}  // namespace hcasim::kit
