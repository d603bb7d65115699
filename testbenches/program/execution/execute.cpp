#include "testbenches/program/execution/execute.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iostream>
#include <system_error>

#include <fmt/format.h>

#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/results/hierarchy.h"
#include "testbenches/program/results/report.h"
#include "tlm/base/missing_part.h"
#include "tlm/base/reports.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

// Warnings and errors of SystemC make the run fail; its informations are not shown.
std::vector<std::string>* kernel_messages = nullptr;

// A fatal report ends the run, too, by the way of an exception: there is a result, which says why.
void on_kernel_report(const sc_core::sc_report& r, const sc_core::sc_actions& actions) {
  const bool fatal = r.get_severity() == sc_core::SC_FATAL;
  if (fatal && !kernel_messages) {
    std::cerr << "hcasim: SystemC: " << text_of(r) << std::endl;
    std::abort();
  }
  if (fatal || (actions & sc_core::SC_THROW)) throw r;
  if (r.get_severity() != sc_core::SC_INFO && kernel_messages) kernel_messages->push_back("SystemC: " + text_of(r));
}

// Tells the faults that were injected, and their effect on packets and QPs: the cause of many a failure.
void tell_faults(run_context& context) {
  fault_effects effects = context.effects();
  const std::vector<unit*> units = all_units();
  const std::uint64_t all = sum_counters(units, {"end0_lost", "end1_lost"});
  const std::uint64_t to_faults = std::min(effects.lost_packets, all);
  const std::uint64_t corrupted = sum_counters(units, {"end0_corrupted", "end1_corrupted"});
  if (all + corrupted != 0) {
    std::vector<unit*> requesters = units;
    std::erase_if(requesters, [](const unit* u) { return std::string_view(u->basename()) != "requester"; });
    context.fail(fmt::format(
        "on the way {} packets were lost to faults, {} by chance (link.loss), and {} corrupted (link.corruption), on purpose; "
        "{} QPs failed at their requester, after {} timeouts",
        to_faults, all - to_faults, corrupted, sum_counters(requesters, {"errors"}), sum_counters(requesters, {"timeouts"})));
  }
  for (std::string& sentence : effects.happened) context.fail(std::move(sentence));
}

// Throws input_error for a limit of the machine, which is no failure of the testbench.
void run_listening(testbench& bench, run_context& context, std::vector<std::string>& messages) {
  struct listening {
    explicit listening(std::vector<std::string>& to) { kernel_messages = &to; }
    ~listening() { kernel_messages = nullptr; }
  } const all(messages);
  try {
    bench.run(context);
    context.finish();
  } catch (const input_error&) {
    throw;
  } catch (const missing_part&) {
    throw;
  } catch (const run_stopped& e) {
    context.result().stop(e.what());
  } catch (const std::system_error& e) {
    throw input_error(cause(e));
  } catch (const sc_core::sc_report& e) {
    if (is_out_of_memory(e)) throw input_error(std::string(out_of_memory));
    const std::string_view type = e.get_msg_type();
    const bool own = type.starts_with("hcasim") || type == "uncaught exception";  // of a thread of software
    context.fail("the run was aborted: " + (own ? std::string(e.get_msg()) : text_of(e)));
  } catch (const std::exception& e) {
    if (is_out_of_memory(e)) throw input_error(std::string(out_of_memory));
    context.fail(std::string("the run was aborted: ") + e.what());
  }
}

}  // namespace

void run_guarded(testbench& bench, run_context& context) {
  std::vector<std::string> messages;
  sc_core::sc_report_handler::set_handler(on_kernel_report);
  run_listening(bench, context, messages);
  if (const std::string waits = context.result().passed() ? std::string() : context.starved(); !waits.empty()) {
    context.fail("nothing was left to do, but something waits; " + waits);
  }
  if (!context.result().passed()) tell_faults(context);
  for (std::string& m : messages) context.fail(std::move(m));
}

ordered_json host_speed::json() const {
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

std::string host_speed::text() const {
  return fmt::format(
      "host speed  {} operations/s, {} packets/s of wall-clock time\n            {} operations, {} packets, {} "
      "hand-overs, {} delta cycles in {:.3f} s ({:.3f} s in all), {:.0f} MiB\n",
      number_text(std::round(per_second(operations))), number_text(std::round(per_second(packets))), operations, packets,
      activations, deltas, simulating, wall, peak_mib);
}

host_speed measure_host(const run_context& context, const std::vector<unit*>& units,
                        std::chrono::steady_clock::time_point begin) {
  const result& r = context.result();
  host_speed s;
  s.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  s.simulating = context.simulating_seconds();
  s.operations = r.operations() ? r.operations() : sum_counters(units, {"operations"});
  s.packets = r.packets() ? r.packets() : sum_counters(units, {"egress_packets"});
  s.activations = event_queue::instance().hand_overs();
  s.deltas = sc_core::sc_delta_count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  s.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  return s;
}

}  // namespace hcasim
