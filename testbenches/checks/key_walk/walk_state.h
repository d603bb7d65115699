// The state that the two programs of a walk share.
#pragma once

#include <string>
#include <vector>

#include "models/adapter/protection/testing/oracle.h"
#include "testbenches/checks/key_walk/key_walk.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"

namespace hcasim::testing {

using namespace kit;  // NOLINT(google-build-using-namespace): programs read like libibverbs
using use = oracle::use;

inline constexpr std::uint32_t regions = 4;
inline constexpr std::uint32_t fasts = 2;
inline constexpr std::uint32_t windows = 3;  // of each type
inline constexpr std::uint32_t spaces = 2;
inline constexpr std::uint32_t pieces = 3;
inline constexpr std::uint32_t lanes = 4;
inline constexpr std::uint64_t page = 4096;
inline constexpr std::uint64_t region_bytes = 4 * page;
inline constexpr std::uint32_t most_bytes = 2 * page;  // of an access

// Numbers of the objects that a key script chooses from.
inline constexpr std::uint32_t first_fast = regions;
inline constexpr std::uint32_t first_window_1 = first_fast + fasts;
inline constexpr std::uint32_t first_window_2 = first_window_1 + windows;
inline constexpr std::uint32_t first_space = first_window_2 + windows;
inline constexpr std::uint32_t objects = first_space + spaces;

// Each connection begins at another PSN, in both directions: what is left of an earlier one on the way fits nothing.
inline constexpr std::uint32_t first_psn = 0x10;

inline qp_options settings(std::uint32_t lane, std::uint32_t psn = first_psn) {
  return {.send_depth = 16, .receive_depth = 4, .sge = 1, .privileged = lane < 2, .timeout = 10, .psn = psn};
}

enum class errand : std::uint8_t { access, send_inv, reconnect, stop };

struct peer_order {
  errand what = errand::access;
  std::uint32_t lane = 0;
  use how = use::write;
  std::uint64_t va = 0;
  std::uint32_t key = 0;
  std::uint32_t bytes = 0;
  std::uint8_t pattern = 0;
  address owner = {};
};

struct peer_answer {
  std::uint32_t lane = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::vector<std::uint8_t> data = {};  // of a READ or atomic
};

struct greeting {
  std::vector<address> qps;
  std::vector<ibv_sge> scratch;  // of the peer, for each lane: address, length, R_Key
};

struct walk_state {
  const std::vector<key_step>* script = nullptr;
  walk_options o;
  bool nak_may_be_lost = false;
  walk_result result;
  out_of_band<std::vector<address>> to_peer{500_ns};
  out_of_band<greeting> to_owner{500_ns};
  out_of_band<peer_order> orders{500_ns};
  out_of_band<peer_answer> answers{500_ns};
  process_context* peer = nullptr;  // to look at its memory

  void problem(const std::string& text) {
    if (result.problem.empty()) result.problem = text;
  }
};

inline std::uint8_t pattern_byte(std::uint8_t pattern, std::uint64_t i) {
  return static_cast<std::uint8_t>(pattern + i * 7 + (i >> 8));
}

void peer_program(walk_state& s, cpu& c, node& n);
void owner_program(walk_state& s, cpu& c, node& n);

}  // namespace hcasim::testing
