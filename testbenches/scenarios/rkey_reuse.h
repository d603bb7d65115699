// Targets stream bytes by RDMA WRITE into buffers that the host keeps removing behind and adding ahead (US 7,290,038), in one
// of eight ways. The host is node 0; the targets are programs on the other nodes, in turn.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/system/system.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/measured_parts.h"
#include "tlm/base/statistics.h"

namespace hcasim::kit {

// kept_tcp: the mapped buffers are a TCP receive window, and the target is told of nothing else (reuse_tcp.h).
// whole: the prior art that the patent names, one region over all mapped buffers that is re-registered as a whole.
enum class reuse_mode : std::uint8_t { kept_extend, kept_remap, kept_tcp, whole, reregister, deregister, rebind, fixed };
inline constexpr std::size_t reuse_modes = 8;
std::string_view name_of(reuse_mode m);

struct reuse_options {
  std::uint64_t buffer = 64_KiB;  // bytes of one host buffer
  std::uint32_t buffers = 8;      // mapped at once
  std::uint32_t batch = 1;        // of them that come and go by one command, where a way can do that
  std::uint64_t message = 16_KiB;
  std::uint32_t outstanding = 16;  // WRITEs of each target
  std::uint32_t targets = 1;       // that write the buffers in turn, and all hold the keys
  ps target_key_cost{0};           // what a target's software spends to enter a key into its tables
  std::uint32_t quiet_swaps = 8;   // after the stream: one at a time, each until its first byte; 0 = none
  ibv_mtu mtu = IBV_MTU_4096;
  measured_parts parts{};  // one of each way
  bool two_steps = false;  // kept keys: remove and add by two commands
};

struct reuse_outcome {
  bool ok = false;
  std::string_view problem;
  std::uint64_t bytes = 0;
  std::uint64_t swaps = 0;
  std::uint64_t key_updates = 0;    // keys that targets were told and did not hold
  std::uint64_t table_updates = 0;  // messages that told a target anything
  histogram told;                   // ps, from the fill notice to the change being told
  ps first_byte{0};                 // of the quiet swaps, mean: from the fill notice to the first byte in the new buffer
  ps begin{0};
  ps end{0};
  std::uint64_t commands = 0;
  std::uint64_t pcie_bytes = 0;  // of the host's PCIe link, both directions, headers included
  std::uint64_t mrc_misses = 0;
  std::uint64_t walk_reads = 0;  // page-table reads by DMA

  [[nodiscard]] double swaps_per_second() const {
    return static_cast<double>(swaps) * 1e12 / static_cast<double>((end - begin).count());
  }
  [[nodiscard]] double gigabits_per_second() const {
    return static_cast<double>(bytes) * 8e3 / static_cast<double>((end - begin).count());
  }
};

// Runs the modes one after the other; `outcomes` is filled in by the end.
void start_reuse(hcasim::system& s, const reuse_options& o, const std::vector<std::uint8_t>& stream,
                 const std::vector<reuse_mode>& modes, std::vector<reuse_outcome>& outcomes);

}  // namespace hcasim::kit
