// A peer that breaks every rule, beside good traffic: packets well-formed but wrong, mutated, replayed, reordered, truncated
// and too long, of every class of PSN; responses without a request; for QPs that are free, being made, in every state, being
// destroyed. The victim makes and destroys its QPs, grants memory and takes it away all the while.
//
// A shadow of the victim's memory judges: not one byte is changed or shown outside a grant that held at that time; the good
// traffic is complete, and at the end every pool is empty.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/scenarios/random_traffic.h"

namespace hcasim::kit {

enum class attack : std::uint8_t { in_place, out_of_place, response, stray, mutated, cut, replayed, good_replayed };
inline constexpr std::array<const char*, 8> attack_names = {
    "requests in their place",       "requests with any other PSN", "responses and acknowledges without a request",
    "for QPNs taken at random",      "with bits flipped",           "truncated, too long, or with a length that lies",
    "replayed, of the hostile peer", "replayed, of the good peer"};

struct hostile_options {
  std::uint64_t packets = 100'000;  // of the hostile peer
  std::uint32_t qps = 12;           // that it is the peer of
  ps apart = 1_us;                  // on average
  std::uint64_t operations = 0;     // of the good traffic; 0 = one for ten packets
  measured_parts parts{};
};

struct hostile_outcome {
  bool ok = false;
  std::string problem;
  std::array<std::uint64_t, attack_names.size()> sent{};
  std::uint64_t lives = 0;          // of the hostile peer's QPs
  std::uint64_t changes = 0;        // of grants
  std::uint64_t completions = 0;    // of the hostile peer's QPs
  std::uint64_t moved = 0;          // bytes of the arena, by DMA
  std::uint64_t outside = 0;        // changed or touched where no grant allowed it
  std::uint64_t shown = 0;          // in READ responses and requests to the hostile peer, each held against the shadow
  std::uint64_t wrongly_shown = 0;  // of these
  std::uint64_t misused = 0;        // moved or shown by a packet whose QP or key did not allow it
  double grown_mib = 0;             // the host's memory, in the last three quarters
  std::vector<std::string> left_over;
  random_outcome good;
};

void start_hostile(hcasim::system& s, const hostile_options& o, std::uint64_t seed, hostile_outcome& out);

}  // namespace hcasim::kit
