#include "testbenches/program/command_line/run.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "testbenches/program/description/names.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/program/description/resolved.h"
#include "testbenches/program/execution/execute.h"
#include "testbenches/program/execution/interrupt.h"
#include "testbenches/program/execution/output_folder.h"
#include "testbenches/program/execution/prepare.h"
#include "testbenches/program/execution/run_watch.h"
#include "testbenches/program/execution/what_if.h"
#include "testbenches/program/explanation/commands.h"
#include "testbenches/program/explanation/explain.h"
#include "testbenches/program/explanation/operations.h"
#include "testbenches/program/places/places.h"
#include "testbenches/program/recording/resources.h"
#include "testbenches/program/recording/statistics_series.h"
#include "testbenches/program/results/cost.h"
#include "testbenches/program/results/filling.h"
#include "testbenches/program/results/hierarchy.h"
#include "testbenches/program/results/report.h"
#include "testbenches/program/results/statistics_report.h"
#include "testbenches/program/study/study.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

bool is_file(const std::string& what) {
  return what.find('/') != std::string::npos || what.ends_with(".yaml") || what.ends_with(".yml");
}

description point_of_study(const std::string& file, std::uint64_t point, platform_factory machine) {
  const study s(file, machine);
  if (point > s.points()) {
    throw input_error(fmt::format("--point {}: '{}' has the points 1 to {}", point, file, s.points()));
  }
  return s.describe(point);
}

void apply_own(description& d, const run_options& o, testbench& bench) {
  const std::string group = std::string(bench.knob_group()) + ".";
  for (const std::string& assignment : o.parameters) d.set_argument(assignment, "--param", group);
  knob_tree own([&](knob_visitor& v) { bench.knobs(v); });
  std::vector<std::string> names;
  for (const auto& l : own.leaves()) names.push_back(l.path);
  for (const auto& [name, value] : o.own) {
    const place where{"--" + name, 0, 0};
    if (!own.find(name)) {
      throw description_error(
          where, "",
          fmt::format("testbench {} has no such parameter; {}", bench.name(), suggestion(name, names, "parameters")));
    }
    d.set(group + name, value, where);
  }
}

// A run ended in order by a signal keeps its results; its status is the signal's.
int status_of(const result& r) {
  constexpr int no_signal = 128;
  if (const int stopped = interrupt_watch::exit_status(); stopped > no_signal) return stopped;
  return r.passed() ? run_passed : run_failed;
}

description find_description(const run_options& o, platform_factory machine) {
  if (o.point) return point_of_study(o.what, o.point, machine);
  description d(search_path::standard());
  if (!is_file(o.what)) return d;
  if (is_study(o.what)) {
    throw input_error(fmt::format(
        "'{0}' is a study; 'hcasim sweep {0} -o DIR' runs it, 'hcasim run {0} --point N' one of its points", o.what));
  }
  d.read_file(o.what);
  return d;
}

// Returns the description that the command line asks for, with its overrides.
description read_description(const run_options& o, platform_factory machine) {
  description d = find_description(o, machine);
  for (const std::string& assignment : o.set) d.set_argument(assignment);
  if (o.seed) d.set("seed", *o.seed, {"--seed", 0, 0});
  return d;
}

std::string testbench_name(const description& d, const run_options& o) {
  if (d.testbench()) return *d.testbench();
  if (!o.point && !is_file(o.what) && !o.what.empty()) return o.what;
  throw description_error({o.what, 0, 0}, "",
                          "the description names no testbench; add a line 'testbench: NAME' ('hcasim list')");
}

place testbench_place(const description& d) {
  return d.testbench() ? d.testbench_place() : place{"hcasim run", 0, 0};
}

// One run from its description to its results.
class whole_run {
 public:
  whole_run(run_options options, platform_factory machine)
      : o_(std::move(options)),
        machine_(machine),
        description_(read_description(o_, machine)),
        run_(testbench_name(description_, o_), testbench_place(description_), machine) {
    apply_own(description_, o_, run_.bench());
    run_.apply(description_);
    if (!o_.point) run_.refuse_idle(description_);
    if (o_.folder) {
      out_.emplace(*o_.folder, o_.force);
    } else {
      claim_numbered("hcasim-out", std::string(run_.bench().name()), out_);
    }
  }

  int execute() {
    if (o_.what_if) {
      what_if_ = std::make_unique<what_if>(description_, run_, machine_, out_->temporary(), *o_.what_if,
                                           std::max(1U, std::thread::hardware_concurrency()));
    }
    out_->save("resolved.yaml", resolved_yaml(run_.tree(), run_.name(), description_.seed(), places::version));
    observe();
    context_.emplace(run_.machine(), description_.seed(), out_->temporary(), series_.get());
    if (operations_) operations_->measured_by(context_->measurement());
    context_->on_measuring([this](ps from) {
      for (const auto& observer : o_.observers) observer->measuring(from);
    });
    simulate();
    finish();
    write_results();
    if (o_.quiet) {
      tell_failures();
    } else {
      o_.json ? tell_json() : tell_text();
    }
    return status_of(context_->result());
  }

 private:
  void simulate() {
    if (run_.bench().watches_itself()) return run_guarded(run_.bench(), *context_);
    run_watch watch(run_.name(), progress());
    context_->watched_by(&watch);
    run_guarded(run_.bench(), *context_);
    context_->watched_by(nullptr);
  }

  [[nodiscard]] progress_mode progress() const {
    if (o_.verbose) return progress_mode::lines;
    const char* const terminal = std::getenv("TERM");
    const bool dumb = terminal && std::string_view(terminal) == "dumb";
    return !o_.quiet && !dumb && ::isatty(STDERR_FILENO) == 1 ? progress_mode::terminal : progress_mode::none;
  }

  void observe() {
    const observed_run observed{out_->temporary(), out_->final_place(), o_.from, o_.until, run_.machine().config()};
    for (const auto& observer : o_.observers) observer->begin(observed);
    if (o_.explain) operations_ = std::make_unique<operation_follower>();
    if (o_.explain) commands_ = std::make_unique<command_follower>();
    if (run_.series().interval != never) series_ = std::make_unique<statistics_series>(run_.series(), out_->temporary());
  }

  void finish() {
    end_ = now();
    if (series_) series_->finish(context_->measurement(), end_);
    context_->measurement().finish(end_);
    for (const auto& observer : o_.observers) observer->finish(end_);
  }

  void write_results() {
    const auto units = all_units();
    const measurement& m = context_->measurement();
    const result& r = context_->result();
    speed_.emplace(measure_host(*context_, units, begin_));
    resources_ = resources_of(run_.tree(), m, m.measured(), r.resources());
    constexpr std::size_t most_members = 32;
    document_ = roomy_object(most_members);
    document_["hcasim"] = places::version;
    document_["testbench"] = run_.name();
    document_["seed"] = description_.seed();
    document_["simulated_ns"] = to_ns(end_);
    if (r.partial()) document_["partial"] = true;
    document_.update(result_json(r));
    document_["measured"] = measured_json(m);
    for (std::size_t i = 0; i < m.parts().size() && m.parts().size() > 1; ++i) {
      document_["measured"]["parts"][i]["resources"] = resources_json(resources_of(run_.tree(), m, m.parts()[i]));
    }
    document_["resources"] = resources_json(resources_);
    filling_ = still_filling(m, m.measured());
    if (!filling_.empty()) document_["filling"] = filling_json(filling_);
    if (o_.cost) run_.machine().memories(memories_);
    if (o_.cost) document_["cost"] = cost_json(memories_);
    if (what_if_ && !r.partial()) what_if_gain_ = what_if_->run(resources_, units, speed_->wall);
    if (what_if_gain_) document_["what_if"] = what_if_gain_json(*what_if_gain_);
    document_["description"] = resolved_json(run_.tree());
    if (!description_.presets().empty()) document_["presets"] = description_.presets();
    document_["statistics"] = statistics_json(m, m.measured());
    document_["set_up"] = set_up_json(m);
    for (const auto& observer : o_.observers) observer->report(document_);
    out_->save("result.json", dump(document_));
    out_->save("statistics.txt", statistics_text(m));
    out_->save("host.json", dump(speed_->json()));
    out_->commit();
  }

  // A testbench that explains its operations itself knows more of them: its software.
  [[nodiscard]] std::vector<waterfall> waterfalls() const {
    std::vector<waterfall> all = context_->result().waterfalls();
    if (operations_ && all.empty()) all = operations_->waterfalls();
    if (!commands_) return all;
    constexpr std::size_t shown = 4;
    std::vector<waterfall> more = commands_->waterfalls();
    if (!o_.json && more.size() > shown) more.resize(shown);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  void tell_json() {
    if (o_.explain) document_["explain"] = explain_json(waterfalls(), resources_, what_if_gain_ ? &*what_if_gain_ : nullptr);
    std::cout << dump(document_);
  }

  void tell_failures() const {
    for (const std::string& f : context_->result().failures()) std::cout << fmt::format("{}: failed: {}\n", run_.name(), f);
  }

  void tell_text() const {
    const result& r = context_->result();
    std::cout << fmt::format("{}: {} (seed {}, {} simulated)\n\n{}\n", run_.name(),
                             r.partial()  ? "STOPPED"
                             : r.passed() ? "passed"
                                          : "FAILED",
                             description_.seed(), time_text(end_), result_text(r));
    for (const std::string& f : r.failures()) std::cout << "failed: " << f << "\n";
    for (const auto& observer : o_.observers) std::cout << observer->warning();
    if (o_.explain) std::cout << explain(waterfalls(), resources_);
    if (o_.cost) std::cout << cost_text(memories_) << "\n";
    if (what_if_gain_) std::cout << what_if_gain_text(*what_if_gain_);
    if (o_.explain || what_if_gain_) std::cout << verdict_text(resources_, what_if_gain_ ? &*what_if_gain_ : nullptr) << "\n";
    std::cout << filling_text(filling_) << speed_->text();
    for (const std::string& way : run_.machine().ways_of_rtl()) std::cout << "rtl         " << way << "\n";
    const std::string folder = out_->final_place().string();
    std::cout << fmt::format("results in  {}\n", folder);
    if (series_) std::cout << fmt::format("series      {}/{}\n", folder, statistics_series::file_name);
    for (const auto& observer : o_.observers) std::cout << observer->places();
  }

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<output_folder> out_;  // destroyed last: a folder that is not committed is removed when all files are closed
  run_options o_;
  platform_factory machine_;
  description description_;
  prepared_run run_;
  std::unique_ptr<what_if> what_if_;
  std::unique_ptr<operation_follower> operations_;
  std::unique_ptr<command_follower> commands_;
  std::unique_ptr<statistics_series> series_;
  std::optional<run_context> context_;
  ps end_{0};
  std::optional<host_speed> speed_;
  std::vector<resource_use> resources_;
  std::vector<filling_cache> filling_;
  memory_list memories_;
  std::optional<what_if_gain> what_if_gain_;
  ordered_json document_;
};

}  // namespace

int run_testbench(run_options options, platform_factory machine) {
  return whole_run(std::move(options), machine).execute();
}

}  // namespace hcasim
