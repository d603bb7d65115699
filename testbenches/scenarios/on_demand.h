// On-demand paging beside pinning: what the first touch of a page costs, in which share of a buffer touched pinning it is the
// better choice, and how long the operating system waits when it takes a page back under traffic. Node 1 owns the memory, node
// 0 touches it; every byte that arrives is compared.
#pragma once

#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/kit/measured_parts.h"
#include "tlm/base/statistics.h"

namespace hcasim::kit {

struct paging_options {
  std::uint32_t pages = 512;  // of the buffer
  std::uint32_t window = 8;   // operations under way
  std::uint32_t takes = 200;  // pages taken back under traffic
  std::vector<double> shares = {0.01, 0.05, 0.1, 0.25, 0.5, 1};
  measured_parts parts{};  // one of each table
};

// One operation of 4 KiB, alone: with the page never used before, and again.
struct touch_row {
  const char* what = "";
  ps first{0};
  ps again{0};
  ps pinned{0};  // the same with a pinned region
};

enum class paging_way : std::uint8_t { on_demand, prefetched, pinned };
inline constexpr const char* paging_ways[] = {"on demand", "prefetched", "pinned"};

// Register, touch a share of the pages, de-register.
struct share_row {
  paging_way way = paging_way::on_demand;
  double share = 0;
  std::uint32_t touched = 0;
  double faults = 0;  // events
  ps prepare{0};      // registration and prefetch
  ps transfer{0};
  ps release{0};
  double owner_cpu = 0;  // us

  [[nodiscard]] ps total() const { return prepare + transfer + release; }
};

struct paging_outcome {
  bool ok = false;
  std::string problem;
  std::vector<touch_row> touches;
  std::vector<share_row> shares;
  histogram take_idle;    // ps: migrate of one page, nothing going on
  histogram take_loaded;  // under traffic that uses these pages
  double operations = 0;
};

void start_paging(hcasim::system& s, const paging_options& o, std::uint64_t seed, paging_outcome& out);

}  // namespace hcasim::kit
