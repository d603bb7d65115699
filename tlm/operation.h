// Numbers of operations: of every work request that is sent, from the driver that posts it to the last access that serves it.
//
// The upper half tells the send queue in one life of it, the lower half the place of the request's first block in that life; so
// numbers of a queue are in the order of its requests, and of two places the one is known from the other. 0 = none.
//
// `transaction::operation` carries it, and pcie_extension on PCIe: what is known about a simulation, not of the machine. No
// byte of memory or wire holds it, and nothing in a unit depends on it. Who makes a request for a request hands it on:
//   doorbell                    the last request that was posted with it
//   fetch for several requests  the first one's; so the context and the addresses that it needs
//   NOP at a ring's end         has one as every WQE
//   packet, and its answer      the request's that it belongs to; an acknowledgement of several the last one's
//   miss that others join       the first one's that missed
//   receive WQEs, CQE           the request's that has arrived, or is completed; with an event and interrupt that follow
// Without a number are commands, doorbells of RQ, CQ and EQ, entries that a cache writes back, moderated events, and what a
// queue does because of an error: flushed requests that were never sent have theirs all the same. A unit as RTL hands on what
// its shell can tell: pins carry none.
#pragma once

#include <cstdint>

namespace hcasim {

inline constexpr unsigned operation_place_bits = 32;

// The first number of a send queue that begins a life: no two do in one simulation.
inline std::uint64_t new_operation_queue() {
  static std::uint64_t lives = 0;
  return ++lives << operation_place_bits;
}
inline std::uint32_t operation_queue(std::uint64_t operation) {
  return static_cast<std::uint32_t>(operation >> operation_place_bits);
}
inline std::uint32_t operation_place(std::uint64_t operation) {
  return static_cast<std::uint32_t>(operation);
}
// Returns the number of the WQE at `index` of the same queue; indices count modulo 2^16 and at most half of them lie between
// the two.
inline std::uint64_t operation_at(std::uint64_t operation, std::uint16_t index) {
  if (operation == 0) return 0;
  return operation +
         static_cast<std::uint64_t>(std::int64_t{static_cast<std::int16_t>(index - static_cast<std::uint16_t>(operation))});
}

}  // namespace hcasim
