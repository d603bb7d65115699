#include <cstdio>
#include <stdexcept>

#include <fmt/format.h>

#include "models/system/system.h"
#include "testbenches/gateway/gateway.h"
#include "testbenches/gateway/loopback.h"
#include "testbenches/program/execution/interrupt.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/verbs_programs/program_set.h"

namespace hcasim {
namespace {

using namespace hcasim::gateway;

class gids_outside final : public applications::gid_map {
 public:
  explicit gids_outside(const network& hosts) : hosts_(hosts) {}
  [[nodiscard]] applications::gid of_node(std::uint32_t node) const override {
    const gid g = gid_of(hosts_.node(node));
    return {g.prefix, g.interface};
  }
  [[nodiscard]] std::uint16_t lid_of(const applications::gid& g) const override {
    const auto ip = ip_of(gid{g.prefix, g.interface});
    return ip ? hosts_.lid_of(*ip) : std::uint16_t{0};
  }

 private:
  const network hosts_;
};

struct gateway_options {
  std::string listen = "127.0.0.1:47912";
  std::string peer;
  std::string address = "192.168.77.1";
  std::string loopback;
  ps patience = 60'000_ms;

  void knobs(knob_visitor& k) {
    k.text("listen", listen, "loopback address and UDP port that frames come to, one a datagram");
    k.text("peer", peer, "where frames go before any has come; empty: to the first sender");
    k.text("address", address, "IPv4 address of node0 outside; node1 has the next, and so on");
    k.text("loopback", loopback,
           "127.x.y: where the programs' own addresses lie (127.x.y.n is host n's); empty: where there is room");
    k.time("patience", patience, 1_ms, never,
           "wall-clock time without any frame from outside after which the run ends; never: it goes on");
  }
};

// Reports when simulated time falls behind while packets pass: the first time, and at each doubling.
class lag_report {
 public:
  void look(const pacer& p, std::uint64_t packets) {
    if (packets == 0) {
      before_ = p.slipped();
      return;
    }
    const ps slipped = p.slipped() - before_;
    if (slipped < next_) return;
    next_ = std::max(2 * slipped, least);
    fmt::print(stderr, "gateway: the host does not keep up: simulated time is {:.0f} ms behind the wall clock\n",
               static_cast<double>(slipped.count()) / 1e9);
  }

 private:
  static constexpr ps least = 100_ms;
  ps before_{0};  // while programs were loaded
  ps next_ = least;
};

class gateway_testbench final : public testbench {
 public:
  gateway_testbench() {
    constexpr ps long_nap = 1_ms;  // a landing packet wakes a program that polls
    programs_.config().time.poll_stretch = long_nap;
    programs_.config().time.spin_stretch = long_nap;
  }
  [[nodiscard]] std::string_view name() const override { return "gateway"; }
  [[nodiscard]] std::string_view summary() const override {
    return "programs on simulated adapters that talk to RoCEv2 hosts outside the simulation, at wall-clock speed";
  }
  void defaults(system_config& c) override {
    c.nodes.resize(1);
    c.nodes[0].hca.port.mtu = 1_KiB;  // the largest MTU for Ethernet's 1500 B
    c.outside = {network::first_outside_lid, network::hosts};
    c.stall_limit = never;
    c.stall_events = 0;
  }
  [[nodiscard]] std::size_t driven_nodes(std::size_t nodes, std::size_t /*needed*/) const override { return nodes; }
  void knobs(knob_visitor& k) override {
    options_.knobs(k);
    gateway_.knobs(k);
    programs_.knobs(k);
  }

  [[nodiscard]] bool watches_itself() const override { return true; }
  void run(run_context& context) override {
    const network hosts = hosts_of(context);
    loopback& world = open(context);
    hcasim::system& s = context.build();
    auto& gate = context.make<router>("gateway", gateway_, hosts, s.config().link.virtual_lanes, world, s.packets());
    s.plug_outside(gate.out, gate.in);
    applications::programs& running = make(context, s, hosts);
    const interrupt_watch signals;
    running.stop_by(signals.fd());
    running.start();
    gate.begin([&, silent_since = ps(0), seen = std::uint64_t{0}]() mutable {
      return turn(gate, world, running, silent_since, seen);
    });
    context.start();
    for (const std::string& f : running.failures()) context.fail(f);
    programs_.report(context, running);
    report(context, gate, world);
  }

 private:
  [[nodiscard]] network hosts_of(const run_context& context) const {
    const auto first = parse_ip(options_.address);
    const auto nodes = static_cast<std::uint32_t>(context.config().nodes.size());
    for (std::uint32_t i = 0; i < nodes; ++i) {
      if (context.config().nodes[i].hca.port.count == 1) continue;
      throw input_error(fmt::format("node{}.hca.port.count: hosts outside reach one port of an adapter; write 1", i));
    }
    if (!first) throw input_error(fmt::format("address: '{}' is not an IPv4 address; write 192.168.77.1", options_.address));
    if (!network::has_room(*first, nodes)) {
      throw input_error(fmt::format("address: {} node{} from {} on {} not within x.y.z.1 to x.y.z.254; begin lower", nodes,
                                    nodes == 1 ? "" : "s", options_.address, nodes == 1 ? "is" : "are"));
    }
    return {*first, nodes};
  }

  static udp_address read(const char* knob, const std::string& text) {
    try {
      return parse_loopback(text);
    } catch (const std::invalid_argument& e) {
      throw input_error(fmt::format("{}: {}", knob, e.what()));
    }
  }
  loopback& open(run_context& context) const {
    const udp_address own = read("listen", options_.listen);
    std::optional<udp_address> peer;
    if (!options_.peer.empty()) peer = read("peer", options_.peer);
    if (peer == own) throw input_error(fmt::format("peer: {} is the gateway's own address; choose another", options_.peer));
    try {
      return context.make<loopback>(own, peer);
    } catch (const std::invalid_argument& e) {
      throw input_error(fmt::format("listen: {}", e.what()));
    }
  }

  applications::programs& make(run_context& context, hcasim::system& s, const network& hosts) {
    applications::programs_config& c = programs_.config();
    c.gids = &context.make<gids_outside>(hosts);
    c.network = options_.address;
    c.first_host = hosts.node(0) % network::hosts;
    c.loopback = options_.loopback;
    try {
      return programs_.make(context, s, "gateway: there is no program; write hcasim gateway -- ibv_rc_pingpong -g 0");
    } catch (const input_error&) {
      throw;
    } catch (const std::exception& e) {
      throw input_error(fmt::format("gateway: {}", e.what()));
    }
  }

  // Called after each look outside; returns false when the run is over.
  bool turn(const router& gate, loopback& world, applications::programs& running, ps& silent_since, std::uint64_t& seen) {
    running.look_outside();
    if (running.all_ended()) return false;
    const ps wall = world.wall();
    if (gate.frames() != seen) {
      seen = gate.frames();
      silent_since = wall;
    }
    lag_.look(gate.pace(), gate.entered());
    if (options_.patience != never && wall - silent_since > options_.patience && running.failures().empty()) {
      running.stop(fmt::format(
          "{} has come to {} for {:.1f} s; is the other side up, and does it send its frames there (-netdev dgram ... "
          "remote.port={})? "
          "--patience waits longer",
          seen == 0 ? "no frame" : "no further frame", options_.listen, static_cast<double>(options_.patience.count()) / 1e12,
          options_.listen.substr(options_.listen.rfind(':') + 1)));
    }
    return true;
  }

  static void report(run_context& context, const router& gate, loopback& world) {
    const auto ms = [](ps t) { return static_cast<double>(t.count()) / 1e9; };
    result& r = context.result();
    r.figure("wall_time", ms(world.wall()), "ms", "wall-clock time of the run");
    r.figure("most_lag", ms(gate.pace().most_lag()), "ms", "farthest that simulated time was behind the wall clock");
    r.figure("slipped", ms(gate.pace().slipped()), "ms",
             "wall-clock time not caught up: simulated time stays behind by this much");
    r.figure("entered", static_cast<double>(gate.entered()), "packets", "frames from outside that entered the fabric");
    r.figure("left", static_cast<double>(gate.left()), "packets", "packets of the fabric that left as frames");
    table& rows = r.table("frames", {{"frames from outside"}, {"number"}});
    for (std::size_t k = 0; k < kinds; ++k) {
      rows.row(std::string(to_text(static_cast<frame_kind>(k))), gate.seen(static_cast<frame_kind>(k)));
    }
    rows.row(std::string("lost on the way in"), gate.lost_in() + world.overflowed());
    rows.row(std::string("lost on the way out"), gate.lost_out());
  }

  gateway_options options_;
  gateway_config gateway_;
  program_set programs_;
  lag_report lag_;
};

const testbench_registration<gateway_testbench> registers_gateway;

}  // namespace
}  // namespace hcasim
