#include "testbenches/program/study/point_pool.h"
#include "testbenches/program/places/places.h"

#include <sys/wait.h>

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/processes/pool.h"
#include "testbenches/program/results/report.h"

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
  r.version = places::version;
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
  point_record r = run_point(study_, id, machine_, at, knows_catalogue);
  std::error_code left;
  for (const auto& e : fs::directory_iterator(at, left)) fs::remove_all(e.path(), left);
  return encode(r);
}

// A disk takes as long to make and to remove a folder as all else that a point costs here.
void point_pool::make_scratch(std::uint64_t id) {
  const fs::path at = scratch(folder_, id);
  std::error_code ec;
  if (!spares_.empty()) {
    fs::rename(scratch(folder_, spares_.back()), at, ec);
    spares_.pop_back();
    if (!ec) return;
  }
  fs::create_directories(at, ec);
  if (ec) {
    throw input_error(fmt::format("cannot make '{}': {}; nothing that was finished is lost; mend it and go on with --resume",
                                  at.string(), ec.message()));
  }
}

bool point_pool::run() {
  process_pool::options po{.jobs = options_.jobs, .stop_fd = options_.stop_fd};
  if (options_.time_limit) po.time_limit = std::chrono::duration_cast<std::chrono::milliseconds>(*options_.time_limit);
  process_pool pool(po, [this](std::uint64_t id) { return in_child(id); });
  pool.next = [this] {
    const auto id = next();
    if (id) make_scratch(*id);
    return id;
  };
  pool.idle = idle;
  std::error_code left;  // the sweep removes it at its end
  pool.done = [&](const piece_outcome& o) {
    point_record r;
    if (decode(o.message, r)) {
      if (fs::is_empty(scratch(folder_, o.id), left)) spares_.push_back(o.id);
      if (!r.catalogue.empty()) pool.refresh();
    } else {
      fs::remove_all(scratch(folder_, o.id), left);
      r = lost_point(study_, o.id, o.timed_out ? "timeout" : "crashed", why(o));
    }
    done(std::move(r), {o.seconds, o.cpu_seconds, o.peak_bytes});
  };
  const bool all = pool.run();
  for (const std::uint64_t id : std::exchange(spares_, {})) fs::remove_all(scratch(folder_, id), left);
  return all;
}

}  // namespace hcasim
