#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/rkey_reuse.h"
#include "tlm/base/random.h"

namespace hcasim {
namespace {

class rkey_reuse final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "rkey_reuse"; }
  [[nodiscard]] std::string_view summary() const override {
    return "bytes streamed into buffers that change under way: the R_Key kept, against standard verbs";
  }
  // The patent's prior art: a re-registered region has another R_Key.
  void defaults(system_config& c) override {
    c.nodes.resize(2);
    for (node_config& n : c.nodes) n.driver.rereg_key = driver::rereg_key_policy::renew;
  }
  [[nodiscard]] std::size_t driven_nodes(std::size_t /*nodes*/, std::size_t /*needed*/) const override {
    return 1 + o_.targets;
  }
  void knobs(knob_visitor& k) override {
    k.bytes("length", length_, 1, 1e12, "bytes streamed; of a file as many as it has at most");
    k.text("input", input_, "file to stream; empty: bytes made from the seed");
    k.bytes("buffer", o_.buffer, 4096, 1 << 30, "one host buffer; a multiple of 4 KiB");
    k.count("buffers", o_.buffers, 2, 1024, "host buffers mapped at once; under TCP windows at least a batch for each target");
    k.count("batch", o_.batch, 1, 1024,
            "buffers that come and go by one command, where a way has one for several: kept keys, the whole region");
    k.bytes("message", o_.message, 64, 1 << 30, "bytes of one RDMA WRITE");
    k.count("outstanding", o_.outstanding, 1, 4096, "WRITEs of each target outstanding at once");
    k.count("targets", o_.targets, 1, 64, "targets that write the buffers in turn and hold the keys");
    k.time("target_key_cost", o_.target_key_cost, 0_ps, 1000_ms,
           "time of a target's software to enter a key that it does not hold");
    k.count("quiet_swaps", o_.quiet_swaps, 0, 1000,
            "swaps after the stream, one at a time, that 'first byte' is measured with");
    k.choice("way", way_, {"all", "extend", "remap", "tcp_window", "whole", "reregister", "register", "rebind", "static"},
             "one of the ways alone, or all one after the other");
    k.flag("two_steps", o_.two_steps, "R_Key kept: remove and add by two commands instead of one that exchanges");
  }
  void run(run_context& context) override {
    if (o_.buffer % 4096 != 0) throw input_error("parameters.buffer: not a multiple of 4 KiB; round it");
    if (o_.buffers % o_.batch != 0) {
      throw input_error(
          fmt::format("parameters.batch: {} buffers are not whole batches of {}; choose a divisor", o_.buffers, o_.batch));
    }
    if (o_.two_steps && way_ != choice::all && way_ != choice::extend && way_ != choice::remap)
      throw input_error(
          "parameters.two_steps: has no effect without a kept R_Key; write way: extend or remap, or leave it out");
    const std::vector<std::uint8_t> stream = stream_from(context.seed());
    std::vector<kit::reuse_mode> modes;
    for (std::size_t i = 0; i < kit::reuse_modes; ++i) {
      if (way_ == choice::all || i + 1 == static_cast<std::size_t>(way_)) modes.push_back(static_cast<kit::reuse_mode>(i));
    }
    o_.parts = context.parts();
    std::vector<kit::reuse_outcome> outcomes;
    kit::start_reuse(context.build(), o_, stream, modes, outcomes);
    context.start();

    report(context, modes, outcomes);
    if (context.result().passed())
      context.result().judged_by(way_ == choice::all ? "goodput, R_Key kept" : "goodput",
                                 outcomes.front().gigabits_per_second(), "Gb/s", aim::high);
    context.result().figure("stream", static_cast<double>(stream.size()), "B", "bytes streamed in each way");
    tell_bounds(context);
  }

 private:
  enum class choice : std::uint8_t { all, extend, remap, tcp_window, whole, reregister, deregister, rebind, fixed };

  // Reports the bounds that hold every way alike over a long link, and are no matter of keys.
  void tell_bounds(run_context& context) const {
    const system_config& c = context.config();
    const link_config& l = c.link;
    const bool switched = c.fabric == topology::with_switch || (c.fabric == topology::automatic && c.nodes.size() > 2);
    const double rate = l.rate.gbps();
    const auto mtu = static_cast<double>(std::uint64_t{128} << o_.mtu);
    const double block = 64;
    const double blocks_of_packet = std::ceil((mtu + packet_overhead) / block);
    const double packet_ns = blocks_of_packet * block * 8 / rate;
    const double credit_ns = to_ns(2 * l.propagation) + packet_ns;
    const double round_ns = to_ns((switched ? 4 : 2) * l.propagation) + packet_ns;
    const auto bound = [&](const char* name, double gigabits, const std::string& help) {
      if (gigabits < rate) context.result().figure(name, gigabits, "Gb/s", help);
    };
    if (l.buffer != 0) {
      const double packets = std::floor(std::floor(static_cast<double>(l.buffer) / block) / blocks_of_packet);
      const double needed = std::ceil(credit_ns / packet_ns) * blocks_of_packet * block / 1024;
      bound("at most, by link.buffer", packets * mtu * 8 / credit_ns,
            fmt::format("what a link's credits carry over {:g} us, in any way; {:.0f} KiB carry its whole rate",
                        to_us(l.propagation), needed));
    }
    const double in_flight = static_cast<double>(o_.message) * o_.outstanding * o_.targets;
    bound("at most, by outstanding", in_flight * 8 / round_ns, "what the WRITEs under way carry in one round trip, in any way");
    const hca_config& target = c.nodes[1].hca;
    bound("at most, by requester.window", target.requester.window * mtu * o_.targets * 8 / round_ns,
          "what the packets that a target's adapter may have unacknowledged carry in one round trip, in any way");
    const double wqes = static_cast<double>(o_.message) * target.send_queue.max_outstanding * o_.targets;
    bound("at most, by send_queue.max_outstanding", wqes * 8 / round_ns,
          "what the WRITEs that a target's adapter works on at once carry in one round trip, in any way");
    const double mapped = static_cast<double>(o_.buffer) * o_.buffers;
    bound("at most, by buffers", mapped * 8 / round_ns,
          "what the mapped buffers hold for one round trip; not of a static region");
  }
  static void report(run_context& context, const std::vector<kit::reuse_mode>& modes,
                     const std::vector<kit::reuse_outcome>& outcomes) {
    table& t = context.result().table("one stream, eight ways to keep its buffers mapped",
                                      {{"way"}, {"goodput", "Gb/s"}, {"first byte", "us"}, {"keys sent"}, {"bytes"}});
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const kit::reuse_outcome& r = outcomes[i];
      t.row(kit::name_of(modes[i]), r.ok ? r.gigabits_per_second() : 0.0, to_us(r.first_byte), r.key_updates,
            r.ok ? "intact" : std::string(r.problem));
      if (!r.ok) context.fail(std::string(kit::name_of(modes[i])) + ": " + std::string(r.problem));
    }
    table& u = context.result().table("what each way took", {{"way"},
                                                             {"swaps"},
                                                             {"swap rate", "k/s"},
                                                             {"told p50", "us"},
                                                             {"told p99", "us"},
                                                             {"messages"},
                                                             {"commands"},
                                                             {"PCIe", "MB"},
                                                             {"MRC misses"},
                                                             {"table reads"}});
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const kit::reuse_outcome& r = outcomes[i];
      u.row(kit::name_of(modes[i]), r.swaps, r.ok ? r.swaps_per_second() * 1e-3 : 0.0, to_us(percentile(r, 50)),
            to_us(percentile(r, 99)), r.table_updates, r.commands, static_cast<double>(r.pcie_bytes) / 1e6, r.mrc_misses,
            r.walk_reads);
    }
  }
  static ps percentile(const kit::reuse_outcome& r, double p) { return ps(static_cast<std::int64_t>(r.told.percentile(p))); }
  [[nodiscard]] std::vector<std::uint8_t> stream_from(std::uint64_t seed) const {
    std::vector<std::uint8_t> bytes;
    if (input_.empty()) {
      bytes.resize(length_);
      random_stream random(seed, "stream");
      for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random.next());
      return bytes;
    }
    std::ifstream file(input_, std::ios::binary);
    if (file) {
      bytes.resize(length_);
      file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(length_));
      bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    }
    if (bytes.empty()) throw input_error("parameters.input: cannot read " + input_ + " or it is empty; name a readable file");
    return bytes;
  }

  static constexpr double packet_overhead = 8 + 12 + 16 + 4 + 2;  // LRH, BTH, RETH, ICRC, VCRC

  std::string input_;
  std::uint64_t length_ = 16_MiB;
  choice way_ = choice::all;
  kit::reuse_options o_;
};

const testbench_registration<rkey_reuse> registers_rkey_reuse;

}  // namespace
}  // namespace hcasim
