#include "testbenches/program/study/point.h"
#include "testbenches/program/places/places.h"

#include <charconv>

#include "testbenches/program/description/resolved.h"
#include "testbenches/program/execution/execute.h"
#include "testbenches/program/execution/prepare.h"
#include "testbenches/program/execution/rtl_files.h"
#include "testbenches/program/execution/what_if.h"
#include "testbenches/program/recording/resources.h"
#include "testbenches/program/recording/statistics_series.h"
#include "testbenches/program/results/cost.h"
#include "testbenches/program/results/filling.h"
#include "testbenches/program/results/hierarchy.h"
#include "testbenches/program/results/report.h"
#include "testbenches/program/results/statistics_report.h"
#include "testbenches/program/study/breakdown.h"
#include "testbenches/program/study/metric_check.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view mark = "hcasim point 1\n";

// Statistics by unit, without the words: {"node0.hca.key_check": {"hits": 12, "latency": {"count": ...}}}.
ordered_json by_short_name(const measurement& m, ordered_json& catalogue) {
  ordered_json out = ordered_json::object();
  const ordered_json bare = bare_statistics(m, m.measured());
  for (const auto& [unit_name, list] : bare.items()) out[short_name(unit_name)] = list;
  for (const measurement::entry& e : m.entries()) {
    const statistic& s = e.reader.of();
    catalogue.push_back({short_name(e.of->name()), s.name, unit_of(s, ""), s.help});
  }
  return out;
}

void fill(point_record& r, const study& s, const prepared_run& run, run_context& context, const point_breakdown& breakdown,
          const std::function<bool(const std::string&)>& knows) {
  const ps end = now();
  context.measurement().finish(end);
  const measurement& m = context.measurement();
  const ordered_json result = result_json(context.result());
  point_data data;
  data.axes = s.numbers(r.id);
  data.description = ordered_json::parse(r.description);
  memory_list memories;
  run.machine().memories(memories);
  data.cost = unit_costs(memories);
  data.breakdown = breakdown.json(context.result());
  data.series = series_json(context.folder() / statistics_series::file_name);
  ordered_json figure_units = ordered_json::object();
  data.figures = ordered_json::object();
  for (const auto& [name, f] : result["figures"].items()) {
    data.figures[name] = f["value"];
    figure_units[name] = f["unit"];
  }
  data.tables = result["tables"];
  ordered_json catalogue = ordered_json::array();
  data.statistics = by_short_name(m, catalogue);
  data.resources = ordered_json::array();
  std::vector<std::string> resources;
  for (const resource_use& u : resources_of(run.tree(), m, m.measured(), context.result().resources())) {
    resources.push_back(fmt::format("{}.{}", u.unit, u.name));
    if (u.utilisation > 0) data.resources.push_back({{"unit", u.unit}, {"resource", u.name}, {"utilisation", u.utilisation}});
  }
  r.status = context.result().passed() ? "passed" : "failed";
  r.simulated_ns = compact(to_ns(end));
  r.figures = compact(data.figures);
  r.units = compact(figure_units);
  r.tables = compact(data.tables);
  r.statistics = compact(data.statistics);
  r.resources = compact(data.resources);
  r.filling = compact(filling_json(still_filling(m, m.measured())));
  r.cost = compact(data.cost);
  r.breakdown = compact(data.breakdown);
  r.series = compact(data.series);
  r.failures = compact(result["failures"]);
  r.presets = compact(ordered_json(run.presets()));
  if (context.result().passed()) {
    try {
      check_resources(s.metrics(), resources, data.statistics);
      r.metrics = compact(metric_values(s.metrics(), data));
    } catch (const metric_error& e) {
      r.metric_error = e.what();
    }
  }
  std::string text = compact(catalogue);
  r.catalogue_hash = fmt::format("{:016x}", std::hash<std::string>{}(text));
  if (!knows(r.catalogue_hash)) r.catalogue = std::move(text);
}

// Returns the recorder of the statistics that metrics want over time; null = none does.
statistics_series* series_of(const study& s, const prepared_run& run, const std::filesystem::path& scratch) {
  series_options options = run.series();
  options.series = wanted_series(s.metrics());
  if (options.series.empty()) return nullptr;
  if (options.interval == never)
    throw metric_error({s.file().string(), 0, 0}, "metrics",
                       "a series needs its interval; write in the base for example statistics.interval: 10 us");
  return new statistics_series(options, scratch);
}

}  // namespace

std::string encode(point_record& r) {
  std::string out = fmt::format("{}{}\n", mark, r.id);
  r.each([&](const std::string& f) { out += fmt::format("{}\n", f.size()) + f; });
  return out + "end\n";
}

bool decode(std::string_view text, point_record& r) {
  if (!text.starts_with(mark)) return false;
  text.remove_prefix(mark.size());
  bool ok = true;
  const auto number = [&](std::uint64_t& n) {
    const std::size_t line = text.find('\n');
    if (line == std::string_view::npos) return false;
    const auto [end, error] = std::from_chars(text.data(), text.data() + line, n);
    if (error != std::errc{} || end != text.data() + line) return false;
    text.remove_prefix(line + 1);
    return true;
  };
  ok = number(r.id);
  r.each([&](std::string& f) {
    std::uint64_t size = 0;
    ok = ok && number(size) && size <= text.size();
    if (!ok) return;
    f = text.substr(0, size);
    text.remove_prefix(size);
  });
  return ok && text == "end\n";
}

std::string axes_json(const study& s, std::uint64_t id) {
  ordered_json out = ordered_json::object();
  const auto at = s.coordinates(id);
  for (std::size_t i = 0; i < at.size(); ++i) out[s.axes()[i].name] = s.axes()[i].values[at[i]].label;
  return compact(out);
}

point_record run_point(const study& s, std::uint64_t id, platform_factory machine, const std::filesystem::path& scratch,
                       const std::function<bool(const std::string&)>& knows) {
  const auto begin = std::chrono::steady_clock::now();
  point_record r;
  r.id = id;
  r.version = places::version;
  r.axes = axes_json(s, id);
  try {
    description d = s.describe(id);
    r.seed = std::to_string(d.seed());
    // Never deleted: taking a simulation apart costs more than ending its process.
    prepared_run& run = *new prepared_run(*d.testbench(), d.testbench_place(), machine);
    r.testbench = run.name();
    run.apply(d);
    r.description = compact(resolved_json(run.tree()));
    write_rtl_files_into(run.tree(), fmt::format("point_{}", id));
    // One job at a time: as many points as cores run at once.
    what_if* relieving = s.what_if_pattern() ? new what_if(d, run, machine, scratch, *s.what_if_pattern(), 1) : nullptr;
    point_breakdown& breakdown = *new point_breakdown(s.metrics());
    statistics_series* series = series_of(s, run, scratch);
    run_context& context = *new run_context(run.machine(), run.seed(), scratch, series);
    breakdown.measured_by(context.measurement());
    new metric_check(s.metrics());
    run_guarded(run.bench(), context);
    if (series && context.result().passed()) series->finish(context.measurement(), now());
    const host_speed speed = measure_host(context, all_units(), begin);
    fill(r, s, run, context, breakdown, knows);
    if (relieving && r.status == "passed") {
      const measurement& m = context.measurement();
      const auto busy = resources_of(run.tree(), m, m.measured(), context.result().resources());
      r.what_if = compact(what_if_gain_json(relieving->run(busy, all_units(), speed.wall)));
    }
    ordered_json host = speed.json();
    host["wall_seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    r.host = compact(host);
  } catch (const metric_error& e) {
    r.metric_error = e.what();
  } catch (const input_error& e) {
    r.status = "refused";
    r.failures = compact(ordered_json::array({e.what()}));
  }
  return r;
}

}  // namespace hcasim
