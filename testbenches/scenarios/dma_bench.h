// DMA commands of one size to places of a window of host memory, some under way at once, as pcie-bench issues them. Host, PCIe,
// IOMMU and DMA engine are from node 0; the adapter's other units are not made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/system/system_config.h"
#include "testbenches/kit/measured_parts.h"

namespace hcasim::kit {

enum class dma_command : std::uint8_t { read, write, write_read };

struct dma_bench_options {
  dma_command command = dma_command::read;
  std::uint64_t size = 64;
  std::uint64_t window = 8_KiB;
  bool random = false;  // places in the window; otherwise one after the other
  std::uint32_t outstanding = 1;
  std::uint32_t commands = 1000;  // measured, after `warm_up` others
  std::uint32_t warm_up = 100;
  measured_parts parts{};
};

struct dma_bench_outcome {
  bool ok = false;
  std::string problem;
  double latency_ns = 0;  // mean
  double goodput = 0;     // b/s
};

// Make the bench before the simulation starts; the outcome is valid after its end.
class dma_bench {
 public:
  dma_bench(const system_config& config, const dma_bench_options& o, std::uint64_t seed);
  ~dma_bench();
  [[nodiscard]] const dma_bench_outcome& outcome() const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace hcasim::kit
