#include "testbenches/program/command_line/run.h"

#include <chrono>
#include <iostream>
#include <thread>

#include "testbenches/program/description/names.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/program/description/resolved.h"
#include "testbenches/program/execution/execute.h"
#include "testbenches/program/execution/interrupt.h"
#include "testbenches/program/execution/output_folder.h"
#include "testbenches/program/execution/prepare.h"
#include "testbenches/program/execution/what_if.h"
#include "testbenches/program/explanation/commands.h"
#include "testbenches/program/explanation/explain.h"
#include "testbenches/program/explanation/operations.h"
#include "testbenches/program/places/places.h"
#include "testbenches/program/recording/gtkwave.h"
#include "testbenches/program/recording/packets.h"
#include "testbenches/program/recording/resources.h"
#include "testbenches/program/recording/spans.h"
#include "testbenches/program/recording/statistics_series.h"
#include "testbenches/program/recording/stream_recorder.h"
#include "testbenches/program/recording/waves.h"
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

fs::path default_folder(const testbench& bench) {
  std::error_code ec;
  const fs::path traces = places::traces;
  if (fs::is_directory(traces.parent_path(), ec)) return traces / bench.name();
  return {"traces-" + std::string(bench.name())};
}

// Booting an adapter takes a while: the waveform opens where the first key is checked.
gtkwave_view first_view(const wave_writer& waves, const run_options& o, ps end) {
  constexpr ps before = 500_ns;
  gtkwave_view view;
  view.from = o.from;
  view.length = std::min(view.length, std::max(std::min(end, o.until) - o.from, ps(1)));
  const ps first = waves.first_change("key_check");
  if (first != never && first > before) view.from = std::max(first - before, o.from);
  for (const auto& [unit, name] : {std::pair{"doorbell", "first doorbell"},
                                   {"mrc_cache", "first MRC"},
                                   {"key_check", "first key check"},
                                   {"page_walker", "first translation"},
                                   {"port", "first packet"},
                                   {"completion", "first completion"}}) {
    if (const ps at = waves.first_change(unit); at != never) view.markers.push_back({at, name});
  }
  return view;
}

// Packets and spans, as far as they are asked for.
class recorders {
 public:
  recorders(const run_options& o, const output_folder& out) : out_(out) {
    for (const std::string& form : o.packets) {
      const packet_form f = form == "roce" ? packet_form::roce : packet_form::infiniband;
      const std::string name = fmt::format("packets.{}.pcapng", form);
      packets_.emplace_back(name, std::make_unique<packet_recorder>(out.temporary() / name, f, places::version));
    }
    if (o.spans)
      spans_ = std::make_unique<span_recorder>(span_window{o.from, o.until}, out.temporary() / "spans.json", places::version);
  }
  void finish(ps end) {
    for (const auto& [name, p] : packets_) p->finish();
    if (spans_) spans_->finish(end);
  }
  void tell() const {
    for (const auto& [name, p] : packets_) {
      std::cout << fmt::format("packets     {} in {}/{}\n", p->packets(), out_.final_place().string(), name);
    }
    if (!spans_) return;
    std::cout << fmt::format("spans       {} in {}/spans.json, for ui.perfetto.dev or chrome://tracing\n", spans_->spans(),
                             out_.final_place().string());
    if (spans_->stopped_at() == never) return;
    std::cout << fmt::format("            they end at {}; choose a later part with --from\n",
                             format_quantity(knob_kind::time, static_cast<long double>(spans_->stopped_at().count())));
  }

 private:
  const output_folder& out_;
  std::vector<std::pair<std::string, std::unique_ptr<packet_recorder>>> packets_;
  std::unique_ptr<span_recorder> spans_;
};

// Makes the recorder of --record-stream; null = the option is not given.
std::unique_ptr<stream_recorder> make_stream_recorder(const run_options& o, const system_config* config) {
  if (o.record_stream.empty()) return nullptr;
  const std::size_t equals = o.record_stream.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == o.record_stream.size())
    throw input_error(
        fmt::format("--record-stream {}: write UNIT=FILE, as in node0.hca.key_check=keys.stream", o.record_stream));
  if (!config || !program_stream_recorder()) throw input_error("--record-stream: this program records no streams");
  try {
    return program_stream_recorder()(o.record_stream.substr(0, equals), o.record_stream.substr(equals + 1), *config);
  } catch (const std::invalid_argument& e) {
    throw input_error(e.what());
  }
}

description point_of_study(const std::string& file, std::uint64_t point, platform_factory machine) {
  const study s(file, machine);
  if (point > s.points()) {
    throw input_error(fmt::format("--point {}: '{}' has the points 1 to {}", point, file, s.points()));
  }
  return s.describe(point);
}

void apply_own(description& d, const run_options& o, testbench& bench) {
  for (const std::string& assignment : o.parameters) d.set_argument(assignment, "--param", "parameters.");
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
    d.set("parameters." + name, value, where);
  }
}

// A run that a signal has ended in order keeps what it has; its status is the signal's.
int status_of(const result& r) {
  constexpr int no_signal = 128;
  if (const int stopped = interrupt_watch::exit_status(); stopped > no_signal) return stopped;
  return r.passed() ? run_passed : run_failed;
}

}  // namespace

int run_testbench(const run_options& o, platform_factory machine) {
  const auto begin = std::chrono::steady_clock::now();
  description d(search_path::standard());
  place named{"hcasim run", 0, 0};
  std::string name = o.what;
  if (o.point) {
    d = point_of_study(o.what, o.point, machine);
    name.clear();
  } else if (is_file(o.what)) {
    if (is_study(o.what)) {
      throw input_error(fmt::format(
          "'{0}' is a study; 'hcasim sweep {0} -o DIR' runs it, 'hcasim run {0} --point N' one of its points", o.what));
    }
    d.read_file(o.what);
    name.clear();
  }
  for (const std::string& assignment : o.set) d.set_argument(assignment);
  if (o.seed) d.set("seed", *o.seed, {"--seed", 0, 0});
  if (d.testbench()) {
    name = *d.testbench();
    named = d.testbench_place();
  }
  if (name.empty()) {
    throw description_error({o.what, 0, 0}, "",
                            "the description names no testbench; add a line 'testbench: NAME' ('hcasim list')");
  }
  prepared_run run(name, named, machine);
  apply_own(d, o, run.bench());
  run.apply(d);
  const knob_tree& tree = run.tree();

  // Without -o the folder is the program's own, so an earlier result there is replaced.
  output_folder out(o.folder.value_or(default_folder(run.bench())), o.force || !o.folder);
  const auto relieving = o.what_if ? std::make_unique<what_if>(d, run, machine, out.temporary(), *o.what_if,
                                                               std::max(1U, std::thread::hardware_concurrency()))
                                   : nullptr;
  out.save("resolved.yaml", resolved_yaml(tree, name, d.seed(), places::version));

  std::unique_ptr<wave_recorder> waves;
  const std::string wave_file = o.waves == wave_format::fst ? "waves.fst" : "waves.vcd";
  if (o.waves) {
    const auto patterns = o.trace.empty() ? std::vector<std::string>{"*"} : o.trace;
    waves = std::make_unique<wave_recorder>(
        make_wave_writer(*o.waves, out.temporary() / wave_file, places::version, o.wave_limit, {o.from, o.until}), patterns);
  }
  recorders recording(o, out);
  const auto operations = o.explain ? std::make_unique<operation_follower>() : nullptr;
  const auto commands = o.explain ? std::make_unique<command_follower>() : nullptr;
  const auto stream = make_stream_recorder(o, run.machine().config());
  const auto series =
      run.series().interval == never ? nullptr : std::make_unique<statistics_series>(run.series(), out.temporary());
  run_context context(run.machine().config(), d.seed(), out.temporary(), series.get());
  run_guarded(run.bench(), context);

  const ps end = now();
  if (series) series->finish(context.measurement(), end);
  context.measurement().finish(end);
  // A testbench may build no machine in this process; then there is nothing to show.
  const bool drawn = waves && !waves->writer().signals().empty();
  if (waves && !drawn) {
    std::error_code ec;
    fs::remove(out.temporary() / wave_file, ec);
  }
  if (drawn) {
    waves->writer().finish(end);
    write_gtkwave(out.temporary(), out.final_place(), wave_file, waves->writer().signals(),
                  first_view(waves->writer(), o, end));
  }
  recording.finish(end);
  std::uint64_t stream_items = 0;
  try {
    if (stream) stream_items = stream->finish();
  } catch (const std::runtime_error& e) {
    throw input_error(e.what());
  }
  const auto units = all_units();
  const result& r = context.result();
  const host_speed speed = measure_host(context, units, begin);
  ordered_json document{{"hcasim", places::version}, {"testbench", name}, {"seed", d.seed()}, {"simulated_ns", to_ns(end)}};
  document.update(result_json(r));
  const measurement& m = context.measurement();
  const std::vector<resource_use> resources = resources_of(tree, m, m.measured(), r.resources());
  document["measured"] = measured_json(m);
  for (std::size_t i = 0; i < m.parts().size() && m.parts().size() > 1; ++i) {
    document["measured"]["parts"][i]["resources"] = resources_json(resources_of(tree, m, m.parts()[i]));
  }
  document["resources"] = resources_json(resources);
  std::optional<gains> gained;
  if (relieving) gained = relieving->run(resources, units, speed.wall);
  if (gained) document["what_if"] = gains_json(*gained);
  document["description"] = resolved_json(tree);
  if (!d.presets().empty()) document["presets"] = d.presets();
  document["statistics"] = statistics_json(m, m.measured());
  document["set_up"] = set_up_json(m);
  out.save("result.json", dump(document));
  out.save("statistics.txt", statistics_text(m));
  out.save("host.json", dump(speed.json()));
  out.commit();

  // A testbench that explains its operations itself knows more of them: its software.
  std::vector<waterfall> waterfalls = r.waterfalls();
  if (operations && waterfalls.empty()) waterfalls = operations->waterfalls();
  if (commands) {
    constexpr std::size_t shown = 4;
    std::vector<waterfall> more = commands->waterfalls();
    if (!o.json && more.size() > shown) more.resize(shown);
    waterfalls.insert(waterfalls.end(), more.begin(), more.end());
  }
  if (o.json) {
    if (o.explain) document["explain"] = explain_json(waterfalls, resources, gained ? &*gained : nullptr);
    std::cout << dump(document);
    return status_of(r);
  }
  std::cout << fmt::format("{}: {} (seed {}, {} simulated)\n\n{}\n", name, r.passed() ? "passed" : "FAILED", d.seed(),
                           format_quantity(knob_kind::time, static_cast<long double>(end.count())), result_text(r));
  for (const std::string& f : r.failures()) std::cout << "failed: " << f << "\n";
  if (drawn && waves->writer().stopped_at() != never) {
    std::cout << fmt::format("The waveform ends at {}: it reached --trace-limit.\n",
                             format_quantity(knob_kind::time, static_cast<long double>(waves->writer().stopped_at().count())));
  }
  if (o.explain) std::cout << explain(waterfalls, resources);
  if (gained) std::cout << gains_text(*gained);
  if (o.explain || gained) std::cout << verdict_text(resources, gained ? &*gained : nullptr) << "\n";
  std::cout << speed.text();
  for (const std::string& way : run.machine().ways_of_rtl()) std::cout << "rtl         " << way << "\n";
  std::cout << fmt::format("results in  {}\n", out.final_place().string());
  recording.tell();
  if (series) std::cout << fmt::format("series      {}/{}\n", out.final_place().string(), statistics_series::file_name);
  if (stream) {
    std::cout << fmt::format("stream      {} items, hcasim run lockstep --stream {}\n", stream_items,
                             o.record_stream.substr(o.record_stream.find('=') + 1));
  }
  if (drawn) std::cout << fmt::format("waveform    gtkwave {}/waves.gtkw\n", out.final_place().string());
  return status_of(r);
}

}  // namespace hcasim
