// Between a unit and the DMA engine: move bytes between a buffer of the adapter and a physical address.
//
// read:   answered when all bytes are in `data`.
// write:  answered when all bytes have landed. Writes of one source land in the order they were requested, and before any
//         write requested after they were.
// atomics: 8 bytes, read-modify-write; answered when the original value is in `data`.
// `failed` is set when the address could not be reached; then no byte has moved. `damaged` in addition: the address was
// reached, but the bytes read are no valid ICM entry, or its integrity code does not fit. Such bytes must not be used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tlm/socket.h"

namespace hcasim {

enum class dma_op : std::uint8_t { read, write, compare_swap, fetch_add };

// The requester of a transfer; statistics count transfers and bytes by source.
enum class dma_source : std::uint8_t {
  payload,
  wqe,
  receive_wqe,
  context,
  table,
  completion,
  command,
  doorbell_record,
  interrupt
};
inline constexpr std::size_t dma_sources = 9;
inline constexpr const char* dma_source_names[dma_sources] = {"payload",    "wqe",     "receive_wqe",     "context",  "table",
                                                              "completion", "command", "doorbell_record", "interrupt"};

struct dma_request : transaction {
  dma_op op = dma_op::read;
  dma_source source = dma_source::payload;
  bool failed = false;
  bool damaged = false;
  bool ruined = false;  // a write with known wrong bytes, stored with a code that does not fit
  std::uint32_t bytes = 0;
  std::uint64_t address = 0;
  std::byte* data = nullptr;
  std::uint64_t operand = 0;  // swap or add
  std::uint64_t compare = 0;
};

}  // namespace hcasim
