// Reading a send WQE. Whatever the bytes say, the view stays inside them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware/abi/wqe.h"

namespace hcasim {

enum class wqe_fault : std::uint8_t { none, opcode, size, reserved, segments, inline_data, atomic_length };

struct wqe_view {
  hca_wqe_control control{};
  hca_wqe_datagram datagram{};
  const hca_gid* gid = nullptr;  // destination of a datagram with a GRH, inside the WQE's bytes
  std::uint32_t srqn = 0;        // XRC
  hca_wqe_remote remote{};
  hca_wqe_atomic atomic{};
  std::span<const hca_wqe_data> gather;    // data segments; scatter list of READ and atomics
  std::span<const std::byte> inline_area;  // chunks and their headers, when the data is inline
  std::uint64_t length = 0;                // bytes of the message

  [[nodiscard]] bool has_remote() const { return control.opcode >= HCA_WQE_WRITE && control.opcode <= HCA_WQE_FETCH_ADD; }
  [[nodiscard]] bool is_atomic() const { return control.opcode == HCA_WQE_COMPARE_SWAP || control.opcode == HCA_WQE_FETCH_ADD; }
  [[nodiscard]] bool is_datagram() const { return (control.flags & HCA_WQE_DATAGRAM) != 0; }
  [[nodiscard]] bool is_wide() const { return (control.flags & HCA_WQE_WIDE) != 0; }
  [[nodiscard]] bool is_xrc() const { return (control.flags & HCA_WQE_XRC) != 0; }
  [[nodiscard]] bool is_read() const { return control.opcode == HCA_WQE_READ; }
  // Returns whether nothing of the WQE goes to the port: NOP, and work already executed by the send queue.
  [[nodiscard]] bool is_local() const { return control.opcode == HCA_WQE_NOP || control.opcode >= HCA_WQE_BIND; }
  // Returns whether the WQE fetches data: READs and atomics.
  [[nodiscard]] bool fetches() const { return is_read() || is_atomic(); }
};

// By number; a number behind the last one is no opcode.
inline constexpr std::array wqe_opcode_names{"NOP",  "SEND",         "SEND_IMM",  "SEND_INV", "WRITE",     "WRITE_IMM",
                                             "READ", "COMPARE_SWAP", "FETCH_ADD", "BIND",     "LOCAL_INV", "FAST_REG"};
inline const char* wqe_opcode_name(std::uint8_t opcode) {
  return opcode < wqe_opcode_names.size() ? wqe_opcode_names[opcode] : "unknown";
}

// Parses the WQE at the start of `bytes` (whole blocks, 16 B aligned); returns the fault. After one, only `control` is valid.
wqe_fault parse_wqe(std::span<const std::byte> bytes, wqe_view& out);

// Copies `to.size()` message bytes from `offset` on out of the inline chunks.
void copy_inline(const wqe_view& w, std::uint64_t offset, std::span<std::byte> to);

// The largest message (IBA 9.3.4: DMA length is at most 2^31).
inline constexpr std::uint64_t max_message = std::uint64_t{1} << 31;

}  // namespace hcasim
