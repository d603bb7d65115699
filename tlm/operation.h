// Numbers of operations: each work request has a number, from the driver's post to its last access.
//
// The upper half names the send queue in one of its lives, the lower half the place of the request's first block in this life.
// Numbers of a queue are in the order of its requests; a number and a WQE index give another number of the queue. 0 = none.
//
// `transaction::operation` carries the number, and pcie_extension on PCIe. The number belongs to the simulation, not to the
// machine: no byte of memory or wire holds it. No unit depends on the number. A request made to serve another one has the
// number of:
//   doorbell                    the last request posted with the doorbell
//   fetch for several requests  the first request; likewise for the context and the addresses
//   NOP at a ring's end         the NOP itself, like every WQE
//   packet, and its response    its request; an acknowledgement of several requests has the last one's
//   miss joined by others       the first request that missed
//   receive WQEs, CQE           the arrived or completed request; also for the resulting event and interrupt
// Without a number are commands, doorbells of RQ, CQ and EQ, moderated events, and entries written back by a cache. So is the
// work of a queue because of an error; flushed requests that were never sent keep their numbers. A unit as RTL hands on only
// the numbers its shell knows: pins carry none.
#pragma once

#include <cstdint>

namespace hcasim {

inline constexpr unsigned operation_place_bits = 32;

// Returns the first number of a send queue that begins a life; every call returns another one.
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
// Returns the number of the WQE at `index` of the same queue. Indices count modulo 2^16; the two are at most half of this
// apart.
inline std::uint64_t operation_at(std::uint64_t operation, std::uint16_t index) {
  if (operation == 0) return 0;
  return operation +
         static_cast<std::uint64_t>(std::int64_t{static_cast<std::int16_t>(index - static_cast<std::uint16_t>(operation))});
}

}  // namespace hcasim
