#include "testbenches/program/validation/validate.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "testbenches/program/execution/interrupt.h"
#include "testbenches/program/results/report.h"
#include "testbenches/program/validation/calibration.h"
#include "testbenches/program/validation/fidelity.h"
#include "testbenches/program/validation/preset_marks.h"
#include "testbenches/program/validation/replay.h"

namespace hcasim {
namespace {

void add_marks(compared_experiment& e, const std::string& preset, std::vector<preset_marks>& marks) {
  std::set<std::string> presets;
  for (const compared_series& s : e.series) {
    if (const std::string& p = preset.empty() ? s.replay->preset : preset; !p.empty()) presets.insert(p);
  }
  std::set<std::string> fitted;
  for (const std::string& p : presets) {
    e.preset += (e.preset.empty() ? "" : ", ") + p;
    auto m = std::find_if(marks.begin(), marks.end(), [&](const preset_marks& k) { return k.name == p; });
    if (m == marks.end()) m = marks.insert(marks.end(), read_marks(p));
    e.claimed = e.claimed || m->validated.contains(e.of->name());
    for (std::string& c : m->fitted_to(e.of->name())) fitted.insert(std::move(c));
  }
  e.fitted.assign(fitted.begin(), fitted.end());
}

int status_of(const fidelity& f) {
  bool good = true;
  for (const compared_experiment& e : f.experiments) {
    if (e.claimed && e.result != fidelity_verdict::within) {
      std::cerr << fmt::format("{}: the preset {} claims this experiment, which is {}; correct its line 'validated'\n",
                               e.of->name(), e.preset, name_of(e.result));
      good = false;
    }
    for (const compared_series& s : e.series) {
      for (const compared_point& p : s.points) {
        if (p.problem.empty()) continue;
        std::cerr << fmt::format("{}, {}, x = {}: {}\n", e.of->name(), s.name, short_number(p.published->x), p.problem);
        good = false;
      }
    }
  }
  return good ? run_passed : run_failed;
}

}  // namespace

int run_validate(const validate_options& o, platform_factory machine) {
  const auto begin = std::chrono::steady_clock::now();
  const published_data data = o.csv.empty() ? read_calibration() : read_published(o.csv);
  const experiment_list all = read_experiments(o.experiments);
  fidelity f{.data = &data, .experiments = sort_points(data, all, wanted_experiments(o.experiments, all))};
  for (compared_experiment& e : f.experiments) add_marks(e, o.preset, f.presets);
  const interrupt_watch watch;
  const work_folder folder(o.folder, "validate");
  // The studies lie in another folder than the one that a file's name is relative to.
  const bool is_file = std::filesystem::is_regular_file(o.preset);
  replay runs(folder.path(), is_file ? std::filesystem::absolute(o.preset).string() : o.preset, machine);
  for (compared_experiment& e : f.experiments) {
    for (compared_series& s : e.series) {
      if (s.replay->not_expressible.empty()) runs.add(*e.of, s);
    }
  }
  if (!runs.run(o.jobs ? o.jobs : std::max(1U, std::thread::hardware_concurrency()), watch.fd()))
    return interrupt_watch::exit_status();
  for (compared_experiment& e : f.experiments) judge(e);
  const int status = status_of(f);
  if (!o.page.empty()) write_page(f, o.page);
  if (o.json) {
    std::cout << dump(fidelity_json(f));
  } else {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::cout << fidelity_text(f) << fmt::format("{} runs in {:.1f} s\n", runs.points(), seconds);
  }
  return status;
}

}  // namespace hcasim
