#include <algorithm>
#include <bit>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "models/system/limits.h"
#include "testbenches/kit/latency_histogram.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/schedules/collectives.h"
#include "testbenches/schedules/flow_list.h"
#include "testbenches/schedules/goal.h"
#include "testbenches/schedules/rank_program.h"

namespace hcasim {
namespace {

namespace sch = schedules;

class schedule_testbench final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "schedule"; }
  [[nodiscard]] std::string_view summary() const override {
    return "messages between ranks with dependencies: a collective operation over 2 to 1024 hosts, a GOAL schedule or a flow "
           "list";
  }
  void defaults(system_config& c) override { c.nodes.resize(2); }
  [[nodiscard]] std::size_t driven_nodes(std::size_t nodes, std::size_t /*needed*/) const override {
    return std::min<std::size_t>(nodes, most_nodes);
  }
  void knobs(knob_visitor& k) override {
    k.path("file", file_, {}, "GOAL schedule, one rank for each host; empty: the collective operation");
    k.path("flows", flows_, {}, "list of flows: source, target, priority, port, bytes and start in seconds, a line each");
    k.choice("collective", collective_, sch::collective_names, "operation over all hosts");
    k.bytes("size", collective_options_.bytes, 1, 0x1p30, "bytes of a rank's whole vector, as nccl-tests counts them");
    k.count("repetitions", collective_options_.repetitions, 1, 100'000, "collective operations, one after the other");
    k.time("reduce", collective_options_.reduce_per_kib, 0_ps, 1_ms, "time to add 1 KiB to another");
    k.count("times", run_.times, 1, 100'000, "the whole is run so often, each time from a barrier");
    k.flag("warm_up", run_.warm_up, "the whole is run once more before, which is not measured");
    k.bytes("eager", run_.port.eager, 0, 65536, "largest message that is sent eagerly; larger ones go by rendezvous");
    k.choice("rendezvous", run_.port.way, {"read", "write"}, "the receiver READs, or the sender WRITEs when it is told where");
    k.choice("registration", run_.port.buffers.way, {"each", "cached", "window"},
             "of a rendezvous' buffers: for each message, kept in a cache, or a type 2 window bound for each remote access");
    k.count("cached", run_.port.buffers.cached, 1, 1 << 20, "registrations that the cache keeps");
    k.count("buffers", run_.port.buffers.buffers, 1, 65536, "buffers of a rank that its rendezvous use in turn");
    k.count("receives", run_.port.receives, 16, 16384, "receives of a rank's SRQ");
    k.count("send_depth", run_.port.send_depth, 2, 16384, "requests outstanding to each peer");
    k.choice("mtu", mtu_, {"256", "512", "1024", "2048", "4096"}, "bytes of payload in a packet at most");
  }
  void run(run_context& context) override {
    refuse_what_cannot_matter();
    make_schedule(context.config().nodes.size());
    refuse_rendezvous_without_messages();
    run_.port.mtu = static_cast<kit::ibv_mtu>(static_cast<int>(mtu_) + 1);
    run_.parts = context.parts();
    run_.keep_times = !flows_.empty();
    if (run_.warm_up) ++run_.times;
    auto& result = context.make<sch::run_result>();
    const auto waiting = sch::start_schedule(context.build(), schedule_, run_, result);
    context.start();
    if (!result.ok) return context.fail(deadlock(waiting));
    report(context, result);
  }

 private:
  enum class mtu : std::uint8_t { b256, b512, b1024, b2048, b4096 };

  void refuse_what_cannot_matter() const {
    const sch::collective_options d;
    const auto& o = collective_options_;
    const bool asked = collective_ != sch::collective::ring_all_reduce || o.bytes != d.bytes ||
                       o.repetitions != d.repetitions || o.reduce_per_kib != d.reduce_per_kib;
    if (!file_.empty() && !flows_.empty())
      throw input_error("parameters.flows: there is a schedule in file, too; leave one out");
    if ((!file_.empty() || !flows_.empty()) && asked) {
      throw input_error(
          fmt::format("parameters.{}: collective, size, repetitions and reduce say nothing of a file; leave them out",
                      file_.empty() ? "flows" : "file"));
    }
    if (run_.port.buffers.way != sch::registration::cached && run_.port.buffers.cached != sch::buffer_options{}.cached)
      throw input_error("parameters.cached: has no effect without registration: cached; leave it out");
  }
  void refuse_rendezvous_without_messages() const {
    const sch::port_options d;
    const sch::port_options& o = run_.port;
    const bool asked = o.way != d.way || o.buffers.way != d.buffers.way || o.buffers.cached != d.buffers.cached ||
                       o.buffers.buffers != d.buffers.buffers;
    std::uint64_t largest = 0;
    for (const auto& r : schedule_.ranks) {
      for (const auto& i : r.operations) largest = std::max(largest, i.bytes);
    }
    if (asked && largest <= o.eager) {
      throw input_error(
          fmt::format("parameters.eager: no message is larger than {} bytes, so rendezvous, registration, cached and buffers "
                      "have no effect; "
                      "lower eager, or leave them out",
                      o.eager));
    }
  }
  void make_schedule(std::size_t hosts) {
    if (file_.empty() && flows_.empty()) {
      collective_options_.ranks = static_cast<std::uint32_t>(hosts);
      if (collective_options_.bytes < hosts)
        throw input_error(fmt::format("parameters.size: {} ranks need at least a byte each; raise it", hosts));
      schedule_ = sch::make(collective_, collective_options_);
      return;
    }
    const std::string& name = file_.empty() ? flows_ : file_;
    std::ifstream in(name);
    if (!in) {
      throw input_error(
          fmt::format("parameters.{}: cannot read '{}'; name a readable file", file_.empty() ? "flows" : "file", name));
    }
    try {
      schedule_ =
          file_.empty() ? sch::read_flows(in, name, {.ranks = static_cast<std::uint32_t>(hosts)}) : sch::read_goal(in, name);
      sch::check(schedule_);
    } catch (const sch::schedule_error& e) {
      throw input_error(e.what());
    }
    if (schedule_.ranks.size() != hosts) {
      throw input_error(fmt::format("nodes: the schedule has {0} ranks, and there are {1} hosts; write nodes: {0}",
                                    schedule_.ranks.size(), hosts));
    }
  }
  [[nodiscard]] std::string deadlock(const sch::waiting_operations& waiting) const {
    std::string text;
    constexpr std::uint32_t shown = 8;
    std::uint32_t ranks = 0;
    for (std::uint32_t r = 0; r < schedule_.ranks.size(); ++r) {
      const auto w = waiting(r);
      if (w.empty() || ++ranks > shown) continue;
      text += fmt::format("{}rank {} waits for {}", text.empty() ? "" : "; ", r, sch::place_of(schedule_, r, w.front()));
    }
    if (ranks > shown) text += fmt::format("; and {} more ranks", ranks - shown);
    return text.empty() ? "the schedule did not begin" : "the schedule stands still: " + text;
  }
  void report(run_context& context, const sch::run_result& r) const {
    hcasim::result& out = context.result();
    const double seconds = to_seconds(r.time) / r.times;
    out.headline("completion_time", seconds * 1e6, "us", aim::low,
                 "from the barrier to the end of the last rank, of each time");
    if (!flows_.empty()) report_flows(out, r);
    if (file_.empty() && flows_.empty()) {
      const double each = seconds / collective_options_.repetitions;
      const double rate = static_cast<double>(collective_options_.bytes) * 8 / each / 1e9;
      const auto ranks = collective_options_.ranks;
      out.figure("operation_time", each * 1e6, "us", "of one collective operation");
      out.figure("algorithm_bandwidth", rate, "Gb/s", "size / operation_time");
      out.figure("bus_bandwidth", rate * sch::bus_factor(collective_, ranks), "Gb/s",
                 "share of the bytes that a link must carry at least, as nccl-tests defines it, / operation_time");
    }
    totals(out, r);
    table& t = out.table("ranks", {{"rank"},
                                   {"time", "us"},
                                   {"calculated", "us"},
                                   {"asleep", "us"},
                                   {"eager"},
                                   {"rendezvous"},
                                   {"unexpected"},
                                   {"registered"},
                                   {"bound"}});
    for (std::size_t i = 0; i < r.ranks.size(); ++i) {
      const sch::rank_result& k = r.ranks[i];
      t.row(i, to_us(k.time), to_us(k.calculated), to_us(k.asleep), k.port.eager, k.port.rendezvous, k.port.unexpected,
            k.buffers.registered, k.buffers.bound);
    }
  }
  // The time of a flow is from its start to the end of its receive, in the last time.
  void report_flows(hcasim::result& out, const sch::run_result& r) const {
    std::map<std::uint64_t, kit::latency_histogram> by_size;  // key: smallest size of the row
    kit::latency_histogram all;
    std::map<std::uint32_t, ps> start;
    for (const auto& rank : schedule_.ranks) {
      for (const auto& o : rank.operations) {
        if (o.what == sch::action::send) start[o.tag] = o.time;
      }
    }
    for (std::size_t rank = 0; rank < r.ranks.size(); ++rank) {
      const auto& operations = schedule_.ranks[rank].operations;
      for (std::size_t i = 0; i < operations.size(); ++i) {
        if (operations[i].what != sch::action::receive) continue;
        const ps took = r.ranks[rank].times[i].ended - r.began - start.at(operations[i].tag);
        all.add(took);
        by_size[std::bit_floor(operations[i].bytes)].add(took);
      }
    }
    out.figure("flows", static_cast<double>(all.count()), "", "of one time");
    out.figure("flow_time_p50", all.percentile(0.5) / 1e6, "us", "from its start to the end of its receive");
    out.figure("flow_time_p99", all.percentile(0.99) / 1e6, "us", "");
    out.figure("flow_time_max", all.most() / 1e6, "us", "");
    table& t = out.table("flows by size", {{"from", "B"}, {"flows"}, {"p50", "us"}, {"p99", "us"}, {"max", "us"}});
    for (const auto& [size, times] : by_size)
      t.row(size, times.count(), times.percentile(0.5) / 1e6, times.percentile(0.99) / 1e6, times.most() / 1e6);
  }
  static void totals(hcasim::result& out, const sch::run_result& r) {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t registered = 0;
    std::uint64_t reused = 0;
    for (const sch::rank_result& k : r.ranks) {
      messages += k.port.eager + k.port.rendezvous;
      bytes += k.port.bytes;
      registered += k.buffers.registered;
      reused += k.buffers.reused;
    }
    out.figure("messages", static_cast<double>(messages), "", "of all ranks, with those that are not measured");
    out.figure("bytes", static_cast<double>(bytes), "B", "of these messages");
    if (registered + reused != 0) {
      out.figure("registration_hit_ratio", static_cast<double>(reused) / static_cast<double>(registered + reused), "1",
                 "buffers of rendezvous that were registered already");
    }
  }

  std::string file_;
  std::string flows_;
  sch::collective collective_ = sch::collective::ring_all_reduce;
  sch::collective_options collective_options_;
  sch::run_options run_;
  mtu mtu_ = mtu::b1024;
  sch::schedule schedule_;
};

const testbench_registration<schedule_testbench> registers_schedule;

}  // namespace
}  // namespace hcasim
