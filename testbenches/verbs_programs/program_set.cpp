#include "testbenches/verbs_programs/program_set.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "testbenches/program/description/quantity.h"
#include "testbenches/verbs_programs/simulator/printed.h"

namespace hcasim {
namespace {

constexpr std::array<std::string_view, 16> names{"program0",  "program1",  "program2",  "program3", "program4",  "program5",
                                                 "program6",  "program7",  "program8",  "program9", "program10", "program11",
                                                 "program12", "program13", "program14", "program15"};

std::uint32_t number_of(const std::string& node) {
  std::uint32_t n = 0;
  const char* const end = node.data() + node.size();
  const auto [at, error] = std::from_chars(node.data(), end, n);
  if (error == std::errc() && at == end) return n;
  throw input_error(fmt::format("node: '{}' is not a host; write its number, or rank", node));
}

std::optional<ps> start_of(const std::string& start) {
  if (start == "first_idle") return std::nullopt;
  try {
    return ps(static_cast<std::int64_t>(parse_quantity(knob_kind::time, start)));
  } catch (const quantity_error& e) {
    throw input_error(fmt::format("start: {}; write first_idle or a time, as 10 us", e.what()));
  }
}

void check_device_name(const std::string& name) {
  constexpr std::size_t longest = 63;
  const auto is_ordinary = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; };
  if (!name.empty() && name.size() <= longest && name != "." && name != ".." &&
      std::all_of(name.begin(), name.end(), is_ordinary))
    return;
  throw input_error(fmt::format(
      "device_name: '{}' is no name of a device; write up to {} letters, digits, '_', '-' or '.', as mlx5_0", name, longest));
}

// A table stands at the end of what a program prints, which may be long.
std::string end_of(const std::filesystem::path& file) {
  constexpr std::streamoff most = 1 << 20;
  std::ifstream in(file, std::ios::ate);
  const std::streamoff size = in.tellg();
  in.seekg(std::max<std::streamoff>(size - most, 0));
  return {std::istreambuf_iterator<char>(in), {}};
}

void report_overlap(run_context& context, const applications::programs& running) {
  const std::optional<double> overlap = running.overlap();
  if (!overlap) return;
  context.result().figure("overlap", *overlap, "1",
                          fmt::format("share of the measured time in which all {} clients were active", running.clients()));
  if (*overlap > 0) return;
  fmt::print(stderr,
             "hcasim: at no time were all {} clients active: each figure is that of fewer; 'hcasim exec --together' starts "
             "clients at once\n",
             running.clients());
}

// Hosts have the addresses 127.0.0.FIRST to 127.0.0.254 in programs.
void check_address(std::string_view program, std::uint32_t node, std::uint32_t first) {
  constexpr std::uint32_t last = 254;
  if (first + node <= last) return;
  throw input_error(fmt::format("parameters.{}.node: node {} has no address; programs run on the nodes 0 to {}", program, node,
                                last - first));
}

}  // namespace

void program_set::program_knobs::knobs(knob_visitor& k) {
  k.text("run", run,
         "the program and its arguments, as a shell splits them; nodeN, alone or after '=', is that node's address");
  k.text("node", node, "number of its host, modulo the number of hosts; rank: processes of a launcher run by their local rank");
  k.text("start", start,
         "a simulated time, or first_idle: when all threads of the program before it sleep for the first time; of clients that "
         "start together, when those of all other programs do");
  k.count("expect", expect, 0, 255, "the status that it ends with");
}

program_set::program_set() {
  static_assert(names.size() == most_programs);
  for (std::size_t i = 0; i < most_programs; ++i) programs_[i].node = std::to_string(i);
}

void program_set::knobs(knob_visitor& k) {
  applications::time_config& t = config_.time;
  k.time("clock_read", t.clock_read, 1_ps, 1_ms, "time that a program's read of the clock takes");
  k.time("poll_stretch", t.poll_stretch, 1_ns, 1'000_ms, "longest sleep of a loop that polls an empty queue");
  k.time("spin_stretch", t.spin_stretch, 1_ns, 1'000_ms, "longest sleep of a loop that reads unchanged memory");
  k.time("out_of_band", t.out_of_band, 1_ps, 1'000_ms, "from a message beside the fabric to the thread that it wakes");
  k.time("management", config_.connections.management, 1_ps, 1'000_ms,
         "one message between connection managers, or asking for an address or a route");
  k.time("request_retry", config_.connections.request_retry, 1_ps, 100'000_ms,
         "time until a connection request that found a full backlog is sent again");
  k.bytes("locked_memory", t.locked_memory, 4096, 0x1p36, "memory that a program may have registered at once");
  k.ratio("tsc_mhz", t.tsc_mhz, 1, 100000, "frequency of the time-stamp counter that programs read, in MHz");
  k.time("progress", config_.progress, 0_ps, 1'000'000_ms,
         "wall-clock time between reports of a long run's progress on standard error; 0: none");
  k.choice(
      "together", config_.clients, {"paired", "always", "never"},
      "when clients, which name the node of another program, start together: if there are as many servers, always or never");
  k.text("device_name", config_.device,
         "the adapter's name in programs, as some look for mlx5_0; letters, digits, '_', '-', '.'");
  k.flag("echo", config_.echo, "show what programs write on the terminal as well");
  for (std::size_t i = 0; i < most_programs; ++i) k.group(names[i], programs_[i], "a program");
}

applications::programs& program_set::make(run_context& context, hcasim::system& s, const char* how) {
  const auto nodes = static_cast<std::uint32_t>(s.nodes());
  for (std::size_t i = 0; i < most_programs; ++i) {
    const program_knobs& p = programs_[i];
    if (p.run.empty()) continue;
    const bool by_rank = p.node == "rank";
    const std::uint32_t node = by_rank ? 0 : number_of(p.node) % nodes;
    check_address(names[i], by_rank ? nodes - 1 : node, config_.first_host);
    config_.programs.push_back({p.run, node, by_rank, start_of(p.start), p.expect});
  }
  if (config_.programs.empty()) throw input_error(how);
  check_device_name(config_.device);
  for (std::size_t i = 0; i < s.nodes(); ++i) {
    const port_config& p = s.config().nodes[i].hca.port;
    if (p.count == 1 || p.link_layer == link_layer_kind::infiniband) continue;
    throw input_error(
        fmt::format("node{0}.hca.port.count: programs use RoCE on one port; write 1, or link_layer: infiniband", i));
  }
  config_.folder = context.folder();
  config_.seed = context.seed();
  return context.make<applications::programs>("programs", s, config_);
}

void program_set::report(run_context& context, const applications::programs& running) const {
  table& rows = context.result().table("programs", {{"program"}, {"node"}, {"words"}, {"status"}});
  for (std::size_t i = 0; i < config_.programs.size(); ++i) {
    const applications::program_config& p = config_.programs[i];
    const std::string name = fmt::format("program{}", i);
    if (p.by_rank) {
      rows.row(name, "rank", p.run, running.status(i));
    } else {
      rows.row(name, std::uint64_t{p.node}, p.run, running.status(i));
    }
  }
  for (std::size_t i = 0; i < config_.programs.size(); ++i) {
    for (const applications::printed_figure& f :
         applications::printed_figures(end_of(config_.folder / fmt::format("program{}.txt", i)))) {
      context.result().figure(fmt::format("program{}.{}", i, f.name), f.value, f.unit, "as the program prints it");
    }
  }
  if (!running.calls_unknown().empty()) {
    table& calls = context.result().table("sleeps in calls that the library does not know: the run depends on the machine",
                                          {{"program"}, {"call"}, {"times"}});
    for (const auto& [call, times] : running.calls_unknown()) {
      calls.row(fmt::format("program{}", call.first), call.second, times);
    }
  }
  report_overlap(context, running);
  const applications::client_statistics& n = running.counters();
  const auto figure = [&](const char* name, const counter& c, const char* help) {
    context.result().figure(name, static_cast<double>(c.value()), "1", help);
  };
  figure("requests", n.requests, "requests of programs' threads to the simulator");
  figure("unknown_waits", n.unknown_waits, "sleeps in calls that the library does not know: the run depends on the machine");
  figure("machine_clocks", n.machine_clocks, "reads of a clock of the machine, on which the run depends");
  figure("unproven_spins", n.unproven_spins, "loops taken to wait, without a proof: the run depends on the machine");
}

}  // namespace hcasim
