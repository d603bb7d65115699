// Frames of the outside: RoCEv2 (Ethernet, IPv4, UDP port 4791, then the InfiniBand packet from the BTH on) and ARP.
//
// The ICRC of RoCEv2 is Ethernet's CRC-32 over eight bytes of ones, which stand for the LRH, and all from the IPv4 header to
// the end of the pad; what routers may change counts as ones: type of service, time to live, both checksums, and the byte of
// the BTH with FECN and BECN (IBA annex A17). Plain C++; nothing that comes from outside is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tlm/roce/address.h"

namespace hcasim::gateway {

inline constexpr std::uint16_t roce_port = 4791;
inline constexpr std::size_t ethernet_bytes = 14;
inline constexpr std::size_t ip_bytes = 20;
inline constexpr std::size_t udp_bytes = 8;
inline constexpr std::size_t front_bytes = ethernet_bytes + ip_bytes + udp_bytes;
inline constexpr std::size_t crc_bytes = 4;
inline constexpr std::size_t bth_least = 12;
inline constexpr std::size_t arp_bytes = 42;
inline constexpr std::size_t most_transport = 4096 + 56;  // BTH to pad
inline constexpr std::size_t most_frame = front_bytes + most_transport + crc_bytes;

struct endpoint {
  mac_address mac{};
  ip_address ip = 0;
};

// The kind of a frame, or the reason why it is dropped.
enum class frame_kind : std::uint8_t {
  roce,
  arp_request,
  arp_reply,
  other,        // traffic of another kind
  cut_short,    // shorter than it says, or than its headers
  ip_checksum,  // the IPv4 header is damaged
  fragment,     // of a datagram
  length,       // UDP and IPv4 disagree, or it is no whole number of words
  icrc,         // the packet is damaged
};
inline constexpr std::size_t kinds = 9;
std::string_view to_text(frame_kind k);

// Points into the frame.
struct parsed {
  frame_kind what = frame_kind::other;
  endpoint from, to;                     // of ARP: sender and target
  mac_address destination{};             // of the frame
  std::uint8_t service = 0;              // type of service
  std::span<const std::byte> transport;  // BTH to pad, without the ICRC
};
parsed read_frame(std::span<const std::byte> frame);

struct roce_route {
  endpoint from, to;
  std::uint8_t service = 0;
  std::uint16_t source_port = 0xc000;
};
// Writes the frame of `transport` (BTH to pad) to `out`; its length.
std::size_t write_roce(std::span<std::byte, most_frame> out, const roce_route& r, std::span<const std::byte> transport);

std::size_t write_arp(std::span<std::byte, arp_bytes> out, bool request, const endpoint& from, const endpoint& to);

}  // namespace hcasim::gateway
