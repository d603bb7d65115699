#include "testbenches/program/validation/calibration.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "testbenches/program/description/names.h"
#include "testbenches/program/description/shared_file.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

bool is_description(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

std::vector<std::string> experiment_names(const experiment_list& all) {
  std::vector<std::string> names;
  for (const auto& e : all) names.push_back(e->name());
  return names;
}

}  // namespace

work_folder::work_folder(const fs::path& named, const char* purpose) : folder_(named), kept_(!named.empty()) {
  if (!kept_) folder_ = fs::temp_directory_path() / fmt::format("hcasim_{}_{}", purpose, ::getpid());
  std::error_code ec;
  if (kept_ && fs::exists(folder_, ec) && (!fs::is_directory(folder_, ec) || !fs::is_empty(folder_, ec)))
    throw input_error(fmt::format("'{}' is there and not empty; choose another folder with -o", folder_.string()));
  fs::create_directories(folder_, ec);
  if (ec) throw input_error(fmt::format("cannot make '{}': {}; choose another folder with -o", folder_.string(), ec.message()));
}

work_folder::~work_folder() {
  std::error_code ec;
  if (!kept_) fs::remove_all(folder_, ec);
}

fs::path calibration_folder() {
  fs::path folder = shared_file("calibration");
  if (folder.empty())
    throw input_error("there is no share/hcasim/calibration above the program; name another share/hcasim in $HCASIM_PATH");
  return folder;
}

experiment_list read_experiments(const std::vector<std::string>& names) {
  std::set<fs::path> files;
  for (const auto& e : fs::directory_iterator(calibration_folder())) {
    if (e.path().extension() == ".yaml") files.insert(e.path());
  }
  experiment_list all;
  for (const fs::path& f : files) all.push_back(std::make_unique<experiment>(f));
  for (const std::string& named : names) {
    if (!is_description(named)) continue;
    auto own = std::make_unique<experiment>(fs::path(named));
    std::erase_if(all, [&](const auto& e) { return e->name() == own->name(); });
    all.push_back(std::move(own));
  }
  return all;
}

const experiment* find_experiment(const experiment_list& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& e) { return e->name() == name; });
  return found == all.end() ? nullptr : found->get();
}

std::set<std::string> wanted_experiments(const std::vector<std::string>& names, const experiment_list& all) {
  std::set<std::string> wanted;
  for (const std::string& named : names) {
    if (is_description(named)) {
      wanted.insert(experiment(fs::path(named)).name());
      continue;
    }
    const auto known = experiment_names(all);
    if (!find_experiment(all, named))
      throw input_error(fmt::format("there is no experiment '{}'; {}", named, suggestion(named, known, "experiments")));
    wanted.insert(named);
  }
  return wanted;
}

std::vector<compared_experiment> sort_points(const published_data& data, const experiment_list& all,
                                             const std::set<std::string>& wanted) {
  std::vector<compared_experiment> out;
  for (const published_point& p : data.points) {
    if (!wanted.empty() && !wanted.contains(p.experiment)) continue;
    const experiment* const of = find_experiment(all, p.experiment);
    if (!of) {
      const auto known = experiment_names(all);
      throw description_error(
          p.where, "exp",
          fmt::format("no description replays '{}'; {}; or write one, and name its file on the command line", p.experiment,
                      suggestion(p.experiment, known, "experiments")));
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

published_data read_calibration() {
  const fs::path folder = calibration_folder();
  published_data data = read_published(folder / "published.csv");
  const fs::path recent = folder / "recent.csv";
  if (!fs::exists(recent)) return data;
  published_data more = read_published(recent);
  data.crc += "+" + more.crc;
  data.points.insert(data.points.end(), more.points.begin(), more.points.end());
  return data;
}

}  // namespace hcasim
