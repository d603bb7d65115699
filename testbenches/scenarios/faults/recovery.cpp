#include "testbenches/scenarios/faults/recovery.h"

#include <memory>

#include "testbenches/kit/left_over.h"
#include "testbenches/scenarios/faults/breaker.h"

namespace hcasim::faults {
namespace {

bool makes_a_device_fail(const fault_kind& k) {
  return k.name == "surprise_removal" || k.name == "malformed_tlp" || k.name == "function_reset" || k.name == "firmware_hang";
}

struct breaker_thread {
  hcasim::system& s;
  recovery_options o;
  recovery_outcome& out;
  random_stream random;
  std::vector<weakness> ways;

  void run(cpu& c) {
    const auto wait_for = [&](auto condition, ps limit) {
      const ps deadline = c.time() + limit;
      while (!condition() && !out.stream.over && c.time() < deadline) {
        c.spend(2_us);
        c.sync();
      }
      return condition();
    };
    while (out.broken < o.failures && !out.stream.over) {
      if (!wait_for([&] { return all_up(s); }, 100_ms)) break;
      const std::uint64_t goal = out.stream.done + o.between;
      if (!wait_for([&] { return out.stream.done >= goal; }, 100_ms)) break;
      if (out.broken != 0) ++out.streamed_on;
      c.spend(ps(static_cast<std::int64_t>(random.below(20'000'000))));
      c.sync();
      const weakness& w = ways[random.below(ways.size())];
      ++out.ways[w.place + " " + std::string(w.what().name)];
      ++out.broken;
      const std::uint64_t failures = all_failures();
      w.unit->inject(w.kind,
                     {.count = 1, .length = ps(static_cast<std::int64_t>(random.below(30'000'000))), .draw = random.next()});
      // A fault that was asked for waits for something to happen to.
      wait_for([&] { return all_failures() > failures; }, 50_ms);
      if (all_failures() == failures) {
        out.problem = w.place + " " + std::string(w.what().name) + " was not noticed";
        break;
      }
    }
    const std::uint64_t goal = out.stream.done + o.between;
    if (wait_for([&] { return out.stream.done >= goal; }, 100_ms)) ++out.streamed_on;
    finished = true;
  }
  std::uint64_t all_failures() {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < s.nodes(); ++i) n += s.at(i).device().counters().failures.value();
    return n;
  }
  bool finished = false;
};

}  // namespace

void watch_closely(system_config& c) {
  c.nodes.resize(2);
  for (node_config& n : c.nodes) {
    n.driver.health_period = 100_us;
    n.driver.command_timeout = 500_us;
    n.driver.reset_timeout = 10_ms;
  }
}

void start_recovery(hcasim::system& s, const recovery_options& o, std::uint64_t seed, recovery_outcome& out) {
  auto k = std::make_shared<breaker_thread>(breaker_thread{s, o, out, random_stream(seed, "recovery"), {}, false});
  for (const weakness& w : weaknesses(s)) {
    if (makes_a_device_fail(w.what())) k->ways.push_back(w);
  }
  start_stream(
      s, o.stream, [k](const stream_state&) { return !k->finished; }, out.stream);
  s.at(0).host.run("breaker", [k](cpu& c) { k->run(c); });
}

void judge_recovery(hcasim::system& s, recovery_outcome& out) {
  out.left = kit::left_over(s);
  for (std::size_t i = 0; i < s.nodes(); ++i) {
    const fw_usage u = s.at(i).hca.command_unit.usage();
    if ((u.qps | u.cqs | u.mrs | u.spaces | u.segments | u.extent_lines) != 0 || u.table_bytes != 0) {
      out.left.push_back("node" + std::to_string(i) + ": the adapter has " + std::to_string(u.qps) + " QPs, " +
                         std::to_string(u.cqs) + " CQs, " + std::to_string(u.mrs) + " keys, " + std::to_string(u.table_bytes) +
                         " B of tables");
    }
  }
}

}  // namespace hcasim::faults
