// A traffic whose knobs have been checked: hosts by number, pairs, distributions.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "testbenches/traffic/distribution.h"
#include "testbenches/traffic/options.h"
#include "testbenches/traffic/pattern.h"

namespace hcasim::traffic {

// How messages choose their region, and their place in it.
struct access_order {
  enum class kind : std::uint8_t { in_turn, random, zipf };
  kind by = kind::in_turn;
  double exponent = 0;

  // Reads "in_turn", "random" or "zipf 1.1". Throws pattern_error.
  static access_order parse(std::string_view text);
};

struct planned_flow {
  std::string name;
  flow_options options;
  std::vector<host_pair> pairs;
  bool per_message = false;  // each message chooses its pair
  distribution size = distribution::fixed(0);
  std::optional<distribution> gap;  // between the arrivals of one QP; none = a closed loop
  access_order order;
  std::uint64_t longest = 0;      // bytes of a message
  std::uint32_t read_depth = 16;  // READs and atomics of a QP under way

  // Returns how many messages may be under way on a QP.
  [[nodiscard]] std::uint32_t depth() const { return options.outstanding != 0 ? options.outstanding : options.window; }
  // Returns how many requests of a QP may be under way: a message with a key of its own is two.
  [[nodiscard]] std::uint32_t requests() const { return (needs_key(keyed()) ? 2 : 1) * depth(); }
  [[nodiscard]] bool open() const { return gap.has_value(); }
  [[nodiscard]] double mtu_bytes() const { return static_cast<double>(256U << static_cast<unsigned>(options.mtu)); }
  // Returns the share of the time in which messages arrive.
  [[nodiscard]] double duty() const {
    return options.on == never ? 1 : to_seconds(options.on) / (to_seconds(options.on) + to_seconds(options.off));
  }
  [[nodiscard]] bool has(operation o) const { return options.weights[static_cast<std::size_t>(o)] > 0; }
  [[nodiscard]] bool has_any(bool (*of)(operation)) const;
  // Returns the operation of the mix that needs a key for each message; operation::write = none.
  [[nodiscard]] operation keyed() const;
  // Returns whether a message of the mix completes a receive.
  [[nodiscard]] bool receives() const { return has_any(takes_receive); }
  // Returns whether messages may be lost: they complete when they are sent.
  [[nodiscard]] bool unreliable() const { return options.service == transport::uc || options.service == transport::ud; }
  // Returns whether software of the target sees every message.
  [[nodiscard]] bool all_receive() const {
    return !has_any([](operation o) { return !takes_receive(o); });
  }
  // Returns whether a message of the mix goes to a region of the target.
  [[nodiscard]] bool uses_regions() const { return has_any(goes_to_region); }
  [[nodiscard]] std::vector<std::size_t> sources() const;
  [[nodiscard]] std::vector<std::size_t> targets() const;
  [[nodiscard]] std::size_t qps_of(std::size_t source) const;
  // Returns the QPs that a host has at both ends.
  [[nodiscard]] std::size_t qps_at(std::size_t host) const;
  [[nodiscard]] std::size_t connections() const { return pairs.size() * options.qps; }
  // Returns the port of a connection, 1 or 2; connection q of pair p is p * qps + q.
  [[nodiscard]] std::uint8_t port_of(std::size_t connection) const {
    const bool second =
        options.ports == port_use::second || (options.ports == port_use::both && connection % options.qps % 2 != 0);
    return second ? 2 : 1;
  }
  // Returns the share of the QPs, and so of the messages, at a port.
  [[nodiscard]] double share_of_port(std::size_t port) const {
    const std::size_t second = options.ports == port_use::both     ? options.qps / 2
                               : options.ports == port_use::second ? options.qps
                                                                   : 0;
    return static_cast<double>(port == 2 ? second : options.qps - second) / options.qps;
  }
  // Returns the messages per second of one source of an open loop, while its arrivals do not pause.
  [[nodiscard]] double source_rate(std::size_t source) const {
    return gap ? static_cast<double>(qps_of(source)) * 1e12 / gap->mean() : 0;
  }
  // Returns the pair's share of its source's messages.
  [[nodiscard]] double share(const host_pair& p) const;
};

struct plan {
  struct group {
    std::string name;
    host_list hosts;
  };

  std::vector<group> groups;
  std::vector<planned_flow> flows;
  std::size_t hosts = 0;                         // that the groups name, from host 0 on
  std::vector<std::optional<std::size_t>> gpus;  // by host: number of the peer device
  ps warm_up{0};
  ps measure{0};
  run_until until = run_until::time;
  double precision = 0;
  ps grid{1};             // the traffic begins at a multiple of it
  bool reversed = false;  // each host makes the QPs of a pair from the last to the first

  [[nodiscard]] std::optional<std::size_t> gpu_of(std::size_t host) const {
    return host < gpus.size() ? gpus[host] : std::nullopt;
  }
  [[nodiscard]] std::uint32_t phases() const;
};

// Limits of the machine that a traffic cannot exceed.
struct machine_limits {
  struct host {
    std::optional<std::size_t> gpu;  // number of the peer device
    std::uint64_t gpu_bytes = 0;
    std::uint64_t adapter_bytes = 0;  // its own memory
    bool on_demand = true;            // the adapter can page
    std::uint32_t ports = 1;
    std::uint64_t mtu = 4096;  // bytes
    std::uint32_t reads = 16;  // under way on a QP
    std::string beside;        // the node whose host this adapter is in; empty = a host of its own
  };

  double link_rate = 100e9;      // b/s of each direction
  std::uint32_t lanes = 1;       // virtual lanes for data
  ps post_cost{0};               // CPU time of one message in a posting thread, at least
  std::uint64_t max_inline = 0;  // bytes
  ps receive_cost{0};            // CPU time of one message in a receiving thread, at least
  std::vector<host> hosts;
};

using folder_lookup = std::function<std::filesystem::path(std::string_view knob)>;

// Checks and completes the options; `folder_of` gives the folder that a relative file name in a knob starts from. Throws
// knob_error.
plan make_plan(const traffic_options& o, const machine_limits& limits, std::uint64_t seed, const folder_lookup& folder_of);

}  // namespace hcasim::traffic
