#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/iommu_window.h"

namespace hcasim {
namespace {

class iommu_window final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "iommu_window"; }
  [[nodiscard]] std::string_view summary() const override {
    return "DMA read latency through the IOMMU against the window, beside a published measurement (preset nfp6000)";
  }
  void knobs(knob_visitor& k) override {
    k.count("reads", o_.reads, 1, 1e7, "reads measured for each window");
    k.count("warm_up", o_.warm_up, 0, 1e7, "reads of each window before those");
    k.count("bytes", o_.bytes, 1, 4096, "bytes of a read");
  }
  void defaults(system_config& c) override { c.nodes.resize(1); }

  void run(run_context& context) override {
    o_.parts = context.parts();
    const auto& bench = context.make<kit::window_bench>(context.config(), o_, context.seed());
    context.start();
    const kit::window_outcome r = bench.outcome();
    if (!r.ok) return context.fail(r.problem);
    table& t =
        context.result().table("read latency against window",
                               {{"window", "KiB"}, {"model", "ns"}, {"measured", "ns"}, {"error", "%"}, {"IOTLB hits", "%"}});
    for (const kit::window_point& p : r.points) {
      t.row(p.window_kib, p.model_ns, p.measured_ns, 100 * (p.model_ns - p.measured_ns) / p.measured_ns, 100 * p.hit_ratio);
    }
    result& out = context.result();
    out.figure("without the IOMMU", r.without_ns, "ns", "mean latency of the same read with physical addresses");
    out.figure("MAPE", 100 * r.mape, "%", "mean error against the published points");
    out.figure("worst point", 100 * r.worst, "%", "largest error against the published points");
    out.figure("knee", r.knee, "octaves", "between model and measurement: where the latency leaves its plateau by a tenth");
    out.operations((o_.reads + o_.warm_up) * (r.points.size() + 1));
  }

 private:
  kit::window_options o_;
};

const testbench_registration<iommu_window> registers_iommu_window;

}  // namespace
}  // namespace hcasim
