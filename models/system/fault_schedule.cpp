#include "models/system/fault_schedule.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/system/faulty_units.h"
#include "tlm/base/delegate.h"
#include "tlm/rtl/shell.h"

namespace hcasim {

fault_schedule::fault_schedule(const sc_core::sc_object& top, const std::vector<fault_order>& orders, std::uint64_t seed) {
  if (orders.empty()) return;
  const auto units = faulty_units(top);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const fault_order& o = orders[i];
    const std::string which = "faults, entry " + std::to_string(i + 1) + ": ";
    const auto unit = std::find_if(units.begin(), units.end(), [&](const auto& u) { return u.first == o.where; });
    if (unit == units.end()) {
      const std::string name = std::string(top.name()) + "." + o.where;
      if (dynamic_cast<const rtl::shell*>(sc_core::sc_find_object(name.c_str()))) {
        throw std::invalid_argument(std::string(which)
                                        .append(o.where)
                                        .append(" is RTL here, which has no faults of its own; write ")
                                        .append(o.where)
                                        .append(".implementation: model"));
      }
      std::string known;
      for (const auto& u : units) known.append(known.empty() ? "" : ", ").append(u.first);
      throw std::invalid_argument(
          std::string(which).append("nothing can fail at '").append(o.where).append("'; write where: one of ").append(known));
    }
    const auto kinds = unit->second->fault_kinds();
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const fault_kind& k) { return k.name == o.what; });
    if (kind == kinds.end()) {
      std::string known;
      for (const fault_kind& k : kinds) known.append(known.empty() ? "" : ", ").append(k.name);
      throw std::invalid_argument(std::string(which)
                                      .append(o.where)
                                      .append(" knows no fault '")
                                      .append(o.what)
                                      .append("'; write what: one of ")
                                      .append(known));
    }
    const auto unused = [&](bool given, std::string_view key) {
      if (!given || kind->text.find("`" + std::string(key) + "`") != std::string_view::npos) return;
      throw std::invalid_argument(std::string(which).append(o.what).append(" has no ").append(key).append("; remove it"));
    };
    unused(o.count != 1, "count");
    unused(o.length != 0_ps, "length");
    const auto number = static_cast<std::size_t>(kind - kinds.begin());
    entries_.push_back({this, unit->second, number, o, random_stream(seed, "fault." + std::to_string(i))});
    plan(entries_.back(), o.at);
  }
}

void fault_schedule::plan(entry& e, ps when) {
  queue_.at(when, call_holder<&entry::self, &fault_schedule::fall_due>(e));
  queue_.disregard(1);
}

void fault_schedule::fall_due(entry& e) {
  queue_.disregard(-1);
  happen(e);
}

void fault_schedule::happen(entry& e) {
  ++e.account.times;
  e.account.last = now();
  e.unit->inject(e.kind, {.count = e.order.count, .length = e.order.length, .draw = e.random.next()});
  if (e.order.every <= 0_ps) return;
  constexpr std::uint64_t grain = 1 << 20;
  const double share = static_cast<double>(e.random.below(grain) + 1) / static_cast<double>(grain);
  const double gap = -std::log(share) * static_cast<double>(e.order.every.count());
  plan(e, now() + ps(std::max<std::int64_t>(1, static_cast<std::int64_t>(gap))));
}

std::vector<fault_account> fault_schedule::accounts() const {
  std::vector<fault_account> all;
  for (const entry& e : entries_) {
    all.push_back(e.account);
    all.back().order = &e.order;
    all.back().to_come = e.unit->to_come(e.kind);
  }
  return all;
}

}  // namespace hcasim
