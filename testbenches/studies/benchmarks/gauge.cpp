// hcasim_gauge WORKLOAD: runs a workload, with callgrind's counters on only while it is measured, and prints what was
// simulated. `scripts/gauge` runs it under valgrind.
#include <valgrind/callgrind.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "testbenches/scenarios/message_rate.h"
#include "testbenches/scenarios/rkey_reuse.h"
#include "testbenches/studies/benchmarks/two_nodes.h"
#include "tlm/base/event_queue.h"

namespace hcasim {
namespace {

// Work in the measured part.
struct amount {
  std::uint64_t operations = 0;
  std::uint64_t items = 0;
};

class meter {
 public:
  [[nodiscard]] kit::measured_parts parts() {
    return {[this](const std::string&) {
              before_ = event_queue::instance().hand_overs();
              CALLGRIND_START_INSTRUMENTATION;
            },
            [this] {
              CALLGRIND_STOP_INSTRUMENTATION;
              items_ = event_queue::instance().hand_overs() - before_;
            }};
  }
  [[nodiscard]] std::uint64_t items() const { return items_; }

 private:
  std::uint64_t before_ = 0;
  std::uint64_t items_ = 0;
};

// An operation is a piece of `unit` bytes of a message; 0 = the message.
amount stream(kit::stream_options o, std::uint64_t unit = 0) {
  meter m;
  o.parts = m.parts();
  hcasim::system s("system", two_nodes_100g());
  kit::stream_result r;
  kit::start_stream(s, o, r);
  run_simulation();
  if (!r.ok) return {};
  return {r.completed * (unit == 0 ? 1 : o.size / unit), m.items()};
}

amount w1() {
  kit::stream_options o;
  o.messages = 2000;
  o.warm_up = 200;
  return stream(o);
}

amount w2() {
  kit::stream_options o;
  o.messages = 12;
  o.warm_up = 4;
  o.size = 256_KiB;
  o.region_bytes = 1_MiB;
  o.window = 4;
  return stream(o, 1_KiB);
}

amount reads() {
  kit::stream_options o;
  o.messages = 2000;
  o.warm_up = 200;
  o.read = true;
  return stream(o);
}

amount many_qps() {
  kit::stream_options o;
  o.messages = 2000;
  o.qps = 4096;
  o.outstanding = 16;
  o.warm_up = o.qps;
  return stream(o);
}

// A window is bound for each message and invalidated afterwards.
amount binds() {
  meter m;
  kit::reuse_options o;
  o.buffer = o.message = 4_KiB;
  o.quiet_swaps = 0;
  o.parts = m.parts();
  const std::vector<std::uint8_t> bytes(4_MiB, 0x5a);
  std::vector<kit::reuse_outcome> outcomes;
  hcasim::system s("system", two_nodes_100g());
  kit::start_reuse(s, o, bytes, {kit::reuse_mode::rebind}, outcomes);
  run_simulation();
  if (outcomes.size() != 1 || !outcomes[0].ok) return {};
  return {bytes.size() / o.message, m.items()};
}

const std::map<std::string, std::function<amount()>> workloads = {
    {"w1", w1}, {"w2", w2}, {"reads", reads}, {"many_qps", many_qps}, {"binds", binds}};

}  // namespace
}  // namespace hcasim

int sc_main(int argc, char** argv) {
  const auto w = argc == 2 ? hcasim::workloads.find(argv[1]) : hcasim::workloads.end();
  if (w == hcasim::workloads.end()) {
    std::fprintf(stderr, "hcasim_gauge: give one of w1, w2, reads, many_qps, binds\n");
    return 2;
  }
  const hcasim::amount a = w->second();
  if (a.operations == 0) {
    std::fprintf(stderr, "hcasim_gauge: the simulated run failed\n");
    return 1;
  }
  std::printf("operations %llu items %llu\n", static_cast<unsigned long long>(a.operations),
              static_cast<unsigned long long>(a.items));
  return 0;
}
