#include "testbenches/program/validation/fit.h"

#include <algorithm>
#include <iostream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/execution/interrupt.h"
#include "testbenches/program/results/report.h"
#include "testbenches/program/validation/calibration.h"
#include "testbenches/program/validation/fitter.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

fs::path plan_file(const std::string& named) {
  if (fs::exists(named) && !fs::is_directory(named)) return named;
  const fs::path folder = calibration_folder() / "fit";
  if (const fs::path file = folder / (named + ".yaml"); fs::exists(file)) return file;
  std::vector<std::string> there;
  for (const auto& e : fs::directory_iterator(folder)) {
    if (e.path().extension() == ".yaml") there.push_back(e.path().stem().string());
  }
  std::sort(there.begin(), there.end());
  throw input_error(fmt::format("there is no fit '{}'; name a file, or one of: {}", named, fmt::join(there, ", ")));
}

series_choice choice_by_name(const std::string& text) {
  try {
    return choice_of(text);
  } catch (const std::regex_error& e) {
    throw input_error(
        fmt::format("--leave-out: '{}' is no regular expression ({}); a part of the series' name is enough", text, e.what()));
  }
}

knob_values together(const std::vector<knob_values>& blocks) {
  knob_values out;
  for (const knob_values& b : blocks) out.insert(b.begin(), b.end());
  return out;
}

struct fitted_column {
  std::string title;
  fitter::series_errors errors;
  std::optional<series_choice> left_out{};
};

// The errors of each series, before and after the fit; a series that was left out is marked as predicted.
std::string errors_table(const std::vector<fitted_column>& columns, const std::vector<compared_experiment>& data) {
  std::vector<std::vector<std::string>> rows{{"experiment", "series"}};
  for (const fitted_column& c : columns) rows[0].push_back(c.title);
  for (const compared_experiment& e : data) {
    for (const compared_series& s : e.series) {
      const std::string key = e.of->name() + " " + s.name;
      std::vector<std::string> row{e.of->name(), s.name};
      bool any = false;
      for (const fitted_column& c : columns) {
        const auto found = c.errors.find(key);
        any = any || found != c.errors.end();
        const bool predicted = c.left_out && c.left_out->has(e.of->name(), s.name);
        row.push_back(found == c.errors.end() ? "-" : fmt::format("{:.1f} %{}", found->second, predicted ? " predicted" : ""));
      }
      if (any) rows.push_back(std::move(row));
    }
  }
  std::vector<bool> right(rows[0].size(), true);
  right[0] = right[1] = false;
  return aligned(rows, right);
}

std::string constants_text(const fit_plan& plan, const std::vector<knob_values>& fitted) {
  std::string out;
  for (std::size_t i = 0; i < plan.blocks().size(); ++i) {
    for (const auto& [path, value] : fitted[i])
      out += fmt::format("{:<48} # fitted to {}\n", fmt::format("{}: {}", path, value), plan.blocks()[i].experiments());
  }
  return out;
}

// Returns the fitted constants, and the mean error of each series before and after.
std::string fit_json(const fit_plan& plan, std::uint64_t seed, std::uint64_t evaluations,
                     const std::vector<knob_values>& fitted, const std::vector<fitted_column>& columns) {
  nlohmann::ordered_json out;
  out["preset"] = plan.preset();
  out["seed"] = seed;
  out["evaluations"] = evaluations;
  out["constants"] = together(fitted);
  for (const fitted_column& c : columns) out["errors"][c.title] = c.errors;
  return out.dump(2) + "\n";
}

}  // namespace

int run_fit(const fit_options& o, platform_factory machine) {
  const fit_plan plan(plan_file(o.plan));
  const published_data data = o.csv.empty() ? read_calibration() : read_published(o.csv);
  const experiment_list all = read_experiments({});
  const std::vector<compared_experiment> points = sort_points(data, all, {});
  plan.check(points);
  if (!o.left_out.empty()) {
    const series_choice c = choice_by_name(o.left_out);
    if (!in_data(c, points))
      throw input_error(fmt::format("--leave-out: the data has no series '{}' of {}; correct its name", c.text, c.experiment));
  }
  if (!o.folder.empty()) fs::create_directories(o.folder);
  const std::uint64_t evaluations = o.evaluations.value_or(plan.evaluations());
  const std::uint64_t seed = o.seed.value_or(plan.seed());
  const interrupt_watch watch;
  const work_folder work({}, "fit");
  std::string log;
  const auto tell = [&log, json = o.json](const std::string& line) {
    log += line + "\n";
    (json ? std::cerr : std::cout) << line << std::endl;
  };
  fitter f(plan, points, evaluations, seed,
           {work.path(), machine, o.jobs ? o.jobs : std::max(1U, std::thread::hardware_concurrency()), watch.fd(), tell});
  try {
    tell(fmt::format("{} constants of {}, seed {}, at most {} evaluations of a block, data crc32 {}", plan.constants(),
                     plan.preset(), seed, evaluations, data.crc));
    std::vector<fitted_column> columns{{"preset", f.errors({}), {}}};
    std::vector<knob_values> fitted;
    const auto one_fit = [&](const std::optional<series_choice>& left_out) {
      if (left_out) tell(fmt::format("without {} {}", left_out->experiment, left_out->text));
      auto values = f.fit(left_out ? &*left_out : nullptr, fitted);
      const std::string title = left_out ? fmt::format("without {} {}", left_out->experiment, left_out->text) : "fitted";
      columns.push_back({title, f.errors(together(values)), left_out});
      return values;
    };
    if (!o.left_out.empty()) {
      fitted = one_fit(choice_by_name(o.left_out));
    } else {
      fitted = one_fit(std::nullopt);
      for (const series_choice& c : plan.left_out()) one_fit(c);
    }
    tell("\nmean error of each series\n" + errors_table(columns, points));
    const std::string constants = constants_text(plan, fitted);
    tell("constants\n" + constants);
    if (o.json) std::cout << fit_json(plan, seed, evaluations, fitted, columns);
    if (o.folder.empty()) return run_passed;
    write_file(o.folder / "log.txt", log);
    write_file(o.folder / (plan.preset() + "_fitted.yaml"),
               fmt::format("# Made by 'hcasim fit', seed {}, at most {} evaluations of a block.\ninclude: {}\n{}", seed,
                           evaluations, plan.preset(), constants));
  } catch (const fit_interrupted&) {
    return interrupt_watch::exit_status();
  }
  return run_passed;
}

}  // namespace hcasim
