// The knobs of a traffic: named groups of hosts, and named flows between them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tlm/base/knobs.h"

namespace hcasim::traffic {

enum class operation : std::uint8_t {
  write,
  write_imm,
  read,
  send,
  fetch_add,
  cmp_swap,
  bind,
  bind_write,
  register_write,
  fast_write,
  extend_write,
  exchange_write
};
inline constexpr std::array<const char*, 12> operation_names{"write",          "write_imm",  "read",         "send",
                                                             "fetch_add",      "cmp_swap",   "bind",         "bind_write",
                                                             "register_write", "fast_write", "extend_write", "exchange_write"};
inline constexpr std::size_t operations = operation_names.size();
constexpr bool is_atomic(operation o) {
  return o == operation::fetch_add || o == operation::cmp_swap;
}
constexpr bool fetches_data(operation o) {
  return o == operation::read || is_atomic(o);
}
// Returns whether the target grants a key of its own for the message.
constexpr bool needs_key(operation o) {
  return o >= operation::bind_write;
}
// Returns whether the source's SEND invalidates the key; otherwise the target's software takes the key or its memory back.
constexpr bool ends_by_invalidation(operation o) {
  return o == operation::bind_write || o == operation::fast_write;
}
// Returns whether one key stays over memory that changes.
constexpr bool keeps_key(operation o) {
  return o == operation::extend_write || o == operation::exchange_write;
}
// Returns whether a message takes a receive of the target.
constexpr bool takes_receive(operation o) {
  return o == operation::send || o == operation::write_imm || needs_key(o);
}
// Returns whether a message goes to a region of the target.
constexpr bool goes_to_region(operation o) {
  return o != operation::send && o != operation::bind && !needs_key(o);
}
// Returns whether the payload has the flow's size; otherwise it has `own_bytes`.
constexpr bool is_sized(operation o) {
  return !is_atomic(o) && o != operation::bind;
}
constexpr std::uint32_t own_bytes(operation o) {
  return is_atomic(o) ? 8 : 0;
}
// Returns whether the payload comes to the host that posts.
constexpr bool pulls(operation o) {
  return o == operation::read || is_atomic(o);
}

enum class transport : std::uint8_t { rc, uc, ud, xrc };
enum class arrivals : std::uint8_t { poisson, periodic };
enum class waiting : std::uint8_t { polling, events };
enum class path_mtu : std::uint8_t { mtu_256, mtu_512, mtu_1024, mtu_2048, mtu_4096 };
enum class memory_kind : std::uint8_t { host, on_demand, gpu, device };
enum class window_use : std::uint8_t { none, type_1, type_2 };
enum class queue_use : std::uint8_t { shared, own };
enum class port_use : std::uint8_t { first, second, both };
enum class replay_times : std::uint8_t { dependencies, original };
enum class run_until : std::uint8_t { time, steady };
enum class own_time : std::uint8_t { kept, dropped };

struct flow_options {
  std::string from;
  std::string to;
  std::string pattern = "pairs";
  std::array<double, operations> weights{};
  transport service = transport::rc;
  std::string size = "4 KiB";
  std::uint32_t window = 16;
  std::uint32_t outstanding = 0;
  double rate = 0;
  arrivals arrival = arrivals::poisson;
  std::string gap;
  std::uint32_t burst = 1;
  ps on = never;
  ps off{0};
  std::uint32_t qps = 1;
  std::uint32_t threads = 1;
  std::uint32_t batch = 0;
  bool one_by_one = false;
  std::uint32_t signal_every = 1;
  bool send_inline = false;
  waiting wait = waiting::polling;
  std::uint32_t moderation_count = 0;
  std::uint32_t moderation_time = 0;
  queue_use cqs = queue_use::shared;
  bool shared_receives = false;
  std::uint32_t receives = 0;
  std::uint32_t srqs = 1;
  std::uint32_t members = 0;
  std::uint32_t regions = 1;
  std::uint64_t region = 64_KiB;
  std::uint64_t page = 4_KiB;
  std::string order = "in_turn";
  window_use windows = window_use::none;
  memory_kind memory = memory_kind::host;
  memory_kind source_memory = memory_kind::host;
  path_mtu mtu = path_mtu::mtu_1024;
  port_use ports = port_use::first;
  bool global_routes = false;
  std::uint32_t service_level = 0;
  std::uint32_t read_depth = 0;
  std::uint32_t timeout = 14;
  std::uint32_t rnr_timer = 1;
  ps start{0};
  ps stop = never;
  std::uint64_t messages = 0;
  std::uint32_t phase = 1;

  void knobs(knob_visitor& k);

 private:
  void mix_knobs(knob_visitor& k);
  void load_knobs(knob_visitor& k);
  void posting_knobs(knob_visitor& k);
  void target_knobs(knob_visitor& k);
  void path_knobs(knob_visitor& k);
};

struct traffic_options {
  struct group {
    std::string name;
    std::string hosts;
  };
  struct flow {
    std::string name;
    flow_options options;
  };

  std::vector<group> groups;
  std::vector<flow> flows;
  ps warm_up{20_us};
  ps measure{200_us};
  run_until until = run_until::time;
  double precision = 0.01;
  std::string replay;  // a recorded traffic instead of groups and flows
  replay_times times = replay_times::dependencies;
  own_time own = own_time::kept;

  // Returns one flow of WRITEs between two hosts.
  static traffic_options example();
  void knobs(knob_visitor& k);
};

}  // namespace hcasim::traffic
