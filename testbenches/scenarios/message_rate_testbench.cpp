#include <algorithm>
#include <bit>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "models/system/system_config.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/message_rate.h"

namespace hcasim {
namespace {

class message_rate final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "message_rate"; }
  [[nodiscard]] std::string_view summary() const override {
    return "a stream of RDMA WRITEs or READs over any number of QPs and regions";
  }
  void knobs(knob_visitor& k) override {
    k.count("messages", o_.messages, 1, 1e12, "messages that are measured; with until: steady, at most");
    k.choice("until", o_.until, {"messages", "steady"},
             "end of the measurement: its messages, or when the rate is known to `precision` by batch means");
    k.ratio("precision", o_.precision, 0.001, 0.5,
            "until: steady: half a confidence interval of 95 %, as a share of the message rate");
    k.bytes("size", o_.size, 1, 2147483648.0, "bytes of each");
    k.count("window", o_.window, 1, 16384, "outstanding on each QP");
    k.count("outstanding", o_.outstanding, 0, 16384, "on all QPs together, each message on the next QP; 0: window on each");
    k.count("read_depth", read_depth_, 0, 255, "READs under way on each QP; 0: as many as the adapters allow");
    k.count("qps", o_.qps, 1, 65536, "QPs, used in turn");
    k.count("regions", o_.regions, 1, 1 << 20, "target regions, used in turn");
    k.text("warm_up", warm_up_,
           "messages before those that are measured; auto: until cache hit ratios and the rate are steady");
    k.count(
        "starts", o_.starts, 1, 1024,
        "parts that the messages are measured in, each from an idle machine and after one message more: which messages share "
        "a post follows from the start");
    k.choice("operation", operation_, {"write", "read"}, "what the messages are");
    k.choice("mtu", mtu_, {"256", "512", "1024", "2048", "4096"}, "bytes of payload in a packet at most");
    k.choice("order", o_.order, {"in_turn", "random"}, "regions and places in them: in turn and at their start, or at random");
    k.bytes("region", o_.region_bytes, 1, 0x1p40, "bytes of each target region; at least one message");
    k.bytes("page", o_.page, 0, 0x1p30,
            "page size of the target's memory, a power of two from 4 KiB on; 0: the host's own, 4 KiB");
    k.count("batch", o_.batch, 0, 16384, "messages of one post; 0: as many as the last poll freed");
    k.flag("inline", o_.send_inline, "the payload travels in the WQE");
  }
  [[nodiscard]] driver_objects objects_at(std::size_t /*node*/) const override {
    return {.qps = o_.qps, .cqs = 1, .keys = o_.regions + 1};
  }
  void run(run_context& context) override {
    if (o_.page != 0 && (o_.page < 4096 || !std::has_single_bit(o_.page))) {
      throw input_error("parameters.page: not a power of two from 4 KiB on; write for example 2 MiB");
    }
    if (o_.batch > o_.window) throw input_error("parameters.batch: larger than window, so it would never be posted; lower it");
    if (o_.outstanding != 0 && o_.window != kit::stream_options().window) {
      throw input_error("parameters.window: outstanding counts the messages of all QPs instead; leave one of them out");
    }
    if (o_.batch != 0 && o_.outstanding != 0) {
      throw input_error("parameters.batch: with outstanding, a message is a post of its own; leave one of them out");
    }
    check_until();
    if (o_.starts > o_.messages) throw input_error("parameters.starts: more parts than messages; lower it");
    if (const std::uint32_t most = context.config().nodes.front().hca.command_unit.max_inline;
        o_.send_inline && o_.size > most) {
      throw input_error(fmt::format(
          "parameters.inline: a WQE has room for {} B (node0.hca.command_unit.max_inline); lower size, or leave inline out",
          most));
    }
    if (o_.send_inline && operation_ == operation::read) throw input_error("parameters.inline: a READ has no payload to send");
    read_warm_up();
    o_.read = operation_ == operation::read;
    set_read_depth(context.config());
    o_.mtu = static_cast<kit::ibv_mtu>(static_cast<int>(mtu_) + 1);
    o_.seed = context.seed();
    o_.parts = context.parts();
    kit::stream_result r;
    kit::start_stream(context.build(), o_, r);
    context.estimate_by([&] { return static_cast<double>(r.completed) / static_cast<double>(o_.messages); });
    context.start();
    context.check(r.ok && (o_.until == kit::stream_end::steady || r.completed == o_.messages), "not every message succeeded");
    if (!r.ok) return;
    if (o_.until == kit::stream_end::steady) report_steady(context, r);
    const double rate = r.messages_per_second();
    context.result().headline("message_rate", rate / 1e6, "M/s", aim::high, "messages per simulated second");
    if (o_.until == kit::stream_end::steady) context.result().known_to(r.known_to());
    if (o_.starts > 1) {
      context.result().figure("slowest_start", r.slowest / 1e6, "M/s",
                              "messages per simulated second, from the start with the fewest");
      context.result().figure("fastest_start", r.fastest / 1e6, "M/s",
                              "messages per simulated second, from the start with the most");
    }
    if (o_.warm_until_steady) {
      context.result().figure("warm_up", static_cast<double>(r.warm_up), "1", "messages before those that are measured");
      context.result().figure("steady", r.steady ? 1 : 0, "1", "1: the warm-up ended because caches and rate were steady");
    }
    context.result().figure("goodput", rate * static_cast<double>(o_.size) * 8 / 1e9, "Gb/s", "payload per simulated second");
    context.resource("node0.host", "software", r.software_busy(), "share of the time that the posting thread did not wait");
    context.result().operations(r.completed);
  }

 private:
  void set_read_depth(const system_config& c) {
    std::uint32_t most = 255;
    for (const node_config& n : c.nodes) most = std::min(most, n.hca.command_unit.max_read_depth);
    if (read_depth_ != 0 && !o_.read) throw input_error("parameters.read_depth: WRITEs have no such limit; leave it out");
    if (read_depth_ > most) {
      throw input_error(fmt::format(
          "parameters.read_depth: the adapters allow {}; lower it, or raise node*.hca.command_unit.max_read_depth", most));
    }
    o_.read_depth = read_depth_ == 0 ? most : read_depth_;
  }
  void check_until() const {
    const kit::stream_options usual;
    if (o_.until == kit::stream_end::messages) {
      if (o_.precision != usual.precision)
        throw input_error("parameters.precision: has no effect without until: steady; leave it out");
      return;
    }
    if (o_.starts != 1) throw input_error("parameters.starts: until: steady measures one part; leave one of them out");
    if (o_.messages < kit::fewest_messages(o_)) {
      throw input_error(
          fmt::format("parameters.messages: until: steady needs {} messages or more with so many under way; raise it",
                      kit::fewest_messages(o_)));
    }
  }
  // The run says so when its rate is not known as well as its description asks.
  void report_steady(run_context& context, const kit::stream_result& r) const {
    const kit::batch_means& m = r.rates;
    context.result().figure("measured", static_cast<double>(r.completed), "1", "messages that were measured");
    context.result().figure("known_to", 100 * r.known_to(), "%",
                            "half the confidence interval of 95 % of the message rate, as a share");
    if (m.within(o_.precision)) return;
    context.fail(fmt::format(
        "the message rate is not steady within {:.3g} % after {} messages: it is known to {:.2g} %, and "
        "its {} batches have a correlation of {:.2f} (at most {}); raise messages, warm_up or precision",
        100 * o_.precision, r.completed, 100 * r.known_to(), m.batches(), m.correlation(), kit::batch_means::most_correlation));
  }
  void read_warm_up() {
    o_.warm_until_steady = warm_up_ == "auto";
    if (o_.warm_until_steady) return;
    const char* const end = warm_up_.data() + warm_up_.size();
    const auto [rest, error] = std::from_chars(warm_up_.data(), end, o_.warm_up);
    constexpr std::uint64_t most = 1'000'000'000'000;
    if (warm_up_.empty() || error != std::errc{} || rest != end || o_.warm_up > most)
      throw input_error("parameters.warm_up: '" + warm_up_ +
                        "' is no number of messages up to 1000000000000; write for example 20000, or auto");
  }

  enum class operation : std::uint8_t { write, read };
  enum class mtu_size : std::uint8_t { mtu_256, mtu_512, mtu_1024, mtu_2048, mtu_4096 };

  kit::stream_options o_;
  std::uint32_t read_depth_ = 0;
  std::string warm_up_ = "0";
  operation operation_ = operation::write;
  mtu_size mtu_ = mtu_size::mtu_1024;
};

const testbench_registration<message_rate> registers_message_rate;

}  // namespace
}  // namespace hcasim
