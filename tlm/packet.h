// InfiniBand packets as they are on the wire: LRH, GRH, BTH, extended headers, payload, pad, ICRC (IBA volume 1, chapters 7 and
// 9; field layout as public dissectors show it). The bytes are real: the receiver sees only what it parses out of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware/abi/wqe.h"
#include "tlm/base/pool.h"
#include "tlm/base/units.h"
#include "tlm/socket.h"

namespace hcasim {

// BTH opcodes; bits 7..5 select the transport.
namespace wire {
inline constexpr std::uint8_t rc = 0x00;
inline constexpr std::uint8_t uc = 0x20;
inline constexpr std::uint8_t ud = 0x60;
inline constexpr std::uint8_t xrc = 0xa0;
inline constexpr std::uint8_t transport_mask = 0xe0;

inline constexpr std::uint8_t send_first = 0x00;
inline constexpr std::uint8_t send_middle = 0x01;
inline constexpr std::uint8_t send_last = 0x02;
inline constexpr std::uint8_t send_last_imm = 0x03;
inline constexpr std::uint8_t send_only = 0x04;
inline constexpr std::uint8_t send_only_imm = 0x05;
inline constexpr std::uint8_t write_first = 0x06;
inline constexpr std::uint8_t write_middle = 0x07;
inline constexpr std::uint8_t write_last = 0x08;
inline constexpr std::uint8_t write_last_imm = 0x09;
inline constexpr std::uint8_t write_only = 0x0a;
inline constexpr std::uint8_t write_only_imm = 0x0b;
inline constexpr std::uint8_t read_request = 0x0c;
inline constexpr std::uint8_t read_first = 0x0d;
inline constexpr std::uint8_t read_middle = 0x0e;
inline constexpr std::uint8_t read_last = 0x0f;
inline constexpr std::uint8_t read_only = 0x10;
inline constexpr std::uint8_t acknowledge = 0x11;
inline constexpr std::uint8_t atomic_acknowledge = 0x12;
inline constexpr std::uint8_t compare_swap = 0x13;
inline constexpr std::uint8_t fetch_add = 0x14;
inline constexpr std::uint8_t send_last_inv = 0x16;
inline constexpr std::uint8_t send_only_inv = 0x17;

// AETH syndromes.
inline constexpr std::uint8_t ack_no_credits = 0x1f;
inline constexpr std::uint8_t rnr_nak = 0x20;  // | timer code
inline constexpr std::uint8_t nak_sequence = 0x60;
inline constexpr std::uint8_t nak_invalid_request = 0x61;
inline constexpr std::uint8_t nak_remote_access = 0x62;
inline constexpr std::uint8_t nak_remote_operation = 0x63;

inline constexpr std::uint32_t psn_mask = 0xffffff;
inline constexpr std::uint16_t default_pkey = 0xffff;  // full member of the default partition
inline constexpr std::size_t lrh_bytes = 8;
inline constexpr std::size_t grh_bytes = HCA_GRH_BYTES;
inline constexpr std::size_t bth_bytes = 12;
inline constexpr std::size_t icrc_bytes = 4;
inline constexpr std::size_t vcrc_bytes = 2;  // counted on the link, not carried
inline constexpr std::size_t max_header = 96;
inline constexpr std::size_t max_payload = 4096;
inline constexpr std::uint32_t group_qpn = 0xffffff;  // the destination of multicast

// Which extended headers follow the BTH of this opcode.
struct shape {
  bool known = false;
  bool reth = false;
  bool aeth = false;
  bool atomic = false;
  bool atomic_ack = false;
  bool immediate = false;
  bool invalidate = false;
  bool datagram = false;
  bool xrc = false;  // names an SRQ
  bool payload = false;
  bool response = false;  // goes to the requester
  bool first = false;     // begins a message (FIRST or ONLY)
  bool last = false;      // ends it (LAST or ONLY)
};
const shape& shape_of(std::uint8_t opcode);
}  // namespace wire

struct packet_header {
  std::uint8_t virtual_lane = 0;
  std::uint8_t service_level = 0;
  std::uint16_t dest_lid = 0;
  std::uint16_t source_lid = 0;
  bool global = false;  // packet::grh says more

  std::uint8_t opcode = 0;
  bool solicited = false;
  bool ack_request = false;
  std::uint16_t pkey = wire::default_pkey;
  std::uint8_t pad = 0;  // 0..3
  std::uint32_t dest_qpn = 0;
  std::uint32_t psn = 0;

  std::uint64_t va = 0;  // RETH, AtomicETH
  std::uint32_t rkey = 0;
  std::uint32_t dma_length = 0;  // RETH
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;
  std::uint8_t syndrome = 0;  // AETH
  std::uint32_t msn = 0;
  std::uint64_t original = 0;   // AtomicAckETH
  std::uint32_t immediate = 0;  // big-endian, as handed over
  std::uint32_t invalidate_key = 0;
  std::uint32_t qkey = 0;  // DETH
  std::uint32_t source_qpn = 0;
  std::uint32_t srqn = 0;  // XRCETH

  [[nodiscard]] const wire::shape& shape() const { return wire::shape_of(opcode); }
};

// The global route header, of packets that have one.
struct global_route {
  hca_gid source;
  hca_gid dest;
  std::uint32_t flow;  // flow label; traffic class in bits 27..20
  std::uint8_t hop_limit;
};
inline bool operator==(const hca_gid& a, const hca_gid& b) {
  return std::equal(a.byte, a.byte + HCA_GID_BYTES, b.byte);
}

// Whether a packet comes the way that a QP sends: without a GRH, or with one that names the peer.
[[nodiscard]] inline bool comes_from(const hca_route& way, bool global, const global_route& grh) {
  return global ? way.global != 0 && grh.source == way.dgid : way.global == 0;
}

// One packet in flight: from the unit that built it to the unit that consumed it, which returns it to the pool. Handing it on
// through a socket hands on the ownership once the hop is answered.
struct packet : transaction {
  packet_header header;       // what the bytes say; written by encode() and parse()
  global_route grh;           // likewise, when header.global
  std::uint32_t head = 0;     // first byte of the packet in `bytes`
  std::uint32_t payload = 0;  // payload bytes, without pad
  std::uint64_t tag = 0;      // of the unit that builds it, until it has left it
  void* holder = nullptr;     // of the unit that holds it while its payload is being placed
  ps last_bit{0};             // in the fabric: when its last byte is there, if that is after the hand-over (cut-through)
  action departed{};  // of its sender, who wants to know when its last byte has left the adapter; done once, by the port

  // The payload always starts here, so DMA can fill it before the headers are known. For its sender until encode() and its
  // receiver after parse().
  [[nodiscard]] std::byte* data() { return bytes_.data() + wire::max_header; }
  [[nodiscard]] const std::byte* data() const { return bytes_.data() + wire::max_header; }
  // From LRH to the end of the ICRC.
  [[nodiscard]] std::span<const std::byte> on_wire() const {
    if (due_ != 0) write_icrc();
    return {bytes_.data() + head, sealed_bytes()};
  }
  [[nodiscard]] std::uint32_t sealed_bytes() const { return wire_bytes() - static_cast<std::uint32_t>(wire::vcrc_bytes); }
  // Returns the GRH of a packet that has one, as it is on the wire.
  [[nodiscard]] std::byte* grh_bytes() { return bytes_.data() + head + wire::lrh_bytes; }
  [[nodiscard]] std::span<const std::byte, wire::lrh_bytes> lrh() const {
    return std::span<const std::byte, wire::lrh_bytes>(bytes_.data() + head, wire::lrh_bytes);
  }
  // Returns all of the room; the packet begins at `head`. For code that may change a packet on its way: its ICRC is computed
  // again when it is checked.
  [[nodiscard]] std::span<std::byte> raw() {
    if (due_ != 0) write_icrc();
    sealed_ = 0;
    return bytes_;
  }
  // The lane in the LRH, which links change; the ICRC does not cover it.
  [[nodiscard]] unsigned lane() const { return std::to_integer<unsigned>(bytes_[head] >> 4); }
  void set_lane(unsigned vl) {
    bytes_[head] = (bytes_[head] & std::byte{0x0f}) | static_cast<std::byte>(vl << 4);
    header.virtual_lane = static_cast<std::uint8_t>(vl);
  }
  // Bytes the link is busy with: everything plus VCRC.
  [[nodiscard]] std::uint32_t wire_bytes() const {
    return static_cast<std::uint32_t>(wire::max_header + wire::icrc_bytes + wire::vcrc_bytes) + payload + header.pad - head;
  }

 private:
  friend void encode(packet& p);
  friend void seal(packet& p);
  friend void copy(const packet& from, packet& to);
  friend bool icrc_holds(const packet& p, std::size_t total);
  friend bool icrc_ok(const packet& p, std::size_t total);
  friend bool parse(packet& p, std::size_t total);

  void write_icrc() const;

  std::uint32_t sealed_ = 0;       // length that the ICRC at its end is of; 0 = the bytes may have changed since
  mutable std::uint32_t due_ = 0;  // where in `bytes_` that ICRC is still to be written; 0 = it is there
  alignas(16) mutable std::array<std::byte, wire::max_header + wire::max_payload + 8> bytes_;
};

// Writes the headers in front of the payload, pads it, and appends the ICRC (when it is read). `p.header` and `p.payload` are
// the input.
void encode(packet& p);
// The packet goes this way, if it has a GRH; `own` is where it comes from.
inline void set_route(packet& p, const hca_route& way, const hca_gid& own) {
  if (way.global == 0) return;
  p.header.global = true;
  p.grh = {.source = own, .dest = way.dgid, .flow = way.flow, .hop_limit = way.hop_limit};
}
// Copies the bytes and their meaning; for a hop that replicates a packet.
void copy(const packet& from, packet& to);
// Appends the ICRC again after the bytes were changed.
void seal(packet& p);
// Reads `total` bytes from `p.head` on back into `p.header` and `p.payload`. False = no InfiniBand packet of a known
// opcode, or a length that does not fit; nothing of it may be used.
bool parse(packet& p, std::size_t total);
// Returns whether the ICRC at the end is that of the bytes before it; `icrc_ok` computes nothing if no hop may have changed
// them.
bool icrc_holds(const packet& p, std::size_t total);
bool icrc_ok(const packet& p, std::size_t total);

// Serial number arithmetic on 24 bits: how far b is ahead of a, in [-2^23, 2^23).
inline std::int32_t psn_distance(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>((b - a) << 8) >> 8;
}
inline std::uint32_t psn_add(std::uint32_t psn, std::uint32_t n) {
  return (psn + n) & wire::psn_mask;
}

// The opcode without its transport: as of RC.
inline std::uint8_t kind_bits(std::uint8_t opcode) {
  return static_cast<std::uint8_t>(opcode & ~wire::transport_mask);
}
inline bool is_read(const packet_header& h) {
  return h.opcode == wire::read_request || h.opcode == (wire::xrc | wire::read_request);
}

// Packets that `length` bytes take; none take one, too (IBA 9.7.2).
inline std::uint32_t packets_of(std::uint64_t length, unsigned mtu_shift) {
  return length == 0 ? 1 : static_cast<std::uint32_t>(ceil_div(length, std::uint64_t{1} << mtu_shift));
}
// PSNs that a request packet takes: a READ those of its responses.
inline std::uint32_t psns_of(const packet_header& h, unsigned mtu_shift) {
  return is_read(h) ? packets_of(h.dma_length, mtu_shift) : 1;
}

using packet_pool = pool<packet>;

}  // namespace hcasim
