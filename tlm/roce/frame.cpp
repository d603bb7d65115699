#include "tlm/roce/frame.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace hcasim::gateway {
namespace {

constexpr std::uint16_t type_ip = 0x0800;
constexpr std::uint16_t type_arp = 0x0806;
constexpr std::uint8_t version_and_length = 0x45;
constexpr std::uint8_t protocol_udp = 17;
constexpr std::uint16_t do_not_fragment = 0x4000;
constexpr std::size_t word = 4;
// From the begin of the IPv4 header.
constexpr std::size_t total_at = 2;
constexpr std::size_t fragment_at = 6;
constexpr std::size_t protocol_at = 9;
constexpr std::size_t checksum_at = 10;
constexpr std::size_t source_at = 12;
constexpr std::size_t destination_at = 16;
constexpr std::size_t udp_at = ip_bytes;
constexpr std::size_t bth_at = ip_bytes + udp_bytes;

class writer {
 public:
  explicit writer(std::byte* p) : p_(p) {}
  void put(std::uint64_t v, int n) {
    while (n-- > 0) *p_++ = static_cast<std::byte>(v >> (8 * n));
  }
  void put(const mac_address& m) {
    for (const std::uint8_t b : m) put(b, 1);
  }

 private:
  std::byte* p_;
};

std::uint32_t get(std::span<const std::byte> from, std::size_t at, std::size_t n) {
  std::uint32_t v = 0;
  for (const std::byte b : from.subspan(at, n)) v = v << 8 | std::to_integer<std::uint32_t>(b);
  return v;
}
mac_address get_mac(std::span<const std::byte> from, std::size_t at) {
  mac_address m;
  std::memcpy(m.data(), from.subspan(at, m.size()).data(), m.size());
  return m;
}

// In one's complement; of a header with its checksum: 0.
std::uint16_t checksum(std::span<const std::byte> header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < header.size(); i += 2) sum += get(header, i, 2);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

// `ip`: from the IPv4 header to the end of the pad.
std::uint32_t icrc(std::span<const std::byte> ip) {
  constexpr std::size_t lrh = 8;
  constexpr std::size_t masked = lrh + bth_at + bth_least;
  std::array<std::byte, masked> front;
  std::fill_n(front.begin(), lrh, std::byte{0xff});
  std::memcpy(front.data() + lrh, ip.data(), masked - lrh);
  for (const std::size_t at :
       {std::size_t{1}, std::size_t{8}, checksum_at, checksum_at + 1, udp_at + 6, udp_at + 7, bth_at + 4}) {
    front[lrh + at] = std::byte{0xff};
  }
  const std::uint32_t c = libdeflate_crc32(0, front.data(), front.size());
  const auto rest = ip.subspan(masked - lrh);
  return libdeflate_crc32(c, rest.data(), rest.size());
}

parsed refused(frame_kind why) {
  parsed out;
  out.what = why;
  return out;
}

parsed read_arp(std::span<const std::byte> frame) {
  parsed out;
  if (frame.size() < arp_bytes) return refused(frame_kind::cut_short);
  constexpr std::uint32_t ethernet_and_ip[] = {1, type_ip, 0x0604};
  for (std::size_t i = 0; i < 3; ++i) {
    if (get(frame, ethernet_bytes + 2 * i, 2) != ethernet_and_ip[i]) return out;
  }
  const std::uint32_t operation = get(frame, 20, 2);
  if (operation != 1 && operation != 2) return out;
  out.what = operation == 1 ? frame_kind::arp_request : frame_kind::arp_reply;
  out.destination = get_mac(frame, 0);
  out.from = {get_mac(frame, 22), get(frame, 28, 4)};
  out.to = {get_mac(frame, 32), get(frame, 38, 4)};
  return out;
}

parsed read_ip(std::span<const std::byte> frame) {
  std::span<const std::byte> ip = frame.subspan(ethernet_bytes);
  if (ip.size() < ip_bytes) return refused(frame_kind::cut_short);
  if (get(ip, 0, 1) != version_and_length) return {};  // options come with no RoCE
  if (checksum(ip.first(ip_bytes)) != 0) return refused(frame_kind::ip_checksum);
  const std::uint32_t total = get(ip, total_at, 2);
  if (total < ip_bytes || total > ip.size()) return refused(frame_kind::cut_short);
  ip = ip.first(total);  // short frames are filled up
  if (get(ip, protocol_at, 1) != protocol_udp) return {};
  if ((get(ip, fragment_at, 2) & ~std::uint32_t{do_not_fragment}) != 0) return refused(frame_kind::fragment);
  if (total < bth_at) return refused(frame_kind::cut_short);
  if (get(ip, udp_at + 2, 2) != roce_port) return {};
  if (get(ip, udp_at + 4, 2) != total - ip_bytes || (total - bth_at) % word != 0) return refused(frame_kind::length);
  if (total < bth_at + bth_least + crc_bytes) return refused(frame_kind::cut_short);
  if (total - bth_at - crc_bytes > most_transport) return refused(frame_kind::length);

  const std::size_t covered = total - crc_bytes;
  std::uint32_t stored = 0;
  std::memcpy(&stored, ip.data() + covered, sizeof stored);
  if (stored != icrc(ip.first(covered))) return refused(frame_kind::icrc);
  parsed out;
  out.what = frame_kind::roce;
  out.destination = get_mac(frame, 0);
  out.from = {get_mac(frame, 6), get(ip, source_at, 4)};
  out.to = {out.destination, get(ip, destination_at, 4)};
  out.service = static_cast<std::uint8_t>(get(ip, 1, 1));
  out.transport = ip.subspan(bth_at, covered - bth_at);
  return out;
}

}  // namespace

std::string_view to_text(frame_kind k) {
  constexpr std::string_view names[kinds] = {"roce",        "arp_request", "arp_reply", "other", "cut_short",
                                             "ip_checksum", "fragment",    "length",    "icrc"};
  return names[static_cast<std::size_t>(k)];
}

parsed read_frame(std::span<const std::byte> frame) {
  if (frame.size() < ethernet_bytes) return refused(frame_kind::cut_short);
  switch (get(frame, 12, 2)) {
    case type_arp:
      return read_arp(frame);
    case type_ip:
      return read_ip(frame);
    default:
      return {};
  }
}

std::size_t write_roce(std::span<std::byte, most_frame> out, const roce_route& r, std::span<const std::byte> transport) {
  const std::size_t total = bth_at + transport.size() + crc_bytes;
  writer w(out.data());
  w.put(r.to.mac);
  w.put(r.from.mac);
  w.put(type_ip, 2);
  w.put(version_and_length, 1);
  w.put(r.service, 1);
  w.put(total, 2);
  w.put(0, 2);
  w.put(do_not_fragment, 2);
  w.put(64, 1);
  w.put(protocol_udp, 1);
  w.put(0, 2);
  w.put(r.from.ip, 4);
  w.put(r.to.ip, 4);
  w.put(r.source_port, 2);
  w.put(roce_port, 2);
  w.put(total - ip_bytes, 2);
  w.put(0, 2);  // no checksum: the ICRC covers more
  const std::span<std::byte> ip = out.subspan(ethernet_bytes, total);
  writer(ip.data() + checksum_at).put(checksum(ip.first(ip_bytes)), 2);
  std::memcpy(ip.data() + bth_at, transport.data(), transport.size());
  const std::size_t covered = total - crc_bytes;
  const std::uint32_t c = icrc(ip.first(covered));
  std::memcpy(ip.data() + covered, &c, sizeof c);
  return ethernet_bytes + total;
}

std::size_t write_arp(std::span<std::byte, arp_bytes> out, bool request, const endpoint& from, const endpoint& to) {
  writer w(out.data());
  w.put(request ? everybody : to.mac);
  w.put(from.mac);
  w.put(type_arp, 2);
  w.put(1, 2);
  w.put(type_ip, 2);
  w.put(0x0604, 2);  // lengths of the addresses
  w.put(request ? 1 : 2, 2);
  w.put(from.mac);
  w.put(from.ip, 4);
  w.put(request ? mac_address{} : to.mac);
  w.put(to.ip, 4);
  return arp_bytes;
}

}  // namespace hcasim::gateway
