#include "testbenches/program/study/slurm_executor.h"
#include "testbenches/program/places/places.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "testbenches/program/description/own_program.h"
#include "testbenches/program/execution/interrupt.h"
#include "testbenches/program/study/point_pool.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr std::uint64_t most_tasks = 1000;  // Slurm's own limit (MaxArraySize) unless a site has set it
constexpr int tick_ms = 200;
constexpr milliseconds first_look(1000);
constexpr milliseconds last_look(10'000);

std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string last_line(const fs::path& file) {
  std::ifstream in(file);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

slurm_executor::slurm_executor(const study& s, const fs::path& folder, slurm_options o, int stop_fd)
    : study_(s),
      folder_(fs::canonical(folder) / "slurm"),
      options_(std::move(o)),
      stop_fd_(stop_fd),
      slurm_(fmt::format("hcasim-{:016x}", std::hash<std::string>{}(folder_.path().string()))) {}

bool slurm_executor::stopped(int wait_ms) const {
  pollfd f{stop_fd_, POLLIN, 0};
  return ::poll(&f, 1, wait_ms) > 0;
}

bool slurm_executor::run(std::set<std::uint64_t> missing) {
  missing_ = std::move(missing);
  try {
    collect();
    const bool ended = rounds();
    if (ended) folder_.remove();
    return ended;
  } catch (...) {
    slurm_.cancel();
    throw;
  }
}

bool slurm_executor::rounds() {
  while (!missing_.empty()) {
    const std::size_t before = missing_.size();
    const bool ours = !adopt();
    if (ours) submit();
    if (!follow()) {
      slurm_.cancel();
      collect();
      return false;
    }
    if (ours && missing_.size() == before) {
      throw input_error(
          fmt::format("the tasks of Slurm's job {} ended before their first point: {}; nothing that was finished "
                      "is lost: mend it and go on with --resume",
                      job_, complaint_));
    }
  }
  return true;
}

// A job of an earlier sweep into this folder that was killed, while Slurm went on.
bool slurm_executor::adopt() {
  if (const std::string error = slurm_.active(active_); !error.empty()) {
    throw input_error(fmt::format("Slurm does not answer (squeue): {}; nothing is lost: go on later with --resume", error));
  }
  const auto tasks = folder_.tasks(study_);
  if (active_.empty() || !tasks) return false;
  tasks_ = *tasks;
  job_ = active_.begin()->second.job;
  absent_.clear();
  std::cerr << fmt::format("going on with job {} of Slurm\n", job_);
  return true;
}

void slurm_executor::submit() {
  const std::uint64_t each =
      options_.points_per_task ? options_.points_per_task : (missing_.size() + most_tasks - 1) / most_tasks;
  tasks_.clear();
  for (const std::uint64_t id : missing_) {
    if (tasks_.empty() || tasks_.back().size() == each) tasks_.emplace_back();
    tasks_.back().push_back(id);
  }
  folder_.begin(study_, tasks_);
  const std::string limit = options_.time_limit.empty() ? "" : " --time-limit " + in_quotes(options_.time_limit);
  write_text(folder_.script(), fmt::format("#!/bin/sh\nexec {} sweep {} --slurm-task {}{}\n", in_quotes(own_program().string()),
                                           in_quotes(study_.file().string()), in_quotes(folder_.path().string()), limit));
  absent_.clear();
  job_ = slurm_.submit(tasks_.size(), options_.at_once, options_.sbatch, folder_.script().string(), folder_.log("%a").string());
}

void slurm_executor::collect() {
  for (const std::uint64_t id : folder_.ended()) {
    if (!missing_.contains(id)) continue;
    auto record = folder_.take(id);
    if (!record) continue;
    done(std::move(*record));
    missing_.erase(id);
    folder_.forget(id);
  }
}

// A task has ended with points missing: the points under way have crashed, the others go into the next round.
void slurm_executor::task_ended(std::size_t task) {
  std::string why;
  for (const std::uint64_t id : tasks_[task]) {
    if (!missing_.contains(id)) continue;
    if (why.empty()) {
      why = slurm_client::end_of(job_, task);
      const std::string said = last_line(folder_.log(std::to_string(task)));
      if (!said.empty()) why += "; it said: " + said;
      complaint_ = why;
    }
    if (!folder_.begun(id)) continue;
    missing_.erase(id);
    done(lost_point(study_, id, "crashed", fmt::format("its task ended early: {}", why)));
  }
}

void slurm_executor::look() {
  if (!slurm_.active(active_).empty()) {
    status_ = "Slurm does not answer";
    return;
  }
  std::size_t running = 0;
  std::string reason;
  for (const auto& [task, a] : active_) {
    absent_.erase(task);
    running += a.state == "RUNNING";
    if (a.state != "RUNNING" && a.reason != "None") reason = a.reason;
  }
  status_ = fmt::format("{} tasks running, {} waiting{}", running, active_.size() - running,
                        reason.empty() ? "" : fmt::format(" ({})", reason));
  collect();
  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    if (active_.contains(task)) continue;
    // A file that another node wrote may be seen a little later.
    if (++absent_[task] == 2) task_ended(task);
  }
}

bool slurm_executor::follow() {
  auto interval = first_look;
  auto next = std::chrono::steady_clock::now() + interval;
  for (;;) {
    collect();
    if (missing_.empty()) return true;
    const bool over = absent_.size() == tasks_.size() &&
                      std::all_of(absent_.begin(), absent_.end(), [](const auto& a) { return a.second >= 2; });
    if (over) return true;
    idle(status_);
    if (stopped(tick_ms)) return false;
    if (std::chrono::steady_clock::now() < next) continue;
    look();
    interval = std::min(interval * 5 / 4, last_look);
    next = std::chrono::steady_clock::now() + interval;
  }
}

int run_slurm_task(const study& s, platform_factory machine, const fs::path& path, std::optional<ps> time_limit) {
  const auto number = [](const char* name, std::size_t otherwise) -> std::size_t {
    const char* text = std::getenv(name);
    return text && *text ? std::stoul(text) : otherwise;
  };
  const slurm_job_folder folder(path);
  const auto tasks = folder.tasks(s);
  const std::size_t task = number("SLURM_ARRAY_TASK_ID", SIZE_MAX);
  if (!tasks) {
    throw input_error(
        fmt::format("'{}' has no tasks of this study and this version of the program ({}); has one of them "
                    "changed since the sweep began?",
                    path.string(), places::version));
  }
  if (task >= tasks->size()) throw input_error("--slurm-task: only a task of an array job of Slurm that 'sweep' made has it");
  const std::vector<std::uint64_t>& points = (*tasks)[task];
  for (const std::uint64_t id : points) fs::remove_all(point_pool::scratch(path, id));  // leftovers of a killed task

  const interrupt_watch watch;
  point_pool pool(
      s, machine, path,
      {.jobs = static_cast<unsigned>(number("SLURM_CPUS_PER_TASK", 1)), .time_limit = time_limit, .stop_fd = watch.fd()});
  std::size_t at = 0;
  pool.next = [&]() -> std::optional<std::uint64_t> {
    while (at < points.size()) {
      const std::uint64_t id = points[at++];
      if (!folder.has(id)) return id;
    }
    return std::nullopt;
  };
  pool.knows_catalogue = [&](const std::string& hash) { return folder.knows_catalogue(hash); };
  pool.done = [&](point_record r, const point_cost&) { folder.put(r); };
  return pool.run() ? run_passed : interrupt_watch::exit_status();
}

}  // namespace hcasim
