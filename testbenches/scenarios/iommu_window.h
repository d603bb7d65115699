// DMA reads of 64 B at random places of a window, one at a time, through an IOMMU with tables of 4 KiB pages: the measurement
// with which pcie-bench found the IOTLB of a server (IOMMU on, super pages off; NFP-6000 at 1.2 GHz, Xeon E5-2630 v4).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/system/system_config.h"
#include "testbenches/kit/measured_parts.h"

namespace hcasim::kit {

struct window_options {
  std::uint32_t reads = 4000;    // that are measured, for each window
  std::uint32_t warm_up = 4000;  // before them
  std::uint32_t bytes = 64;
  measured_parts parts{};  // one of each window
};

struct window_point {
  std::uint64_t window_kib = 0;
  double measured_ns = 0;  // published
  double model_ns = 0;
  double hit_ratio = 0;
};

struct window_outcome {
  bool ok = false;
  std::string problem;
  double without_ns = 0;  // the IOMMU switched off
  std::vector<window_point> points;
  double mape = 0;  // mean of |model - measured| / measured
  double worst = 0;
  double knee = 0;  // |log2| of where the curves leave their plateau by a tenth, model over measured
};

// Host, PCIe, IOMMU and DMA engine are those of node 0; its adapter's other units are not made. Make it before the simulation
// starts, ask for the outcome when it has ended.
class window_bench {
 public:
  window_bench(const system_config& config, const window_options& o, std::uint64_t seed);
  ~window_bench();
  [[nodiscard]] window_outcome outcome() const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace hcasim::kit
