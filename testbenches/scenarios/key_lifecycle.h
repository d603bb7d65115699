// The cost of a change of access to a page: revoked and granted again for a peer, in six ways, among many live keys.
//
// Quiet: one change after the other, nothing else going on. After each grant the peer writes into the page, so that the cost of
// caches made cold by the change is counted. Once in each way the peer tries without the right, and must be refused. Loaded:
// the same changes while the peer writes to the live keys, at random, on other connections.
#pragma once

#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/kit/measured_parts.h"
#include "testbenches/scenarios/key_rights.h"
#include "tlm/base/units.h"

namespace hcasim::kit {

struct lifecycle_options {
  std::vector<std::uint32_t> live_keys = {1, 64, 4096, 65536};
  std::uint32_t changes = 200;   // at least, for each way: half of them revoke, half grant
  std::uint32_t lanes = 4;       // connections of the traffic, one WRITE of 64 B outstanding on each
  std::uint32_t traffic = 4000;  // WRITEs that measure the traffic, at least
  measured_parts parts{};        // one part for each way
};

// Latencies in the order of completion.
struct latency_record {
  std::vector<ps> latencies;

  // Returns the p-th percentile; p in [0, 100].
  [[nodiscard]] ps percentile(double p) const;
};
// Returns how much later each one is than `undisturbed`: sorted latencies are compared, as many of both. Never negative: an
// earlier one is no stall.
ps stall_of(const latency_record& undisturbed, const latency_record& disturbed);

// The result of one way among so many live keys. The times are of the whole measurement; `quiet` ones are of so many changes.
struct lifecycle_row {
  rights_way way = rights_way::reregister;
  std::uint32_t live_keys = 0;
  // quiet
  std::uint32_t changes = 0;
  ps total{0};     // from request to effect, summed
  ps cpu{0};       // part of `total`: software at work
  ps commands{0};  // the firmware executing
  ps unit{0};      // window_unit changing keys
  double pcie_bytes = 0;
  double misses = 0;  // MRCs and page-table lines fetched, the peer's WRITE after each grant included
  // loaded
  latency_record revoke;
  latency_record grant;
  latency_record traffic;  // the peer's WRITEs to other keys
};

struct lifecycle_outcome {
  bool ok = false;
  std::string problem;
  std::vector<lifecycle_row> rows;
  std::vector<latency_record> undisturbed;  // the traffic without changes, for each number of live keys
};

// Starts the measurement: node 0 is the peer, node 1 the owner.
void start_lifecycle(hcasim::system& s, const lifecycle_options& o, std::uint64_t seed, lifecycle_outcome& out);

}  // namespace hcasim::kit
