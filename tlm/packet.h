// InfiniBand packets as they are on the wire: LRH, GRH, BTH, extended headers, payload, pad, ICRC (IBA volume 1, chapters 7 and
// 9). The field layout is as in public dissectors. The bytes are real: the receiver sees only what it parses.
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

// The extended headers that follow the BTH of this opcode.
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

// Returns whether a packet came the way of the QP: without a GRH, or with a GRH from the peer.
[[nodiscard]] inline bool comes_from(const hca_route& way, bool global, const global_route& grh) {
  return global ? way.global != 0 && grh.source == way.dgid : way.global == 0;
}

// One packet in flight: from its building unit to its consumer, which returns the packet to the pool. A hand-over through a
// socket hands over the ownership when the hop is answered.
struct packet : transaction {
  packet_header header;       // content of the bytes; input of encode(), result of parse()
  global_route grh;           // likewise, when header.global
  std::uint32_t head = 0;     // first byte of the packet in `bytes`
  std::uint32_t payload = 0;  // payload bytes, without pad
  std::uint64_t tag = 0;      // for use by the building unit, until the packet has left the unit
  void* holder = nullptr;     // for use by the unit that places the payload
  unsigned port = 0;          // of the adapter: by which the packet leaves, or has come
  ps last_bit{0};             // in the fabric: arrival of the last byte, if after the hand-over (cut-through)
  action departed{};          // set by the sender; the port calls it once, when the last byte has left the adapter

  // Returns the payload; DMA can fill its fixed place before the headers are known. Valid for the sender until encode() and for
  // the receiver after parse().
  [[nodiscard]] std::byte* data() { return bytes_.data() + wire::max_header; }
  [[nodiscard]] const std::byte* data() const { return bytes_.data() + wire::max_header; }
  // Returns the bytes from LRH to the end of the ICRC.
  [[nodiscard]] std::span<const std::byte> on_wire() const {
    if (due_ != 0) write_icrc();
    return {bytes_.data() + head, sealed_bytes()};
  }
  [[nodiscard]] std::uint32_t sealed_bytes() const { return wire_bytes() - static_cast<std::uint32_t>(wire::vcrc_bytes); }
  // Returns the GRH as on the wire, of a packet that has one.
  [[nodiscard]] std::byte* grh_bytes() { return bytes_.data() + head + wire::lrh_bytes; }
  [[nodiscard]] std::span<const std::byte, wire::lrh_bytes> lrh() const {
    return std::span<const std::byte, wire::lrh_bytes>(bytes_.data() + head, wire::lrh_bytes);
  }
  // Returns the whole buffer; the packet begins at `head`. For code that may change a packet on its way: the next check
  // computes the ICRC again.
  [[nodiscard]] std::span<std::byte> raw() {
    if (due_ != 0) write_icrc();
    sealed_ = 0;
    return bytes_;
  }
  // Returns the lane in the LRH, which links change; the ICRC does not cover the lane.
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

  std::uint32_t sealed_ = 0;       // length of the packet with a known ICRC; 0 = the bytes may have changed since
  mutable std::uint32_t due_ = 0;  // offset in `bytes_` where the ICRC is still to be written; 0 = it is there
  alignas(16) mutable std::array<std::byte, wire::max_header + wire::max_payload + 8> bytes_;
};

// Writes the headers in front of the payload, pads the payload, and appends the ICRC (computed on reading). `p.header` and
// `p.payload` are the input.
void encode(packet& p);
// Gives the packet a GRH if the way has one; `own` is the source GID.
inline void set_route(packet& p, const hca_route& way, const hca_gid& own) {
  if (way.global == 0) return;
  p.header.global = true;
  p.grh = {.source = own, .dest = way.dgid, .flow = way.flow, .hop_limit = way.hop_limit};
}
// Copies the bytes and their meaning; for a hop that replicates a packet.
void copy(const packet& from, packet& to);
// Appends the ICRC again after the bytes were changed.
void seal(packet& p);
// Parses `total` bytes from `p.head` on into `p.header` and `p.payload`. Returns false on an unknown opcode or a length that
// does not fit; then nothing of the packet may be used.
bool parse(packet& p, std::size_t total);
// Returns whether the ICRC at the end fits the bytes before it; `icrc_ok` computes nothing if no hop may have changed the
// bytes.
bool icrc_holds(const packet& p, std::size_t total);
bool icrc_ok(const packet& p, std::size_t total);

// Returns how far b is ahead of a, in [-2^23, 2^23): serial number arithmetic on 24 bits.
inline std::int32_t psn_distance(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>((b - a) << 8) >> 8;
}
inline std::uint32_t psn_add(std::uint32_t psn, std::uint32_t n) {
  return (psn + n) & wire::psn_mask;
}

// Returns the opcode without its transport: as of RC.
inline std::uint8_t kind_bits(std::uint8_t opcode) {
  return static_cast<std::uint8_t>(opcode & ~wire::transport_mask);
}
inline bool is_read(const packet_header& h) {
  return h.opcode == wire::read_request || h.opcode == (wire::xrc | wire::read_request);
}

// Returns the packets that `length` bytes take; a message without bytes takes one, too (IBA 9.7.2).
inline std::uint32_t packets_of(std::uint64_t length, unsigned mtu_shift) {
  return length == 0 ? 1 : static_cast<std::uint32_t>(ceil_div(length, std::uint64_t{1} << mtu_shift));
}
// Returns the PSNs of a request packet; a READ takes the PSNs of its responses.
inline std::uint32_t psns_of(const packet_header& h, unsigned mtu_shift) {
  return is_read(h) ? packets_of(h.dma_length, mtu_shift) : 1;
}

using packet_pool = pool<packet>;

}  // namespace hcasim
