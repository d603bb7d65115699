#include "testbenches/program/study/trial.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/execution/interrupt.h"

namespace hcasim {

namespace fs = std::filesystem;

namespace {

class temporary_folder {
 public:
  temporary_folder() {
    std::error_code ec;
    path_ = fs::temp_directory_path(ec) / fmt::format("hcasim_trial_{}", ::getpid());
    if (!ec) fs::create_directories(path_, ec);
    if (ec)
      throw input_error(fmt::format("cannot make a temporary folder: {}", cause(ec.value(), "name another place in TMPDIR")));
  }
  ~temporary_folder() {
    std::error_code ec;
    fs::remove_all(path_, ec);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

std::optional<point_trial> try_point(const study& s, std::uint64_t id, platform_factory machine, std::optional<ps> time_limit) {
  const temporary_folder folder;
  const interrupt_watch watch;
  point_pool pool(s, machine, folder.path(), {.jobs = 1, .time_limit = time_limit, .stop_fd = watch.fd()});
  std::optional<point_trial> made;
  std::optional<std::uint64_t> next = id;
  pool.next = [&next] { return std::exchange(next, std::nullopt); };
  pool.knows_catalogue = [](const std::string&) { return true; };
  pool.done = [&made](const point_record& r, const point_cost& cost) {
    if (!r.metric_error.empty()) throw input_error(r.metric_error);
    made = {r.id, r.status, r.failures.empty() ? nlohmann::ordered_json::array() : nlohmann::ordered_json::parse(r.failures),
            cost};
  };
  pool.idle = [] {};
  if (!pool.run()) made.reset();
  return made;
}

study_cost cost_of(const point_trial& t, std::uint64_t points, unsigned jobs) {
  const std::uint64_t at_once = std::min<std::uint64_t>(points, std::max(1U, jobs));
  if (at_once == 0) return {};
  const std::uint64_t rounds = (points + at_once - 1) / at_once;
  return {t.cost.seconds * static_cast<double>(rounds), t.cost.peak_bytes * at_once};
}

}  // namespace hcasim
