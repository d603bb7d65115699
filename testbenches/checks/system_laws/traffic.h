// The workloads' traffic: flows of the traffic engine, whose rate can be measured to a fraction of a percent. Operations and
// places follow from a message's name, and not from chance or from the order in which messages end. The flows begin at a round
// time when everything is set up.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/traffic/options.h"
#include "testbenches/traffic/pattern.h"

namespace hcasim::metamorphic {

using op = hcasim::traffic::operation;
using traffic::memory_kind;

struct flow {
  std::size_t from = 0;
  std::size_t to = 1;
};

// Every flow has the same options; `from`, `to`, `pattern`, `weights`, `size` and `order` are not used of these.
struct traffic_options : traffic::flow_options {
  traffic_options() {
    messages = 4000;
    qps = 16;
    window = 32;
    batch = 16;  // so that software's speed does not change a message's cost
  }

  std::vector<op> mix{op::write};  // operations of each QP in turn, each QP beginning at another place
  std::vector<flow> flows{{0, 1}};
  std::uint64_t bytes = 64;                    // of a message
  bool anywhere = false;                       // places in the region that depend on QP and number; otherwise one of each QP
  bool page_by_page = false;                   // each message on the next page, and a region has one for each
  ps grid{std::int64_t{100} * 1'000'000'000};  // traffic begins at a multiple of this
  // Additions that must change nothing.
  std::uint32_t idle_qps = 0;
  std::uint32_t idle_regions = 0;
  std::uint32_t idle_windows = 0;
  bool renumbered = false;  // QPs are made in the opposite order

  [[nodiscard]] bool has(op what) const;
  [[nodiscard]] std::uint64_t region_bytes() const { return page_by_page ? messages * 4096 : region; }
};

struct completed_message {
  ps at{0};  // since the traffic began
  std::uint32_t qp = 0;
  std::uint32_t number = 0;
};

struct traffic_result {
  std::string refused;  // a failure of the set-up; empty = none
  std::string problem;  // empty = all went well
  std::vector<completed_message> completions;
  std::uint64_t bytes = 0;  // a hash of the targets' memory at the end
};

// Runs the traffic on the system. `measuring` is called when the traffic begins, when its saturated middle part begins, when
// that ends, and when all has ended.
traffic_result run_traffic(hcasim::system& s, const traffic_options& o, const std::function<void(ps)>& measuring);

// Messages per second in the middle part: the slope of completions over time.
double middle_rate(const traffic_result& r);

}  // namespace hcasim::metamorphic
