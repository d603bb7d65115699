#include "testbenches/program/validation/replay.h"

#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/processes/pool.h"
#include "testbenches/program/study/point.h"
#include "testbenches/program/study/progress.h"

namespace hcasim {
namespace fs = std::filesystem;

namespace {

std::string changed_preset(const std::string& preset, const knob_values& constants) {
  std::string out = preset.empty() ? "" : fmt::format("include: {}\n", preset);
  for (const auto& [path, value] : constants) out += fmt::format("{}: {}\n", path, value);
  return out;
}

}  // namespace

void replay::add(const experiment& e, compared_series& s, const knob_values& constants) {
  std::vector<const published_point*> points;
  for (const compared_point& p : s.points) points.push_back(p.published);
  const fs::path file = folder_ / fmt::format("{}_{}.yaml", e.name(), studies_.size() + 1);
  std::string preset = preset_.empty() ? s.replay->preset : preset_;
  if (!constants.empty()) {
    fs::path changed = file;
    changed.replace_extension("preset.yaml");
    write_file(changed, changed_preset(preset, constants));
    preset = fs::absolute(changed).string();
  }
  write_file(file, e.study_text(*s.replay, points, preset));
  const double factor = find_unit(s.replay->unit)->factor;
  auto made = std::make_unique<replayed>(replayed{study(file, machine_), &s, factor});
  for (std::uint64_t id = 1; id <= made->runs.points(); ++id) work_.push_back({made.get(), id});
  studies_.push_back(std::move(made));
}

std::string replay::in_child(std::uint64_t id) const {
  const piece& p = work_[id];
  const fs::path scratch = folder_ / fmt::format("point-{}.running", id);
  fs::create_directories(scratch);
  point_record r = run_point(p.of->runs, p.point, machine_, scratch, [](const std::string&) { return true; });
  std::error_code left;
  fs::remove_all(scratch, left);
  return encode(r);
}

// A point with a choice keeps the best: the shortest time, the highest rate.
void replay::take(const piece& p, const point_record& r) const {
  const std::vector<std::size_t> at = p.of->runs.coordinates(p.point);
  compared_point& to = p.of->series->points[at.front()];
  if (!r.metric_error.empty()) throw input_error(r.metric_error);
  const nlohmann::json metrics = r.metrics.empty() ? nlohmann::json::object() : nlohmann::json::parse(r.metrics);
  const auto value = metrics.find("value");
  if (r.status != "passed" || value == metrics.end() || !value->is_number()) {
    if (!to.model) to.problem = fmt::format("{}: {}", r.status, r.failures.empty() ? "no value" : r.failures);
    return;
  }
  const measured_unit unit = *find_unit(to.published->unit);
  const double model = value->get<double>() * p.of->factor / unit.factor;
  const bool shorter = unit.of == measured_unit::kind::time;
  if (to.model && (shorter ? model >= *to.model : model <= *to.model)) return;
  to.model = model;
  to.problem.clear();
  if (at.size() > 1) to.choice = p.of->runs.axes()[1].values[at[1]].label;
}

bool replay::run(unsigned jobs, int stop_fd) {
  process_pool pool({.jobs = jobs, .stop_fd = stop_fd}, [this](std::uint64_t id) { return in_child(id); });
  progress_bar progress(work_.size());
  progress.begin(0);
  std::uint64_t next = 0;
  // Outcomes come in the order of their ends, but of equally good choices the first is named.
  std::map<std::uint64_t, point_record> ended;
  pool.next = [&]() -> std::optional<std::uint64_t> {
    if (next == work_.size()) return std::nullopt;
    return next++;
  };
  pool.idle = [&] { progress.show(); };
  pool.done = [&](const piece_outcome& o) {
    point_record r;
    if (!decode(o.message, r)) {
      r.status = "crashed";
      r.failures = o.output;
    }
    progress.add(r.status == "passed");
    ended.emplace(o.id, std::move(r));
  };
  const bool all = pool.run();
  progress.end();
  for (const auto& [id, r] : ended) take(work_[id], r);
  return all;
}

}  // namespace hcasim
