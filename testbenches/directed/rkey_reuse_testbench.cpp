#include <fstream>

#include "testbenches/directed/rkey_reuse.h"
#include "testbenches/runner/execution/testbench.h"

namespace hcasim {
namespace {

class rkey_reuse final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "rkey_reuse"; }
  [[nodiscard]] std::string_view summary() const override {
    return "a file streamed into buffers that change under way: the R_Key kept, against standard verbs";
  }
  void knobs(knob_visitor& k) override {
    k.text("input", input_, "file to stream; empty: the program itself");
    k.bytes("limit", limit_, 0, 1e12, "bytes of it at most; 0: all");
    k.bytes("buffer", o_.buffer, 4096, 1 << 30, "one host buffer; a multiple of 4 KiB");
    k.count("buffers", o_.buffers, 2, 1024, "host buffers mapped at once");
    k.bytes("message", o_.message, 64, 1 << 30, "bytes of one RDMA WRITE");
    k.count("outstanding", o_.outstanding, 1, 4096, "WRITEs of the target outstanding at once");
    k.flag("two_steps", o_.two_steps, "R_Key kept: remove and add by two commands instead of one that exchanges");
  }
  void run(run_context& context) override {
    if (o_.buffer % 4096 != 0) throw input_error("parameters.buffer: not a multiple of 4 KiB; round it");
    const std::vector<std::uint8_t> stream = read_input();
    std::vector<kit::reuse_mode> modes;
    for (std::size_t i = 0; i < kit::reuse_modes; ++i) modes.push_back(static_cast<kit::reuse_mode>(i));
    o_.parts = context.parts();
    std::vector<kit::reuse_outcome> outcomes;
    kit::start_reuse(context.build(), o_, stream, modes, outcomes);
    context.start();

    table& t = context.result().table("one stream, six ways to keep its buffers mapped", {{"way"},
                                                                                          {"goodput", "Gb/s"},
                                                                                          {"swaps"},
                                                                                          {"swap rate", "k/s"},
                                                                                          {"swap p50", "us"},
                                                                                          {"swap p99", "us"},
                                                                                          {"key updates"},
                                                                                          {"table updates"},
                                                                                          {"commands"},
                                                                                          {"PCIe", "MB"},
                                                                                          {"MRC misses"},
                                                                                          {"table reads"},
                                                                                          {"bytes"}});
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const kit::reuse_outcome& r = outcomes[i];
      t.row(kit::name_of(modes[i]), r.ok ? r.gigabits_per_second() : 0.0, r.swaps, r.ok ? r.swaps_per_second() * 1e-3 : 0.0,
            to_us(percentile(r, 50)), to_us(percentile(r, 99)), r.key_updates, r.table_updates, r.commands,
            static_cast<double>(r.pcie_bytes) / 1e6, r.mrc_misses, r.walk_reads, r.ok ? "identical" : std::string(r.problem));
      if (!r.ok) context.fail(std::string(kit::name_of(modes[i])) + ": " + std::string(r.problem));
    }
    if (context.result().passed())
      context.result().judged_by("goodput, R_Key kept", outcomes.front().gigabits_per_second(), "Gb/s", aim::high);
    context.result().figure("stream", static_cast<double>(stream.size()), "B", "bytes streamed in each way");
  }

 private:
  static ps percentile(const kit::reuse_outcome& r, double p) {
    return ps(static_cast<std::int64_t>(r.swap_latency.percentile(p)));
  }
  [[nodiscard]] std::vector<std::uint8_t> read_input() const {
    const std::string path = input_.empty() ? "/proc/self/exe" : input_;
    std::ifstream file(path, std::ios::binary);
    std::vector<std::uint8_t> bytes;
    if (file) bytes.assign(std::istreambuf_iterator<char>(file), {});
    if (bytes.empty()) throw input_error("parameters.input: cannot read " + path + " or it is empty; name a readable file");
    if (limit_ != 0 && bytes.size() > limit_) bytes.resize(limit_);
    return bytes;
  }

  std::string input_;
  std::uint64_t limit_ = 0;
  kit::reuse_options o_;
};

const testbench_registration<rkey_reuse> registers_rkey_reuse;

}  // namespace
}  // namespace hcasim
