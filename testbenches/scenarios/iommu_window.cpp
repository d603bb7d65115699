#include "testbenches/scenarios/iommu_window.h"

#include <cmath>

#include "testbenches/kit/counters.h"
#include "testbenches/scenarios/dma_machine.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

// Published: pcie-bench, nfp6000-1.2GHz_bdw-Xeon-E5-2630v4-dell-t430-s0-s0-s0-iommu-nosp; window in KiB, ns.
constexpr window_point published[] = {
    {256, 555, 0, 0}, {512, 580, 0, 0}, {1024, 712, 0, 0}, {4096, 814, 0, 0}, {65536, 877, 0, 0}};

// One read after the other.
class reader : public unit {
 public:
  initiator_socket<dma_request> out{"out"};
  explicit reader(const sc_core::sc_module_name& n) : unit(n) {}

  // Calls `done` with the mean latency of the last `reads`.
  process run(std::string part, std::uint64_t base, std::uint64_t window, const window_options& o, random_stream& random,
              double& mean, sc_core::sc_event& done, bool& ok) {
    double sum = 0;
    for (std::uint32_t i = 0; i < o.warm_up + o.reads; ++i) {
      if (i == o.warm_up && o.parts.begins) o.parts.begins(part);
      request_.op = dma_op::read;
      request_.bytes = o.bytes;
      request_.address = base + random.below(window / o.bytes) * o.bytes;
      request_.data = bytes_.data();
      request_.failed = false;
      const ps begin = now();
      ps t = begin;
      co_await out.request(request_, t);
      ok = ok && !request_.failed;
      if (i >= o.warm_up) sum += to_ns(t - begin);
      co_await queue_.until(t + 100_ns);
    }
    if (o.parts.ends) o.parts.ends();
    mean = sum / o.reads;
    done.notify();
  }

 private:
  dma_request request_;
  std::array<std::byte, 4096> bytes_;
};

// Returns where a curve leaves its first value by a tenth, as log2 of the window.
double knee_of(const std::vector<window_point>& points, double window_point::*curve) {
  const double limit = 1.1 * (points.front().*curve);
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double a = points[i - 1].*curve;
    const double b = points[i].*curve;
    if (b <= limit) continue;
    const double from = std::log2(static_cast<double>(points[i - 1].window_kib));
    const double to = std::log2(static_cast<double>(points[i].window_kib));
    return from + (to - from) * std::max(limit - a, 0.0) / (b - a);
  }
  return std::log2(static_cast<double>(points.back().window_kib));
}

}  // namespace

struct window_bench::parts : dma_machine {
  parts(const node_config& n, const window_options& options, std::uint64_t seed)
      : dma_machine(n, seed), o(options), random(seed, "iommu_window"), source("reader") {
    source.out.bind(dma.in[0]);
    host.run("measure", [this](cpu& c) { run(c); });
  }

  double measure(cpu& c, std::string part, std::uint64_t base, std::uint64_t window) {
    double mean = 0;
    c.sync();
    source.run(std::move(part), base, window, o, random, mean, done, reached);
    sc_core::wait(done);
    return mean;
  }

  void run(cpu& c) {
    r.without_ns = measure(c, "without the IOMMU", physical_base, 4096);
    if (map.open(c) != 0) {
      r.problem = "the IOMMU does not answer";
      return;
    }
    for (window_point p : published) {
      const std::uint64_t window = p.window_kib << 10;
      std::vector<virtual_memory::frame_run> frames;
      const std::uint64_t va = memory.allocate(window);
      if (memory.pin(va, window, true, frames) != 0) r.problem = "no memory";
      const std::uint64_t base = map.map(c, frames, true);
      const double bursts = statistic_of(iommu, "bursts");
      const double hits = statistic_of(iommu, "hits");
      p.model_ns = measure(c, std::to_string(p.window_kib) + " KiB", base, window);
      p.hit_ratio = (statistic_of(iommu, "hits") - hits) / (statistic_of(iommu, "bursts") - bursts);
      r.points.push_back(p);
      const driver::dma_map::range all{base, window};
      map.unmap(c, std::span(&all, 1));
      memory.unpin(va, window);
      memory.free(va);
    }
    if (!reached) r.problem = "a read was refused";
    r.ok = r.problem.empty();
  }

  window_options o;
  random_stream random;
  reader source;
  sc_core::sc_event done;
  bool reached = true;
  window_outcome r;
};

window_bench::window_bench(const system_config& config, const window_options& o, std::uint64_t seed) {
  parts_ = std::make_unique<parts>(config.nodes.front(), o, seed);
}

window_bench::~window_bench() = default;

window_outcome window_bench::outcome() const {
  window_outcome r = parts_->r;
  if (!r.ok) {
    if (r.problem.empty()) r.problem = "the reads did not come to their end";
    return r;
  }
  for (const window_point& p : r.points) {
    const double error = std::abs(p.model_ns - p.measured_ns) / p.measured_ns;
    r.mape += error / static_cast<double>(r.points.size());
    r.worst = std::max(r.worst, error);
  }
  r.knee = std::abs(knee_of(r.points, &window_point::model_ns) - knee_of(r.points, &window_point::measured_ns));
  return r;
}

}  // namespace hcasim::kit
