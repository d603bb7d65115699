#include "testbenches/runner/run.h"

#include <sys/resource.h>

#include <chrono>
#include <iostream>

#include "testbenches/runner/gtkwave.h"
#include "testbenches/runner/hierarchy.h"
#include "testbenches/runner/interrupt.h"
#include "testbenches/runner/names.h"
#include "testbenches/runner/output_folder.h"
#include "testbenches/runner/quantity.h"
#include "testbenches/runner/report.h"
#include "testbenches/runner/resolved.h"
#include "testbenches/runner/vcd.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

bool is_file(const std::string& what) {
  return what.find('/') != std::string::npos || what.ends_with(".yaml") || what.ends_with(".yml");
}

std::unique_ptr<testbench> find_testbench(const std::string& name, const place& where) {
  if (auto bench = testbench_registry::create(name)) return bench;
  const auto names = testbench_registry::names();
  throw description_error(where, "",
                          fmt::format("there is no testbench '{}'; {}", name, suggestion(name, names, "testbenches")));
}

fs::path default_folder(const testbench& bench) {
  std::error_code ec;
#ifdef HCASIM_TRACES_DIR
  if (fs::is_directory(fs::path(HCASIM_TRACES_DIR).parent_path(), ec)) return fs::path(HCASIM_TRACES_DIR) / bench.name();
#endif
  return {"traces-" + std::string(bench.name())};
}

// Warnings and errors of SystemC make the run fail; its informations are not shown.
std::vector<std::string>* kernel_messages = nullptr;

void on_kernel_report(const sc_core::sc_report& r, const sc_core::sc_actions& actions) {
  if (r.get_severity() != sc_core::SC_INFO && kernel_messages && !(actions & sc_core::SC_THROW)) {
    kernel_messages->push_back(std::string("SystemC: ") + r.what());
  }
  if (actions & sc_core::SC_THROW) throw r;
  if (r.get_severity() == sc_core::SC_FATAL) {
    std::cerr << "hcasim: SystemC: " << r.what() << std::endl;
    std::abort();
  }
}

// Runs the testbench; what goes wrong inside becomes a failure of the run, apart from input that the user mends.
void run_guarded(testbench& bench, run_context& context) {
  std::vector<std::string> messages;
  kernel_messages = &messages;
  sc_core::sc_report_handler::set_handler(on_kernel_report);
  try {
    bench.run(context);
  } catch (const input_error&) {
    throw;
  } catch (const std::exception& e) {
    context.fail(std::string("the run was broken off: ") + e.what());
  }
  kernel_messages = nullptr;
  for (std::string& m : messages) context.fail(std::move(m));
}

struct host_speed {
  double wall = 0;
  double simulating = 0;
  std::uint64_t operations = 0;
  std::uint64_t packets = 0;
  std::uint64_t activations = 0;
  std::uint64_t deltas = 0;
  double peak_mib = 0;

  [[nodiscard]] double per_second(std::uint64_t n) const { return simulating > 0 ? static_cast<double>(n) / simulating : 0; }
  [[nodiscard]] ordered_json json() const {
    return {{"wall_seconds", wall},
            {"simulating_seconds", simulating},
            {"operations", operations},
            {"operations_per_second", per_second(operations)},
            {"packets", packets},
            {"packets_per_second", per_second(packets)},
            {"queue_activations", activations},
            {"delta_cycles", deltas},
            {"peak_memory_mib", peak_mib}};
  }
  [[nodiscard]] std::string text() const {
    return fmt::format(
        "host speed  {} operations/s, {} packets/s of wall-clock time\n            {} operations, {} packets, {} "
        "kernel activations, {} delta cycles in {:.3f} s ({:.3f} s in all), {:.0f} MiB\n",
        number_text(std::round(per_second(operations))), number_text(std::round(per_second(packets))), operations, packets,
        activations, deltas, simulating, wall, peak_mib);
  }
};

host_speed measure(const run_context& context, const result& r, const std::vector<unit*>& units,
                   std::chrono::steady_clock::time_point begin) {
  host_speed s;
  s.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  s.simulating = context.simulating_seconds();
  s.operations = r.operations() ? r.operations() : sum_counters(units, {"operations"});
  s.packets = r.packets() ? r.packets() : sum_counters(units, {"egress_packets"});
  s.activations = event_queue::activations();
  s.deltas = sc_core::sc_delta_count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  s.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  return s;
}

// Booting an adapter takes a while: the waveform opens where the first key is checked.
gtkwave_view first_view(const vcd_writer& waves, ps end) {
  constexpr ps before = 500_ns;
  gtkwave_view view;
  view.length = std::min(view.length, end);
  const ps first = waves.first_change("key_check");
  if (first != never && first > before) view.from = first - before;
  return view;
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

}  // namespace

std::string program_version() {
  return HCASIM_VERSION;
}

knob_tree make_tree(platform& machine, testbench* bench) {
  return knob_tree([&machine, bench](knob_visitor& v) {
    machine.knobs(v);
    if (!bench) return;
    v.enter("parameters", "of the testbench");
    bench->knobs(v);
    v.leave();
  });
}

int run_testbench(const run_options& o, platform_factory machine) {
  const auto begin = std::chrono::steady_clock::now();
  description d(search_path::standard());
  place named{"hcasim run", 0, 0};
  std::string name = o.what;
  if (is_file(o.what)) {
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
  const auto bench = find_testbench(name, named);
  const auto model = machine();
  if (system_config* c = model->config()) bench->defaults(*c);
  knob_tree tree = make_tree(*model, bench.get());
  apply_own(d, o, *bench);
  d.apply(tree);
  model->check();

  // Without -o the folder is the program's own, so an earlier result there is replaced.
  output_folder out(o.folder.value_or(default_folder(*bench)), o.force || !o.folder);
  const interrupt_guard guard(out.temporary());
  out.save("resolved.yaml", resolved_yaml(tree, name, d.seed(), program_version()));

  std::unique_ptr<vcd_recorder> waves;
  if (o.waves) {
    const auto patterns = o.trace.empty() ? std::vector<std::string>{"*"} : o.trace;
    waves = std::make_unique<vcd_recorder>(out.temporary() / "waves.vcd", patterns, program_version(), o.wave_limit);
  }
  run_context context(model->config(), d.seed(), out.temporary());
  run_guarded(*bench, context);

  const ps end = now();
  if (waves) {
    waves->writer().finish(end);
    write_gtkwave(out.temporary(), out.final_place(), waves->writer().signals(), first_view(waves->writer(), end));
  }
  const auto units = all_units();
  const result& r = context.result();
  const host_speed speed = measure(context, r, units, begin);
  ordered_json document{{"hcasim", program_version()}, {"testbench", name}, {"seed", d.seed()}, {"simulated_ns", to_ns(end)}};
  document.update(result_json(r));
  document["description"] = resolved_json(tree);
  if (!d.presets().empty()) document["presets"] = d.presets();
  document["statistics"] = statistics_json(units, end);
  out.save("result.json", dump(document));
  out.save("statistics.txt", statistics_text(units, end));
  out.save("host.json", dump(speed.json()));
  out.commit();

  if (o.json) {
    std::cout << dump(document);
    return r.passed() ? run_passed : run_failed;
  }
  std::cout << fmt::format("{}: {} (seed {}, {} simulated)\n\n{}\n", name, r.passed() ? "passed" : "FAILED", d.seed(),
                           format_quantity(knob_kind::time, static_cast<long double>(end.count())), result_text(r));
  for (const std::string& f : r.failures()) std::cout << "failed: " << f << "\n";
  if (waves && waves->writer().stopped_at() != never) {
    std::cout << fmt::format("The waveform ends at {}: it reached --trace-limit.\n",
                             format_quantity(knob_kind::time, static_cast<long double>(waves->writer().stopped_at().count())));
  }
  std::cout << speed.text() << fmt::format("results in  {}\n", out.final_place().string());
  if (waves) std::cout << fmt::format("waveform    gtkwave {}/waves.gtkw\n", out.final_place().string());
  return r.passed() ? run_passed : run_failed;
}

}  // namespace hcasim
