#include "testbenches/runner/sweep/point_pool.h"

#include <sys/wait.h>

#include <cstring>

#include <fmt/format.h>

#include "testbenches/runner/report.h"
#include "testbenches/runner/run.h"
#include "testbenches/runner/sweep/pool.h"

namespace hcasim {

namespace fs = std::filesystem;

namespace {

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

}  // namespace

point_record lost_point(const study& s, std::uint64_t id, const std::string& status, const std::string& why) {
  point_record r;
  r.id = id;
  r.status = status;
  r.version = program_version();
  r.axes = axes_json(s, id);
  r.seed = std::to_string(s.describe(id).seed());
  r.failures = compact(nlohmann::ordered_json::array({why}));
  return r;
}

fs::path point_pool::scratch(const fs::path& folder, std::uint64_t id) {
  return folder / fmt::format("point-{}.running", id);
}

void point_pool::remove_leftovers(const fs::path& folder) {
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(folder, ec)) {
    const std::string name = e.path().filename();
    if (name.starts_with("point-") && name.ends_with(".running")) fs::remove_all(e.path(), ec);
  }
}

std::string point_pool::in_child(std::uint64_t id) {
  const fs::path at = scratch(folder_, id);
  fs::create_directories(at);
  point_record r = run_point(study_, id, machine_, at, knows_catalogue);
  std::error_code left;  // the sweep removes it at its end
  fs::remove_all(at, left);
  return encode(r);
}

bool point_pool::run() {
  process_pool::options po{.jobs = options_.jobs, .stop_fd = options_.stop_fd};
  if (options_.time_limit) po.time_limit = std::chrono::duration_cast<std::chrono::milliseconds>(*options_.time_limit);
  process_pool pool(po, [this](std::uint64_t id) { return in_child(id); });
  pool.next = next;
  pool.idle = idle;
  pool.done = [this](const piece_outcome& o) {
    point_record r;
    if (!decode(o.message, r)) {
      std::error_code ec;
      fs::remove_all(scratch(folder_, o.id), ec);
      r = lost_point(study_, o.id, o.timed_out ? "timeout" : "crashed", why(o));
    }
    done(std::move(r), o.cpu_seconds);
  };
  return pool.run();
}

}  // namespace hcasim
