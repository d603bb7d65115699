// Work requests to WQEs. Plain rules: the legal requests, their length, their bytes.
//
// Inline data is cut into chunks of {length, bytes}, one to a 64 B block. So a WRITE of up to 28, 88, 148 B takes 1, 2, 3
// blocks, and a SEND of up to 44, 104, 164 B. Bytes behind the last chunk are zero.
#pragma once

#include <array>
#include <span>

#include "firmware/abi/context.h"
#include "firmware/abi/wqe.h"
#include "models/driver/verbs/verbs.h"

namespace hcasim::driver {

struct send_limits {
  hca_transport transport = HCA_TRANSPORT_RC;
  std::uint32_t max_sge = 1;
  std::uint32_t max_inline = 0;
  bool privileged = false;
  bool wide_datagrams = false;  // HCA_WQE_WIDE
  std::uint8_t port = 1;        // of the QP; address handles of another one are refused
};

using wqe_buffer = std::array<std::byte, HCA_WQE_BLOCK * HCA_WQE_MAX_BLOCKS>;

// Returns the opcode; HCA_WQE_NOP: there is no such request.
hca_wqe_opcode wqe_opcode(verbs::ibv_wr_opcode opcode);
verbs::ibv_wc_opcode completion_opcode(hca_wqe_opcode opcode);

// Bytes in front of the data segments or the inline data.
enum class addressing : std::uint8_t { connected, datagram, global_datagram, wide_datagram, xrc };
unsigned header_bytes(hca_wqe_opcode opcode, addressing to = addressing::connected);
unsigned blocks_with_segments(unsigned header, unsigned segments);
// Returns the blocks with inline data, which is one chunk behind a header of a whole block.
unsigned blocks_with_inline(unsigned header, std::uint64_t bytes);
// Returns the most inline bytes that fit into so many blocks.
std::uint32_t inline_capacity(unsigned header, unsigned blocks);

struct send_shape {
  int error = 0;  // errno: EINVAL a bad request
  hca_wqe_opcode opcode = HCA_WQE_NOP;
  addressing to = addressing::connected;
  unsigned blocks = 0;
  std::uint64_t inline_bytes = 0;
};
// `windows`: the type that IBV_WR_BIND_MW may name.
send_shape shape_of(const verbs::ibv_send_wr& wr, const send_limits& limits, verbs::ibv_mw_type windows = verbs::IBV_MW_TYPE_2);

// Writes `shape.blocks` blocks. False = inline data lies in unmapped memory.
bool build_send(const verbs::ibv_send_wr& wr, const send_shape& shape, std::uint32_t qpn, std::uint16_t index, bool signal_all,
                const virtual_memory& memory, wqe_buffer& out);
// Returns the WQE of ibv_bind_mw and of IBV_WR_BIND_MW. No MR: unbind.
hca_wqe_bind bind_segment(const verbs::ibv_mw& mw, std::uint32_t new_key, const verbs::ibv_mw_bind_info& info);
void build_nop(std::uint32_t qpn, std::uint16_t index, unsigned blocks, wqe_buffer& out);

// Builds a receive WQE of `capacity` segments (a power of two); returns the bytes to write. The rest of the slot need not be
// written: a shorter list ends with a HCA_RECV_END segment.
std::size_t build_receive(const verbs::ibv_recv_wr& wr, unsigned capacity, std::span<hca_wqe_data> out);

}  // namespace hcasim::driver
