#include "testbenches/program/validation/validate.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "testbenches/program/description/names.h"
#include "testbenches/program/description/shared_file.h"
#include "testbenches/program/execution/interrupt.h"
#include "testbenches/program/results/report.h"
#include "testbenches/program/validation/fidelity.h"
#include "testbenches/program/validation/preset_marks.h"
#include "testbenches/program/validation/replay.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

constexpr const char* data_file = "published.csv";

// Returns the folder with the data and the descriptions.
fs::path calibration_folder() {
  fs::path folder = shared_file("calibration");
  if (folder.empty())
    throw input_error("there is no share/hcasim/calibration above the program; name another share/hcasim in $HCASIM_PATH");
  return folder;
}

// A folder of its own for studies and points, removed at the end unless the user named it.
class work_folder {
 public:
  explicit work_folder(const fs::path& named) : folder_(named), kept_(!named.empty()) {
    if (!kept_) folder_ = fs::temp_directory_path() / fmt::format("hcasim_validate_{}", ::getpid());
    std::error_code ec;
    if (kept_ && fs::exists(folder_, ec) && (!fs::is_directory(folder_, ec) || !fs::is_empty(folder_, ec)))
      throw input_error(fmt::format("'{}' is there and not empty; choose another folder with -o", folder_.string()));
    fs::create_directories(folder_, ec);
    if (ec)
      throw input_error(fmt::format("cannot make '{}': {}; choose another folder with -o", folder_.string(), ec.message()));
  }
  ~work_folder() {
    std::error_code ec;
    if (!kept_) fs::remove_all(folder_, ec);
  }
  work_folder(const work_folder&) = delete;
  work_folder& operator=(const work_folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return folder_; }

 private:
  fs::path folder_;
  bool kept_;
};

bool is_description(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

using experiments = std::vector<std::unique_ptr<experiment>>;

experiments read_experiments(const validate_options& o) {
  std::set<fs::path> files;
  for (const auto& e : fs::directory_iterator(calibration_folder())) {
    if (e.path().extension() == ".yaml") files.insert(e.path());
  }
  experiments all;
  for (const fs::path& f : files) all.push_back(std::make_unique<experiment>(f));
  for (const std::string& named : o.experiments) {
    if (!is_description(named)) continue;
    auto own = std::make_unique<experiment>(fs::path(named));
    std::erase_if(all, [&](const auto& e) { return e->name() == own->name(); });
    all.push_back(std::move(own));
  }
  return all;
}

std::vector<std::string> names_of(const experiments& all) {
  std::vector<std::string> names;
  for (const auto& e : all) names.push_back(e->name());
  return names;
}

const experiment* find(const experiments& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& e) { return e->name() == name; });
  return found == all.end() ? nullptr : found->get();
}

// Returns the names of the experiments to run; empty = all in the data.
std::set<std::string> wanted_names(const validate_options& o, const experiments& all) {
  std::set<std::string> wanted;
  for (const std::string& named : o.experiments) {
    if (is_description(named)) {
      wanted.insert(experiment(fs::path(named)).name());
      continue;
    }
    const auto names = names_of(all);
    if (!find(all, named))
      throw input_error(fmt::format("there is no experiment '{}'; {}", named, suggestion(named, names, "experiments")));
    wanted.insert(named);
  }
  return wanted;
}

// Sorts the points into experiments and their series.
std::vector<compared_experiment> sorted(const published_data& data, const experiments& all,
                                        const std::set<std::string>& wanted) {
  std::vector<compared_experiment> out;
  for (const published_point& p : data.points) {
    if (!wanted.empty() && !wanted.contains(p.experiment)) continue;
    const experiment* const of = find(all, p.experiment);
    if (!of) {
      const auto names = names_of(all);
      throw description_error(
          p.where, "exp",
          fmt::format("no description replays '{}'; {}; or write one, and name its file on the command line", p.experiment,
                      suggestion(p.experiment, names, "experiments")));
    }
    auto e = std::find_if(out.begin(), out.end(), [&](const compared_experiment& c) { return c.of == of; });
    if (e == out.end()) e = out.insert(out.end(), compared_experiment{.of = of, .preset = ""});
    auto s = std::find_if(e->series.begin(), e->series.end(), [&](const compared_series& c) { return c.name == p.series; });
    if (s == e->series.end()) s = e->series.insert(e->series.end(), compared_series{p.series, &of->replay_of(p)});
    s->points.push_back({.published = &p});
    (void)of->replay_of(p);
  }
  for (const std::string& name : wanted) {
    if (std::none_of(out.begin(), out.end(), [&](const compared_experiment& e) { return e.of->name() == name; }))
      throw input_error(fmt::format("'{}' has no point of {}; name another file with --csv", data.file.string(), name));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.of->name() < b.of->name(); });
  return out;
}

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
  const published_data data = read_published(o.csv.empty() ? calibration_folder() / data_file : o.csv);
  const experiments all = read_experiments(o);
  fidelity f{.data = &data, .experiments = sorted(data, all, wanted_names(o, all))};
  for (compared_experiment& e : f.experiments) add_marks(e, o.preset, f.presets);
  const interrupt_watch watch;
  const work_folder folder(o.folder);
  replay runs(folder.path(), o.preset, machine);
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
