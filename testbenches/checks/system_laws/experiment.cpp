#include "testbenches/checks/system_laws/experiment.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "testbenches/checks/system_laws/balance.h"
#include "testbenches/kit/leak_check.h"
#include "testbenches/program/command_line/system_platform.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/execution/prepare.h"
#include "testbenches/program/processes/pool.h"
#include "testbenches/program/recording/resources.h"
#include "testbenches/program/results/hierarchy.h"

namespace hcasim::metamorphic {
namespace {

std::vector<std::string> kernel_said;

void on_kernel_report(const sc_core::sc_report& r, const sc_core::sc_actions& actions) {
  if (r.get_severity() != sc_core::SC_INFO) kernel_said.emplace_back(r.what());
  if (actions & sc_core::SC_THROW) throw r;
}

// Returns the counts of every counter in the middle part.
std::map<std::string, double> counts_of(const measurement& m) {
  std::map<std::string, double> all;
  for (std::size_t i = 0; i < m.entries().size(); ++i) {
    const statistic& s = m.entries()[i].reader.of();
    if (!std::holds_alternative<const counter*>(s.value)) continue;
    all[short_name(m.entries()[i].of->name()) + "." + s.name] = m.measured().values[i].over;
  }
  return all;
}

void simulate(const experiment& e, const setup& with, const knob_tree& tree, outcome& o) {
  std::unique_ptr<hcasim::system> s;
  try {
    s = std::make_unique<hcasim::system>("system", with.config);
  } catch (const std::invalid_argument& refusal) {
    o.refused = refusal.what();
    return;
  }
  measurement m;
  int marks = 0;
  traffic_result r = run_traffic(*s, with.traffic, [&](ps at) {
    static constexpr const char* parts[] = {"ramp", "middle", "drain"};
    if (marks != 0) m.end(at);
    if (marks < 3) m.begin(parts[marks], at);
    ++marks;
  });
  o.refused = r.refused;
  if (!o.refused.empty()) return;
  o.problem = r.problem;
  if (o.problem.empty() && !kernel_said.empty()) o.problem = "SystemC: " + kernel_said.front();
  o.rate = middle_rate(r);
  o.messages = r.completions.size();
  if (marks != 0 && marks != 4) m.end(now());
  m.finish(now());
  if (e.with_counts) o.counts = counts_of(m);
  if (marks == 4) {
    const measurement::part& middle = m.parts()[1];
    o.middle = to_seconds(middle.time);
    for (const resource_use& u : resources_of(tree, m, middle)) o.busy[u.unit + "." + u.name] = u.utilisation;
  }
  o.leak_check = kit::leak_check(*s);
  o.unbalanced = unbalanced(*s, with.traffic);
  o.unlike_little = unlike_little(m);
  o.bytes = r.bytes;
  if (e.with_times) o.completions = std::move(r.completions);
  [[maybe_unused]] auto* kept = s.release();  // the process ends here
}

nlohmann::json to_json(const outcome& o) {
  std::vector<std::int64_t> flat;
  for (const completed_message& m : o.completions) {
    flat.push_back(m.at.count());
    flat.push_back(m.qp);
    flat.push_back(m.number);
  }
  return {{"refused", o.refused},
          {"problem", o.problem},
          {"rate", o.rate},
          {"leak_check", o.leak_check},
          {"busy", o.busy},
          {"counts", o.counts},
          {"middle", o.middle},
          {"completions", flat},
          {"bytes", o.bytes},
          {"messages", o.messages},
          {"unbalanced", o.unbalanced},
          {"unlike_little", o.unlike_little}};
}

outcome from_json(const nlohmann::json& j) {
  outcome o;
  o.refused = j["refused"];
  o.problem = j["problem"];
  o.rate = j["rate"];
  o.leak_check = j["leak_check"].get<std::vector<std::string>>();
  o.busy = j["busy"].get<std::map<std::string, double>>();
  o.counts = j["counts"].get<std::map<std::string, double>>();
  o.middle = j["middle"];
  o.bytes = j["bytes"];
  o.messages = j["messages"];
  o.unbalanced = j["unbalanced"].get<std::vector<std::string>>();
  o.unlike_little = j["unlike_little"].get<std::vector<std::string>>();
  const auto flat = j["completions"].get<std::vector<std::int64_t>>();
  for (std::size_t i = 0; i + 2 < flat.size(); i += 3) {
    o.completions.push_back({ps(flat[i]), static_cast<std::uint32_t>(flat[i + 1]), static_cast<std::uint32_t>(flat[i + 2])});
  }
  return o;
}

}  // namespace

outcome run_here(const experiment& e) {
  sc_core::sc_report_handler::set_handler(on_kernel_report);
  outcome o;
  const auto machine = make_system_platform();
  setup with;
  e.of->arrange(with);
  if (e.adjust) e.adjust(with);
  *machine->config() = with.config;
  knob_tree tree = make_tree(*machine, nullptr);
  try {
    for (const setting& s : e.settings) tree.set(s.knob, s.value, {s.knob + "=" + s.value});
    machine->check();
    with.config = *machine->config();
    with.config.link.propagation += e.longer_cables;
  } catch (const std::exception& refusal) {
    o.refused = refusal.what();
    return o;
  }
  simulate(e, with, tree, o);
  return o;
}

std::vector<outcome> run_all(const std::vector<experiment>& list) {
  std::vector<outcome> outcomes(list.size());
  std::size_t next = 0;
  process_pool pool({.jobs = std::max(std::thread::hardware_concurrency(), 1U), .time_limit = std::chrono::seconds(120)},
                    [&](std::uint64_t id) { return to_json(run_here(list[id])).dump(); });
  pool.next = [&]() -> std::optional<std::uint64_t> {
    return next < list.size() ? std::optional<std::uint64_t>(next++) : std::nullopt;
  };
  pool.done = [&](const piece_outcome& p) {
    if (p.message.empty()) {
      outcomes[p.id].problem = p.timed_out ? "it takes the host more than 120 s" : "the process ended badly: " + p.output;
    } else {
      outcomes[p.id] = from_json(nlohmann::json::parse(p.message));
    }
  };
  pool.run();
  return outcomes;
}

std::vector<outcome> means_of(const std::vector<experiment>& list, unsigned interleavings) {
  std::vector<experiment> all;
  for (const experiment& e : list) {
    for (unsigned i = 0; i < interleavings; ++i) {
      all.push_back(e);
      all.back().longer_cables = ps(std::int64_t{1000} * i);
    }
  }
  const std::vector<outcome> runs = run_all(all);
  std::vector<outcome> means;
  for (auto first = runs.begin(); first != runs.end(); first += interleavings) {
    const auto last = first + interleavings;
    const auto bad = std::find_if(first, last, [](const outcome& o) { return !o.ran(); });
    means.push_back(bad == last ? *first : *bad);
    if (bad != last) continue;
    means.back().rate =
        std::accumulate(first, last, 0.0, [](double sum, const outcome& o) { return sum + o.rate; }) / interleavings;
  }
  return means;
}

}  // namespace hcasim::metamorphic
