#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "testbenches/kit/peer.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/peer_direct.h"

namespace hcasim {
namespace {

double percentile(std::vector<double> v, double p) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  const auto last = static_cast<double>(v.size() - 1);
  return v[static_cast<std::size_t>(std::ceil(p / 100 * last))];
}

class peer_direct final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "peer_direct"; }
  [[nodiscard]] std::string_view summary() const override {
    return "RDMA into and out of GPU memory against bouncing through host memory; and the memory taken away under full load";
  }
  void knobs(knob_visitor& k) override {
    k.choice("part", part_, {"both", "paths", "takings"},
             "the two paths by message size, the owner taking memory away, or both");
    k.bytes("smallest", paths_.smallest, 64, 0x1p24, "smallest message; the next ones are four times larger each");
    k.bytes("largest", paths_.largest, 64, 0x1p24, "largest message");
    k.bytes("bytes", paths_.bytes, 4096, 0x1p34, "bytes of each stream; at least 16 windows of messages");
    k.count("window", paths_.window, 2, 16, "messages under way at once");
    k.count("times", takings_.times, 1, 1e7, "how often memory is taken away");
    k.count("connections", takings_.doomed, 1, 64, "connections that use the memory that goes: WRITEs and READs in turn");
    k.count("background", takings_.background, 0, 64, "connections that use memory that stays");
    k.count("depth", takings_.window, 1, 256, "requests under way on each connection");
    k.bytes("size", takings_.size, 64, 262144, "bytes of each of those");
    k.time("within", takings_.within, 1_ns, 1000_ms, "the moment is random in this time after the load has built up");
  }
  void defaults(system_config& c) override {
    for (node_config& n : c.nodes) n.peer[0] = peer_device_config::gpu();
  }
  void run(run_context& context) override {
    if (paths_.smallest > paths_.largest) throw input_error("parameters.smallest: larger than largest; lower it");
    if (context.config().nodes.size() != 2) throw input_error("nodes: peer_direct needs 2");
    if (context.config().nodes[1].peer[0].kind == peer_kind::none) {
      throw input_error("node1.peer0.kind: peer_direct needs a device there; write gpu or nvme");
    }
    paths_.both_ends = context.config().nodes[0].peer[0].kind != peer_kind::none;
    hcasim::system& s = context.build();
    if (part_ != part::takings) compare(context, s);
    if (part_ != part::paths) take_away(context, s);
  }

 private:
  enum class part : std::uint8_t { both, paths, takings };

  void compare(run_context& context, hcasim::system& s) {
    kit::paths_result r;
    kit::start_paths(s, paths_, r);
    context.start();
    context.check(r.problem.empty(), r.problem.c_str());
    context.check(r.ok, "the streams did not come to their end");
    hcasim::result& out = context.result();
    table& t = out.table("paths", {{"direction"},
                                   {"path"},
                                   {"size", "B"},
                                   {"goodput", "Gb/s"},
                                   {"latency", "us"},
                                   {"CPU per message", "ns"},
                                   {"adapter up", "B/B"},
                                   {"adapter down", "B/B"},
                                   {"GPU up", "B/B"},
                                   {"GPU down", "B/B"}});
    for (const kit::path_outcome& o : r.outcomes) {
      if (o.messages == 0) continue;
      const double bytes = static_cast<double>(o.size * o.messages);
      const auto share = [bytes](std::uint64_t on_link) { return static_cast<double>(on_link) / bytes; };
      t.row(o.from_gpu ? "GPU to GPU"
            : o.into   ? "into the GPU"
                       : "out of the GPU",
            o.bounced ? "bounced" : "direct", o.size, o.goodput() / 1e9, to_us(o.latency), to_ns(o.cpu),
            share(o.pcie.adapter_up), share(o.pcie.adapter_down), share(o.pcie.gpu_up), share(o.pcie.gpu_down));
    }
    crossings(out, r, true, false, "into_the_gpu");
    crossings(out, r, false, false, "out_of_the_gpu");
    if (paths_.both_ends) crossings(out, r, true, true, "gpu_to_gpu");
  }

  // Reports where the path that is ahead changes from one size to the next.
  static void crossings(hcasim::result& out, const kit::paths_result& r, bool into, bool from_gpu, const std::string& where) {
    std::map<std::uint64_t, const kit::path_outcome*> direct;
    std::map<std::uint64_t, const kit::path_outcome*> bounced;
    for (const kit::path_outcome& o : r.outcomes) {
      if (o.into == into && o.from_gpu == from_gpu) (o.bounced ? bounced : direct)[o.size] = &o;
    }
    const auto first_bounced = [&](auto better) {
      for (const auto& [size, d] : direct) {
        const auto b = bounced.find(size);
        if (b != bounced.end() && better(*b->second, *d)) return static_cast<double>(size);
      }
      return 0.0;
    };
    out.figure("goodput_crossover_" + where, first_bounced([](const kit::path_outcome& b, const kit::path_outcome& d) {
                 return b.goodput() > 1.005 * d.goodput();
               }),
               "B", "smallest message whose goodput is higher by half a percent when it is bounced; 0: none");
    out.figure("latency_crossover_" + where,
               first_bounced([](const kit::path_outcome& b, const kit::path_outcome& d) { return b.latency < d.latency; }), "B",
               "smallest message that arrives earlier when it is bounced; 0: none");
  }

  void take_away(run_context& context, hcasim::system& s) {
    kit::takings_result r;
    kit::start_takings(s, takings_, context.seed(), r);
    context.start();
    context.check(r.problem.empty(), r.problem.c_str());
    context.check(r.ok && r.takings.size() == takings_.times, "the memory was not taken away as often as asked for");
    context.check(r.late_bytes == 0, ("bytes moved after the callback had returned: " + r.violation).c_str());
    hcasim::result& out = context.result();
    std::vector<double> all;
    std::map<unsigned, std::vector<double>> by_load;  // by the power of two that in_flight fits into
    for (const kit::taking& k : r.takings) {
      all.push_back(to_us(k.latency));
      by_load[static_cast<unsigned>(std::bit_width(k.in_flight))].push_back(to_us(k.latency));
    }
    out.figure("bytes_after_callback", static_cast<double>(r.late_bytes), "B",
               "touched in the GPU's memory after its owner had it back");
    out.headline("callback_p50", percentile(all, 50), "us", aim::low, "of the invalidation callback");
    out.figure("callback_p99", percentile(all, 99), "us", "of the invalidation callback");
    out.figure("callback_max", percentile(all, 100), "us", "of the invalidation callback");
    table& t = out.table("callback latency against accesses in flight",
                         {{"in flight from"}, {"to"}, {"times"}, {"p50", "us"}, {"p99", "us"}, {"max", "us"}});
    for (const auto& [width, v] : by_load) {
      const std::uint64_t from = width == 0 ? 0 : std::uint64_t{1} << (width - 1);
      t.row(from, width == 0 ? 0 : 2 * from - 1, static_cast<std::uint64_t>(v.size()), percentile(v, 50), percentile(v, 99),
            percentile(v, 100));
    }
    out.operations(r.requests);
  }

  part part_ = part::both;
  kit::path_options paths_;
  kit::taking_options takings_;
};

const testbench_registration<peer_direct> registers_peer_direct;

}  // namespace
}  // namespace hcasim
