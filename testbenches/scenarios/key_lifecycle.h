// The cost of a change of who may touch a page: taken away from a peer and given back, in six ways, among any number of live
// keys.
//
// Quiet: one change after the other, nothing else going on; after each grant the peer writes into the page, so that what the
// change made cold is counted. Once in each way the peer tries while it may not, and must be refused. Loaded: the same changes
// while the peer writes to the live keys, at random, on other connections.
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
  std::uint32_t changes = 200;   // of each way at least: half of them revoke, half grant
  std::uint32_t lanes = 4;       // connections of the traffic, one WRITE of 64 B outstanding on each
  std::uint32_t traffic = 4000;  // WRITEs that measure the traffic, at least
  measured_parts parts{};        // one of each way
};

// In the order in which they ended.
struct latency_record {
  std::vector<ps> latencies;

  // p in [0, 100]
  [[nodiscard]] ps percentile(double p) const;
};
// How much later they are than `undisturbed`, each: of as many of both, the sorted latencies are compared. Where they are not
// later there is no stall, so it is never negative.
ps stall_of(const latency_record& undisturbed, const latency_record& disturbed);

// The result of one way among so many live keys. The times are of the whole measurement; `quiet` ones are of so many changes.
struct lifecycle_row {
  rights_way way = rights_way::reregister;
  std::uint32_t live_keys = 0;
  // quiet
  std::uint32_t changes = 0;
  ps total{0};     // from request to effect, summed
  ps cpu{0};       // of that, software at work
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

// Node 0 is the peer, node 1 the owner.
void start_lifecycle(hcasim::system& s, const lifecycle_options& o, std::uint64_t seed, lifecycle_outcome& out);

}  // namespace hcasim::kit
