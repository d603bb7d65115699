// The TCP embodiment of rkey_reuse (claim 3 of US 7,290,038 [SUN3, SUN16]): each target has a TCP connection with the host, and
// its receive window is the storage mapped under one R_Key. A segment is an RDMA WRITE to the VA of its sequence number, which
// its immediate data carry. As buffers fill, the host removes them at the left edge of the window and adds others at the right
// one; the target gets the acknowledgements that TCP has anyway, and is told of keys and addresses once, with the SYN.
#pragma once

#include "testbenches/scenarios/reuse_state.h"

namespace hcasim::kit {

// The host's messages, as the bytes of a SEND.
enum class tcp_kind : std::uint32_t { syn, ack, done };
struct tcp_segment {
  tcp_kind kind = tcp_kind::ack;
  std::uint32_t ack = 0;     // the sequence number that is expected next
  std::uint64_t window = 0;  // bytes behind it that have room
  std::uint64_t bytes = 0;   // syn: that this transfer has
  std::uint64_t va = 0;      // syn: of `ack`
  std::uint32_t key = 0;     // syn
  std::uint32_t reserved = 0;
};

// The stream's buffers that go over one connection: t, t + targets, ...
struct tcp_share {
  tcp_share(const reuse_options& o, std::uint64_t length, std::uint32_t target)
      : buffer_bytes(o.buffer), targets(o.targets), number(target) {
    const std::uint64_t total = ceil_div(length, o.buffer);
    buffers = total > target ? ceil_div(total - target, std::uint64_t{o.targets}) : 0;
    if (buffers == 0) return;
    bytes = buffers * o.buffer;
    if (stream_buffer(buffers - 1) == total - 1) bytes -= total * o.buffer - length;  // the last one is not whole
  }
  [[nodiscard]] std::uint64_t stream_buffer(std::uint64_t own) const { return own * targets + number; }
  // Returns the position in the stream of the byte at `offset` of the connection.
  [[nodiscard]] std::uint64_t place(std::uint64_t offset) const {
    return stream_buffer(offset / buffer_bytes) * buffer_bytes + offset % buffer_bytes;
  }

  std::uint64_t buffer_bytes;
  std::uint32_t targets;
  std::uint32_t number;
  std::uint64_t buffers = 0;
  std::uint64_t bytes = 0;
};

// Segments that may be under way without an acknowledgement: receives that the host keeps posted.
inline std::uint32_t tcp_segments(const reuse_options& o) {
  const std::uint64_t window = std::max<std::uint64_t>(o.batch, o.buffers / o.targets) * o.buffer;
  const std::uint64_t in_buffer = ceil_div(o.buffer, o.message);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(window / o.buffer * in_buffer, 2048)) + 2;
}

inline constexpr std::uint32_t first_sequence = 0xffff'0000;  // wraps under way

}  // namespace hcasim::kit
