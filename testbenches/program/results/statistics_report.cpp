#include "testbenches/program/results/statistics_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

constexpr double percentiles[] = {50, 90, 99};

struct to_numbers {
  const statistic& s;
  const tally& t;

  std::vector<statistic_number> operator()(const counter*) const { return {{"", t.over}}; }
  std::vector<statistic_number> operator()(const histogram*) const {
    const histogram& h = t.samples;
    const double k = s.unit == "ps" ? 1e-3 : 1;
    const auto scaled = [k](std::uint64_t v) { return static_cast<double>(v) * k; };
    std::vector<statistic_number> out{
        {"count", static_cast<double>(h.count())}, {"mean", h.mean() * k}, {"min", scaled(h.min())}};
    for (const double p : percentiles) out.push_back({fmt::format("p{}", p), scaled(h.percentile(p))});
    out.push_back({"max", scaled(h.max())});
    return out;
  }
  std::vector<statistic_number> operator()(const level*) const {
    return {{"mean", t.ratio()}, {"peak", static_cast<double>(t.peak)}};
  }
  std::vector<statistic_number> operator()(const formula&) const { return {{"", t.value(s)}}; }
};

std::string shown_unit(const statistic& s) {
  return s.unit == "ps" ? "ns" : s.unit;
}

std::string value_text(const statistic& s, const tally& t) {
  const auto numbers = numbers_of(s, t);
  if (numbers.size() == 1) {
    const bool count = std::holds_alternative<const counter*>(s.value);
    return count ? fmt::format("{:.0f}", numbers[0].value) : number_text(numbers[0].value);
  }
  if (!std::holds_alternative<histogram*>(s.value)) {
    return fmt::format("mean {} peak {:.0f}", number_text(numbers[0].value), numbers[1].value);
  }
  if (t.samples.count() == 0) return "no samples";
  std::string out;
  for (const statistic_number& n : numbers) {
    if (n.name != "count") out += fmt::format("{} {} ", n.name, number_text(n.value));
  }
  return out + fmt::format("of {}", t.samples.count());
}

// Returns `entry_of` each statistic, by the units' names. A unit's statistics stand together.
template <class Entry>
ordered_json by_unit(const measurement& m, Entry&& entry_of) {
  std::map<const unit*, std::size_t> numbers;
  for (const measurement::entry& e : m.entries()) ++numbers[e.of];
  ordered_json out = roomy_object(numbers.size());
  auto& units = out.get_ref<ordered_json::object_t&>();  // a lookup would go through them all
  const unit* last = nullptr;
  for (std::size_t i = 0; i < m.entries().size(); ++i) {
    const measurement::entry& e = m.entries()[i];
    if (std::exchange(last, e.of) != e.of) units.emplace_back(e.of->name(), roomy_object(numbers.at(e.of)));
    units.back().second[e.reader.of().name] = entry_of(e, i);
  }
  return out;
}

std::string part_text(const measurement& m, const measurement::part& p) {
  std::string out;
  const unit* of = nullptr;
  std::vector<std::vector<std::string>> rows;
  const auto flush = [&] {
    if (of) out += fmt::format("{}\n{}\n", of->name(), aligned(rows, {false, false, false, false}));
    rows.clear();
  };
  for (std::size_t i = 0; i < m.entries().size(); ++i) {
    const measurement::entry& e = m.entries()[i];
    if (e.of != of) flush();
    of = e.of;
    const statistic& s = e.reader.of();
    rows.push_back({s.name, value_text(s, p.values[i]), shown_unit(s) == "1" ? "" : shown_unit(s), s.help});
  }
  flush();
  return out;
}

std::string heading(std::string_view what, const measurement::part& p, bool whole) {
  const std::string span = whole ? fmt::format("from {} to {} us", number_text(to_us(p.begin)), number_text(to_us(p.end)))
                                 : fmt::format("{} us in all", number_text(to_us(p.time)));
  return fmt::format("== {}: {} ==\n\n", what, span);
}

}  // namespace

std::vector<statistic_number> numbers_of(const statistic& s, const tally& t) {
  return std::visit(to_numbers{s, t}, s.value);
}

std::string unit_of(const statistic& s, std::string_view number) {
  return number == "count" ? "1" : shown_unit(s);
}

ordered_json statistics_json(const measurement& m, const measurement::part& p) {
  return by_unit(m, [&](const measurement::entry& e, std::size_t i) {
    const statistic& s = e.reader.of();
    const auto numbers = numbers_of(s, p.values[i]);
    constexpr std::size_t others = 3;
    ordered_json entry = roomy_object(numbers.size() + others);
    entry["unit"] = shown_unit(s);
    for (const statistic_number& n : numbers) entry[n.name.empty() ? "value" : n.name] = number(n.value);
    if (std::holds_alternative<level*>(s.value) && e.of->signals().has(s.signal)) entry["signal"] = s.signal;
    entry["help"] = s.help;
    return entry;
  });
}

ordered_json bare_statistics(const measurement& m, const measurement::part& p) {
  return by_unit(m, [&](const measurement::entry& e, std::size_t i) {
    const auto numbers = numbers_of(e.reader.of(), p.values[i]);
    if (numbers.size() == 1) return ordered_json(number(numbers[0].value));
    ordered_json entry = roomy_object(numbers.size());
    for (const statistic_number& n : numbers) entry[n.name] = number(n.value);
    return entry;
  });
}

ordered_json measured_json(const measurement& m) {
  ordered_json out{
      {"ns", to_ns(m.measured().time)}, {"begin_ns", to_ns(m.measured().begin)}, {"end_ns", to_ns(m.measured().end)}};
  if (m.parts().size() < 2) return out;
  for (const measurement::part& p : m.parts()) {
    out["parts"].push_back(
        {{"name", p.name}, {"begin_ns", to_ns(p.begin)}, {"end_ns", to_ns(p.end)}, {"statistics", bare_statistics(m, p)}});
  }
  return out;
}

ordered_json set_up_json(const measurement& m) {
  ordered_json out{{"ns", to_ns(m.set_up().time)}};
  if (m.marked()) out["statistics"] = bare_statistics(m, m.set_up());
  return out;
}

std::string statistics_text(const measurement& m) {
  if (!m.marked()) return heading("the whole run", m.measured(), true) + part_text(m, m.measured());
  std::string out = heading("the measured part", m.measured(), m.parts().size() == 1) + part_text(m, m.measured());
  if (m.parts().size() > 1) {
    for (const measurement::part& p : m.parts()) out += heading("measured: " + p.name, p, true) + part_text(m, p);
  }
  return out + heading("set-up, warm-up and end, which no figure covers", m.set_up(), false) + part_text(m, m.set_up());
}

}  // namespace hcasim
