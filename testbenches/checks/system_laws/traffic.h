// Traffic whose rate can be measured to a fraction of a percent: flows of a fixed mix of operations between any nodes, a window
// of them outstanding on every QP, begun at a round time when everything is set up.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/kit/endpoint.h"

namespace hcasim::metamorphic {

enum class op : std::uint8_t { write, read, send, fetch_add, bind };
// shared: XRC, each QP to all SRQs of its flow in turn. groups: datagrams, each QP to a group of its own with two members.
enum class service : std::uint8_t { connected, shared, groups };
inline constexpr std::uint32_t members = 2;
enum class target_memory : std::uint8_t { host, on_demand, peer, windows };

struct flow {
  std::size_t from = 0;
  std::size_t to = 1;
};

struct traffic_options {
  std::vector<op> mix{op::write};  // of each QP, in turn, each QP beginning at another place
  std::vector<flow> flows{{0, 1}};
  service how = service::connected;
  bool global = false;            // with a GRH, as packets to groups always have
  std::uint64_t messages = 4000;  // of each flow
  std::uint64_t size = 64;
  std::uint32_t qps = 16;  // of each flow
  std::uint32_t window = 32;
  std::uint32_t batch = 16;   // of one post, however many are free: what a message costs is not told by how fast software is
  std::uint32_t regions = 1;  // of each flow, at its target
  std::uint64_t region_bytes = 64_KiB;
  bool anywhere = false;      // places in the region that depend on QP and number; otherwise one of each QP
  bool page_by_page = false;  // each message on the next page, and a region has one for each
  bool send_inline = false;   // the payload travels in the WQE
  bool one_by_one = false;    // every message is a post of its own
  kit::ibv_mtu mtu = kit::IBV_MTU_1024;
  target_memory memory = target_memory::host;
  ps grid{std::int64_t{100} * 1'000'000'000};  // traffic begins at a multiple of this
  bool tidy = false;                           // destroys everything at the end
  std::uint8_t timeout = 14;
  std::uint8_t rnr_timer = 1;
  // Additions that must change nothing.
  std::uint32_t idle_qps = 0;
  std::uint32_t idle_regions = 0;
  std::uint32_t idle_windows = 0;
  bool renumbered = false;  // QPs are made in the opposite order

  [[nodiscard]] std::uint64_t bytes_of_a_region() const { return page_by_page ? messages * 4096 : region_bytes; }
};

struct completed_message {
  ps at{0};  // since the traffic began
  std::uint32_t qp = 0;
  std::uint32_t number = 0;
};

struct traffic_result {
  std::string refused;  // what could not be set up; empty = nothing
  std::string problem;  // empty = all went well
  ps begin{0};
  std::vector<completed_message> completions;
  std::uint64_t bytes = 0;  // a hash of what the targets' memory holds at the end
  std::size_t finished = 0;
};

// Starts a program on every node. `measuring` is called when the traffic begins, when its saturated middle part begins, and
// when that ends.
void start_traffic(hcasim::system& s, const traffic_options& o, traffic_result& result, std::function<void(ps)> measuring);

// Messages per second in the middle part: the slope of completions over time.
double middle_rate(const traffic_result& r);
std::size_t middle_begin(std::size_t messages);
std::size_t middle_end(std::size_t messages);

}  // namespace hcasim::metamorphic
