#include "testbenches/runner/sweep/sweep.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <thread>

#include "testbenches/runner/interrupt.h"
#include "testbenches/runner/report.h"
#include "testbenches/runner/run.h"
#include "testbenches/runner/sweep/pool.h"
#include "testbenches/runner/sweep/progress.h"
#include "testbenches/runner/sweep/results.h"

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
    throw input_error(
        error == EWOULDBLOCK
            ? fmt::format("another sweep is running in '{}'; wait for it or choose another folder with -o", folder.string())
            : fmt::format("cannot use '{}': {}; choose another folder with -o", folder.string(), std::strerror(error)));
  }
  ~folder_lock() { ::close(fd_); }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

 private:
  int fd_;
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
        fmt::format("cannot write into '{}': {}; choose another folder with -o", o.folder.string(), ec.message()));
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

std::string why(const piece_outcome& o) {
  std::string text;
  if (o.timed_out) {
    text = fmt::format("stopped after {:.1f} s (--time-limit)", o.seconds);
  } else if (WIFSIGNALED(o.status)) {
    text = fmt::format("killed by signal {} ({})", WTERMSIG(o.status), ::strsignal(WTERMSIG(o.status)));
  } else {
    text = fmt::format("ended early with status {}", WEXITSTATUS(o.status));
  }
  std::string_view out = o.output;
  while (!out.empty() && out.back() == '\n') out.remove_suffix(1);
  if (!out.empty()) text += fmt::format("; it said: {}", out.substr(out.rfind('\n') + 1));
  return text;
}

// A point whose process did not come to its end.
point_record lost(const study& s, const piece_outcome& o) {
  point_record r;
  r.id = o.id;
  r.status = o.timed_out ? "timeout" : "crashed";
  r.version = program_version();
  r.axes = axes_json(s, o.id);
  r.seed = std::to_string(s.describe(o.id).seed());
  r.failures = ordered_json::array({why(o)}).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return r;
}

struct totals {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  double run_seconds = 0;  // of all points
};

class sweep {
 public:
  sweep(const sweep_options& o, const study& s, result_file& results, platform_factory machine)
      : o_(o), study_(s), results_(results), machine_(machine), progress_(s.points()) {}

  // False: interrupted.
  bool run(const interrupt_watch& watch) {
    finished_ = results_.finished(o_.retry);
    progress_.begin(finished_.size());
    const unsigned jobs = o_.jobs ? o_.jobs : std::max(1U, std::thread::hardware_concurrency());
    process_pool::options po{.jobs = jobs, .stop_fd = watch.fd()};
    if (o_.time_limit) po.time_limit = std::chrono::duration_cast<std::chrono::milliseconds>(*o_.time_limit);
    process_pool pool(po, [this](std::uint64_t id) { return in_child(id); });
    pool.next = [this]() -> std::optional<std::uint64_t> {
      while (next_ < study_.points()) {
        if (!finished_.contains(++next_)) return next_;
      }
      return std::nullopt;
    };
    pool.done = [this](const piece_outcome& o) { take(o); };
    pool.idle = [this] { progress_.show(); };
    const bool ended = pool.run();
    progress_.end();
    return ended;
  }

  [[nodiscard]] const totals& sums() const { return totals_; }

 private:
  [[nodiscard]] fs::path scratch(std::uint64_t id) const { return o_.folder / fmt::format("point-{}.running", id); }

  std::string in_child(std::uint64_t id) {
    fs::create_directories(scratch(id));
    point_record r = run_point(study_, id, machine_, scratch(id),
                               [this](const std::string& hash) { return results_.knows_catalogue(hash); });
    return encode(r);
  }

  void take(const piece_outcome& o) {
    std::error_code ec;
    fs::remove_all(scratch(o.id), ec);
    point_record r;
    if (!decode(o.message, r)) r = lost(study_, o);
    if (!r.metric_error.empty()) throw input_error(r.metric_error);
    results_.put(r);
    totals_.run_seconds += r.host.empty() ? o.seconds : ordered_json::parse(r.host)["wall_seconds"].get<double>();
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
  result_file& results_;
  platform_factory machine_;
  progress_bar progress_;
  totals totals_;
  std::set<std::uint64_t> finished_;
  std::uint64_t next_ = 0;
};

// Axes and metrics of the points, as a table.
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
  results.query(fmt::format("SELECT status{} FROM results ORDER BY id LIMIT {}", columns, shown + 1), [&](const auto& row) {
    std::vector<std::string> line;
    for (std::size_t i = 1; i < row.size(); ++i) {
      const bool axis = i <= s.axes().size();
      char* end = nullptr;
      const double v = std::strtod(row[i].c_str(), &end);
      const bool number = !row[i].empty() && *end == 0;
      line.push_back(axis ? row[i] : number ? number_text(v) : row[0] == "passed" ? "-" : row[0]);
    }
    rows.push_back(std::move(line));
  });
  const bool more = rows.size() > shown + 1;
  if (more) rows.pop_back();
  return aligned(rows, right) + (more ? fmt::format("  ... and so on: {} points in all\n", s.points()) : "");
}

void remove_leftovers(const fs::path& folder) {
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(folder, ec)) {
    const std::string name = e.path().filename();
    if (name.starts_with("point-") && name.ends_with(".running")) fs::remove_all(e.path(), ec);
  }
}

}  // namespace

int run_sweep(const sweep_options& o, platform_factory machine) {
  const auto begin = std::chrono::steady_clock::now();
  const study s(o.file, machine);
  if (s.points() > study::many_points && !o.many) {
    throw input_error(
        fmt::format("the axes of '{}' make {} points, more than {}; make them shorter, or add --many if you mean it",
                    o.file.string(), s.points(), study::many_points));
  }
  if (o.dry_run) {
    for (const study_axis& a : s.axes()) {
      std::cout << fmt::format("{}: {} values, {} to {}\n", a.name, a.values.size(), a.values.front().label,
                               a.values.back().label);
    }
    std::cout << fmt::format("{} points\n", s.points());
    return run_passed;
  }
  if (o.folder.empty()) throw input_error("where to? add -o DIR, a folder for the results");
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is an error like a full disk
  const bool there = prepare_folder(o);
  const folder_lock lock(o.folder);
  const fs::path file = o.folder / result_file::file_name;
  result_file results = there ? result_file::open(file, true) : result_file::create(file, s);
  if (there) {
    results.check_same(s);
    results.refresh(s);
    remove_leftovers(o.folder);
  }
  const interrupt_watch watch;
  sweep all(o, s, results, machine);
  bool ended = false;
  try {
    ended = all.run(watch);
  } catch (...) {
    remove_leftovers(o.folder);
    throw;
  }
  remove_leftovers(o.folder);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::uint64_t passed = 0;
  std::uint64_t rows = 0;
  results.query("SELECT count(*), total(status = 'passed') FROM points", [&](const auto& row) {
    rows = std::stoull(row[0]);
    passed = static_cast<std::uint64_t>(std::stod(row[1]));
  });
  if (o.json) {
    std::cout << dump({{"study", s.name()},
                       {"points", s.points()},
                       {"finished", rows},
                       {"passed", passed},
                       {"seconds", seconds},
                       {"run_seconds", all.sums().run_seconds},
                       {"results", fs::absolute(file).string()}});
  } else {
    std::cout << fmt::format("{}: {}\n\n{}\n", s.name(), s.question(), results_table(s, results));
    std::cout << fmt::format(
        "{} of {} points, {} passed; now {} in {:.1f} s, their own run times add up to {:.1f} s\nresults in  {}\n", rows,
        s.points(), passed, all.sums().passed + all.sums().failed, seconds, all.sums().run_seconds,
        fs::absolute(file).string());
  }
  if (!ended) {
    std::cerr << fmt::format("interrupted; 'hcasim sweep {} -o {} --resume' goes on\n", o.file.string(), o.folder.string());
    return interrupt_watch::exit_status();
  }
  return passed == rows ? run_passed : run_failed;
}

}  // namespace hcasim
