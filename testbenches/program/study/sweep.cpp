#include "testbenches/program/study/sweep.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <iostream>
#include <thread>
#include <utility>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/execution/interrupt.h"
#include "testbenches/program/results/durations.h"
#include "testbenches/program/results/report.h"
#include "testbenches/program/study/goal.h"
#include "testbenches/program/study/point_pool.h"
#include "testbenches/program/study/progress.h"
#include "testbenches/program/study/repetition.h"
#include "testbenches/program/study/results.h"
#include "testbenches/program/study/selection.h"
#include "testbenches/program/study/trial.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// Two sweeps into one folder would run the same points.
class folder_lock {
 public:
  explicit folder_lock(const fs::path& folder) : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
    const int error = errno;
    if (fd_ >= 0) ::close(fd_);
    if (error != EWOULDBLOCK) ::rmdir(folder.c_str());  // empty, if it was made for this sweep
    throw input_error(
        error == EWOULDBLOCK
            ? fmt::format("another sweep is running in '{}'; wait for it or choose another folder with -o", folder.string())
            : fmt::format("cannot use '{}': {}", folder.string(), cause(error, "choose another folder with -o")));
  }
  ~folder_lock() { ::close(fd_); }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

 private:
  int fd_;
};

// Removes the result file of a study that ended before any point, and the folder if otherwise empty.
class new_results {
 public:
  new_results(fs::path folder, bool there) : folder_(std::move(folder)), kept_(there) {}
  ~new_results() {
    std::error_code ec;
    if (kept_ || fs::exists(folder_ / "slurm", ec)) return;
    point_pool::remove_leftovers(folder_);
    for (const char* ending : {"", "-wal", "-shm", "-journal"}) {
      fs::remove(folder_ / (std::string(result_file::file_name) + ending), ec);
    }
    fs::remove(folder_, ec);
  }
  new_results(const new_results&) = delete;
  new_results& operator=(const new_results&) = delete;
  void keep() { kept_ = true; }

 private:
  fs::path folder_;
  bool kept_;
};

// The folder exists afterwards, and is ours: new, empty, or with a result file.
bool prepare_folder(const sweep_options& o) {
  std::error_code ec;
  const bool result = fs::exists(o.folder / result_file::file_name, ec);
  if (result && !o.resume) {
    throw input_error(
        fmt::format("'{}' already holds a study's results; add --resume to go on with it or choose another folder with -o",
                    o.folder.string()));
  }
  if (!result && o.resume) {
    throw input_error(fmt::format("there is nothing to resume in '{}'; leave --resume out to begin", o.folder.string()));
  }
  if (!result && fs::exists(o.folder, ec) && (!fs::is_directory(o.folder, ec) || !fs::is_empty(o.folder, ec))) {
    throw input_error(
        fmt::format("'{}' exists and is not the result of a study; choose another folder with -o", o.folder.string()));
  }
  fs::create_directories(o.folder, ec);
  if (!ec && ::access(o.folder.c_str(), W_OK) != 0) ec = std::error_code(errno, std::generic_category());
  if (ec)
    throw input_error(
        fmt::format("cannot write into '{}': {}", o.folder.string(), cause(ec.value(), "choose another folder with -o")));
  return result;
}

std::string settings_text(const study& s, std::uint64_t id) {
  std::string text;
  const auto at = s.coordinates(id);
  for (std::size_t i = 0; i < at.size(); ++i) {
    text += fmt::format("{}{} = {}", i ? ", " : "", s.axes()[i].name, s.axes()[i].values[at[i]].label);
  }
  return text;
}

struct totals {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  double run_seconds = 0;  // sum over all points: CPU time of their processes; with Slurm, wall-clock time
};

// Returns how many points run at once; 1 if only Slurm knows.
unsigned at_once(const sweep_options& o) {
  if (o.jobs || o.slurm) return std::max(1U, o.jobs);
  return std::max(1U, std::thread::hardware_concurrency());
}

class sweep {
 public:
  sweep(const sweep_options& o, const study& s, const point_selection& wanted, result_file& results, platform_factory machine)
      : o_(o), study_(s), wanted_(wanted), results_(results), machine_(machine), progress_(wanted.points()) {
    if (!s.goal()) return;
    goal_.emplace(s);
    goal_->keep_only([&](std::uint64_t id) { return wanted.holds(id); });
    progress_ = progress_bar(goal_->most());
  }

  // False = interrupted.
  bool run(const interrupt_watch& watch) {
    finished_ = results_.finished(o_.retry);
    progress_.begin(static_cast<std::uint64_t>(
        std::count_if(finished_.begin(), finished_.end(), [this](std::uint64_t id) { return wanted_.holds(id); })));
    const bool ended = o_.slurm ? in_slurm(watch) : here(watch);
    progress_.end();
    return ended;
  }

  [[nodiscard]] const totals& sums() const { return totals_; }
  [[nodiscard]] bool any_ended() const { return any_ended_; }
  // Returns the searches of a study with a goal; null = it has none.
  [[nodiscard]] const goal_seeker* goal() const { return goal_ ? &*goal_ : nullptr; }

 private:
  bool here(const interrupt_watch& watch) {
    point_pool pool(study_, machine_, o_.folder, {.jobs = at_once(o_), .time_limit = o_.time_limit, .stop_fd = watch.fd()});
    alone_ = finished_.empty();
    pool.next = [this]() -> std::optional<std::uint64_t> {
      if (alone_ && std::exchange(begun_, true)) return std::nullopt;
      return goal_ ? next_of_round() : next_point();
    };
    pool.knows_catalogue = [this](const std::string& hash) { return results_.knows_catalogue(hash); };
    pool.done = [this](const point_record& r, const point_cost& cost) { take(r, cost.cpu_seconds); };
    pool.idle = [this] { progress_.show(); };
    return goal_ ? seek(pool) : run_pool(pool);
  }
  // A metric that the first point does not have ends the sweep before another point begins.
  bool run_pool(point_pool& pool) {
    if (alone_ && !pool.run()) return false;
    alone_ = false;
    return pool.run();
  }
  bool seek(point_pool& pool) {
    for (std::vector<std::uint64_t> ids = goal_->next(); !ids.empty(); ids = goal_->next()) {
      for (const std::uint64_t id : ids) {
        if (finished_.contains(id))
          goal_->take(id, stored(id));
        else
          round_.push_back(id);
      }
      if (!round_.empty() && !run_pool(pool)) return false;
    }
    return true;
  }
  // Returns the goal's metric of a point that an earlier sweep ran.
  std::optional<double> stored(std::uint64_t id) {
    std::optional<double> value;
    results_.query(fmt::format("SELECT json_extract(metrics, '$.{}') FROM points WHERE id = {}", study_.goal()->metric, id),
                   [&](const auto& row) {
                     if (!row[0].empty()) value = std::stod(row[0]);
                   });
    return value;
  }
  std::optional<std::uint64_t> next_of_round() {
    if (round_.empty()) return std::nullopt;
    const std::uint64_t id = round_.front();
    round_.pop_front();
    return id;
  }
  std::optional<std::uint64_t> next_point() {
    while (next_ < wanted_.points()) {
      const std::uint64_t id = wanted_.point(next_++);
      if (!finished_.contains(id)) return id;
    }
    return std::nullopt;
  }

  bool in_slurm(const interrupt_watch& watch) {
    slurm_options job = o_.job;
    job.at_once = o_.jobs;
    slurm_executor slurm(study_, o_.folder, job, watch.fd());
    slurm.done = [this](const point_record& r) {
      take(r, r.host.empty() ? 0 : ordered_json::parse(r.host)["wall_seconds"].get<double>());
    };
    slurm.idle = [this](const std::string& tasks) { progress_.show(tasks); };
    std::set<std::uint64_t> missing;
    for (std::uint64_t n = 0; n < wanted_.points(); ++n) {
      if (const std::uint64_t id = wanted_.point(n); !finished_.contains(id)) missing.insert(missing.end(), id);
    }
    return slurm.run(std::move(missing));
  }

  void take(const point_record& r, double seconds) {
    if (!r.metric_error.empty()) throw input_error(r.metric_error);
    results_.put(r);
    any_ended_ = true;
    if (goal_) {
      const ordered_json metrics = r.metrics.empty() ? ordered_json::object() : ordered_json::parse(r.metrics);
      const ordered_json v = metrics.value(study_.goal()->metric, ordered_json());
      goal_->take(r.id, v.is_number() ? std::optional<double>(v.get<double>()) : std::nullopt);
    }
    totals_.run_seconds += seconds;
    ++(r.status == "passed" ? totals_.passed : totals_.failed);
    progress_.add(r.status == "passed");
    if (r.status == "passed") return;
    progress_.clear();
    for (const auto& f : ordered_json::parse(r.failures)) {
      std::cerr << fmt::format("point {} {} ({}; seed {}): {}\n", r.id, r.status, settings_text(study_, r.id), r.seed,
                               f.get<std::string>());
    }
    std::cerr << fmt::format("  again: hcasim run {} --point {}\n", study_.file().string(), r.id);
  }

  const sweep_options& o_;
  const study& study_;
  const point_selection& wanted_;
  result_file& results_;
  platform_factory machine_;
  progress_bar progress_;
  totals totals_;
  bool any_ended_ = false;
  std::set<std::uint64_t> finished_;
  std::uint64_t next_ = 0;
  bool alone_ = false;  // only one point may begin
  bool begun_ = false;
  std::optional<goal_seeker> goal_;
  std::deque<std::uint64_t> round_;  // points that the searches wait for
};

// Axes and metrics of the points, as a table; with `what_if` also what binds each point.
std::string results_table(const study& s, result_file& results) {
  constexpr std::size_t shown = 60;
  std::vector<std::vector<std::string>> rows(1);
  std::vector<bool> right;
  for (const study_axis& a : s.axes()) rows[0].push_back(a.title);
  for (const metric& m : s.metrics())
    rows[0].push_back(m.unit.empty() || m.unit == "1" ? m.title : fmt::format("{} [{}]", m.title, m.unit));
  right.assign(rows[0].size(), true);
  std::string columns;
  for (const study_axis& a : s.axes()) columns += fmt::format(", \"{}\"", a.name);
  for (const metric& m : s.metrics()) columns += fmt::format(", \"{}\"", m.name);
  const std::size_t numbers = rows[0].size();
  if (s.what_if_pattern()) {
    rows[0].emplace_back("binding");
    right.push_back(false);
    columns += ", (SELECT json_extract(gains, '$.binding') FROM what_ifs WHERE what_ifs.id = results.id)";
  }
  results.query(fmt::format("SELECT status{} FROM results ORDER BY id LIMIT {}", columns, shown + 1), [&](const auto& row) {
    std::vector<std::string> line;
    for (std::size_t i = 1; i < row.size(); ++i) {
      const bool axis = i <= s.axes().size();
      char* end = nullptr;
      const double v = std::strtod(row[i].c_str(), &end);
      const bool number = !row[i].empty() && *end == 0;
      line.push_back(axis || (i > numbers && !row[i].empty()) ? row[i]
                     : number                                 ? number_text(v)
                     : row[0] == "passed"                     ? "-"
                                                              : row[0]);
    }
    rows.push_back(std::move(line));
  });
  const bool more = rows.size() > shown + 1;
  if (more) rows.pop_back();
  return aligned(rows, right) + (more ? fmt::format("  ... and so on: {} points in all\n", s.points()) : "");
}

// Returns means over seeds, effects of a tornado and goals as text; empty = none is asked for.
std::string summaries_text(const study& s, result_file& results, const goal_seeker* goal) {
  std::string out = repetition_text(repetitions_of(results, s));
  for (const std::string& more : {tornado_text(tornado_effects(results, s)), goal ? goal->text() : std::string()}) {
    if (!out.empty() && !more.empty()) out += "\n";
    out += more;
  }
  return out;
}

void check_goal(const sweep_options& o, const study& s) {
  if (o.slurm)
    throw input_error("goal: the next point follows from the last, which an array job cannot do; leave --executor slurm out");
  const std::string& axis = s.axes()[s.goal()->axis].name;
  for (const std::string& place : o.at) {
    if (place.starts_with(axis + "="))
      throw input_error(fmt::format("--at {}: the goal is sought along {}; leave it out", place, axis));
  }
}

// Returns the points that will run; with a goal, the most of them.
std::uint64_t points_to_run(const study& s, const point_selection& wanted) {
  if (!s.goal()) return wanted.points();
  goal_seeker seeker(s);
  seeker.keep_only([&](std::uint64_t id) { return wanted.holds(id); });
  return seeker.most();
}

double mebibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

void print_plan_json(const sweep_options& o, const study& s, const point_selection& wanted, const point_trial& t) {
  ordered_json axes = ordered_json::object();
  for (const study_axis& a : s.axes()) {
    for (const axis_value& v : a.values) axes[a.name].push_back(v.label);
  }
  const study_cost all = cost_of(t, points_to_run(s, wanted), at_once(o));
  std::cout << dump({{"study", s.name()},
                     {"points", wanted.points()},
                     {"axes", axes},
                     {"trial",
                      {{"point", t.id},
                       {"status", t.status},
                       {"failures", t.failures},
                       {"seconds", t.cost.seconds},
                       {"MiB", mebibytes(t.cost.peak_bytes)}}},
                     {"estimate", {{"at_once", at_once(o)}, {"seconds", all.seconds}, {"MiB", mebibytes(all.peak_bytes)}}}});
}

// Prints the points of the study, and what they will cost if each takes as much as the one of the trial.
void print_plan(const sweep_options& o, const study& s, const point_selection& wanted, const point_trial& t) {
  for (const study_axis& a : s.axes())
    std::cout << fmt::format("{}: {} values, {} to {}\n", a.name, a.values.size(), a.values.front().label,
                             a.values.back().label);
  std::cout << fmt::format("{} points\n", wanted.points());
  const std::uint64_t points = points_to_run(s, wanted);
  if (s.goal())
    std::cout << fmt::format("at most {} of them run: the goal is sought along {}\n", points, s.axes()[s.goal()->axis].name);
  if (t.status != "passed") {
    std::cout << fmt::format("point {} {}: it would not pass\n", t.id, t.status);
    for (const auto& f : t.failures) std::cout << "  " << f.get<std::string>() << "\n";
  }
  const study_cost all = cost_of(t, points, at_once(o));
  std::cout << fmt::format("point {} took {:.2f} s and {:.0f} MiB; like it, all take {}, {} at once with {:.0f} MiB\n", t.id,
                           t.cost.seconds, mebibytes(t.cost.peak_bytes), duration_text(all.seconds),
                           std::min<std::uint64_t>(points, at_once(o)), mebibytes(all.peak_bytes));
}

int plan(const sweep_options& o, const study& s, const point_selection& wanted, platform_factory machine) {
  const std::optional<point_trial> t = try_point(s, wanted.point(0), machine, o.time_limit);
  if (!t) return interrupt_watch::exit_status();
  if (o.json)
    print_plan_json(o, s, wanted, *t);
  else
    print_plan(o, s, wanted, *t);
  return t->status == "passed" ? run_passed : run_failed;
}

// Opens the results of a study that was begun before.
result_file resumed_results(const sweep_options& o, const study& s) {
  result_file results = result_file::open(o.folder / result_file::file_name, true);
  results.check_same(s);
  results.refresh(s);
  point_pool::remove_leftovers(o.folder);
  if (!o.slurm) slurm_job_folder(o.folder / "slurm").remove();
  return results;
}

struct point_counts {
  std::uint64_t rows = 0;
  std::uint64_t passed = 0;
};

point_counts counts_of(result_file& results) {
  point_counts n;
  results.query("SELECT count(*), total(status = 'passed') FROM points", [&](const auto& row) {
    n = {std::stoull(row[0]), static_cast<std::uint64_t>(std::stod(row[1]))};
  });
  return n;
}

// Returns a line on points whose caches were still filling; empty = none.
std::string filling_points_text(result_file& results) {
  std::string text;
  results.query("SELECT count(*), min(id) FROM points WHERE status = 'passed' AND filling <> '[]'", [&](const auto& row) {
    if (row[0] != "0")
      text =
          fmt::format("{} points measured a cache that was still filling, point {} first; column 'filling' names the caches\n",
                      row[0], row[1]);
  });
  return text;
}

// A node of a metric may be missing in some points, but not in all that passed.
void check_nodes(const study& s, result_file& results) {
  for (const metric& m : s.metrics()) {
    const std::string node = node_of(m);
    if (node.empty()) continue;
    bool there = false;
    results.query("SELECT count(*), total(EXISTS (SELECT 1 FROM json_each(points.statistics) WHERE key LIKE '" + node +
                      ".%')) FROM points WHERE status = 'passed'",
                  [&](const auto& row) { there = row[0] == "0" || std::stod(row[1]) > 0; });
    if (!there)
      throw metric_error(m.where, "metrics." + m.name, fmt::format("no point has a {}; the first node is node0", node));
  }
}

void print_json(const study& s, const sweep& all, const ordered_json& goals, const point_counts& n, double seconds,
                const fs::path& file) {
  ordered_json summary{{"study", s.name()},
                       {"points", s.points()},
                       {"finished", n.rows},
                       {"passed", n.passed},
                       {"seconds", seconds},
                       {"run_seconds", all.sums().run_seconds},
                       {"results", fs::absolute(file).string()}};
  if (all.goal()) summary["goal"] = goals;
  std::cout << dump(summary);
}

void print_text(const study& s, result_file& results, const sweep& all, const point_counts& n, double seconds,
                const fs::path& file) {
  const std::string summaries = summaries_text(s, results, all.goal());
  std::cout << fmt::format("{}: {}\n\n{}\n", s.name(), s.question(), results_table(s, results));
  if (!summaries.empty()) std::cout << summaries << "\n";
  std::cout << filling_points_text(results);
  std::cout << fmt::format(
      "{} of {} points, {} passed; now {} in {:.1f} s, their own run times add up to {:.1f} s\nresults in  {}\n", n.rows,
      s.points(), n.passed, all.sums().passed + all.sums().failed, seconds, all.sums().run_seconds,
      fs::absolute(file).string());
}

void print_resume(const sweep_options& o) {
  std::string at;
  for (const std::string& place : o.at) at += fmt::format(" --at \"{}\"", place);
  std::cerr << fmt::format("interrupted; 'hcasim sweep {} -o {}{} --resume' goes on\n", o.file.string(), o.folder.string(), at);
}

}  // namespace

int run_sweep(const sweep_options& o, platform_factory machine) {
  const auto begin = std::chrono::steady_clock::now();
  const study s(o.file, machine);
  const point_selection wanted(s, o.at);
  if (wanted.points() > study::many_points && !o.many) {
    throw input_error(
        fmt::format("the axes of '{}' make {} points, more than {}; make them shorter, or add --many if you mean it",
                    o.file.string(), wanted.points(), study::many_points));
  }
  if (o.dry_run) return plan(o, s, wanted, machine);
  if (!o.slurm_task.empty()) return run_slurm_task(s, machine, o.slurm_task, o.time_limit);
  if (s.goal()) check_goal(o, s);
  if (o.folder.empty()) throw input_error("where to? add -o DIR, a folder for the results");
  if (o.slurm) slurm_client::require();
  if (o.before_points) o.before_points();
  const interrupt_watch watch;
  const bool there = prepare_folder(o);
  const folder_lock lock(o.folder);
  new_results made(o.folder, there);
  const fs::path file = o.folder / result_file::file_name;
  result_file results = there ? resumed_results(o, s) : result_file::create(file, s);
  sweep all(o, s, wanted, results, machine);
  bool ended = false;
  try {
    ended = all.run(watch);
  } catch (...) {
    point_pool::remove_leftovers(o.folder);
    if (all.any_ended()) made.keep();
    throw;
  }
  made.keep();
  point_pool::remove_leftovers(o.folder);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const point_counts n = counts_of(results);
  const ordered_json goals = all.goal() ? all.goal()->json() : ordered_json::array();
  results.put_summaries(s, goals);
  if (o.json)
    print_json(s, all, goals, n, seconds, file);
  else
    print_text(s, results, all, n, seconds, file);
  if (!ended) {
    print_resume(o);
    return interrupt_watch::exit_status();
  }
  check_nodes(s, results);
  return n.passed == n.rows ? run_passed : run_failed;
}

}  // namespace hcasim
