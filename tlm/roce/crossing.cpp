#include "tlm/roce/crossing.h"

#include <cstring>

namespace hcasim::gateway {
namespace {

constexpr std::size_t grh_bytes = 40;
constexpr unsigned next_header = 3;  // of the LRH's second byte
constexpr unsigned local_bth = 2;
constexpr unsigned global_bth = 3;

}  // namespace

std::span<const std::byte> transport_of(const packet& p) {
  const std::span<const std::byte> all = p.on_wire();
  const unsigned lnh = std::to_integer<unsigned>(all[1]) & next_header;
  const std::size_t front = wire::lrh_bytes + (lnh == global_bth ? grh_bytes : 0);
  if (lnh < local_bth || all.size() < front + wire::bth_bytes + wire::icrc_bytes) return {};
  return all.subspan(front, all.size() - front - wire::icrc_bytes);
}

bool to_fabric(packet& p, const local_route& r, std::span<const std::byte> transport) {
  if (transport.size() < wire::bth_bytes || transport.size() % 4 != 0) return false;
  p.header = {};
  p.header.opcode = std::to_integer<std::uint8_t>(transport[0]);
  p.header.virtual_lane = r.lane;
  p.header.service_level = r.service_level;
  p.header.dest_lid = r.to;
  p.header.source_lid = r.from;
  if (!p.header.shape().known) return false;
  p.payload = 0;
  encode(p);  // its LRH, and where it begins
  const std::size_t total = wire::lrh_bytes + transport.size() + wire::icrc_bytes;
  const std::span<std::byte> room = p.raw();
  if (p.head + total > room.size()) return false;
  std::byte* const lrh = room.data() + p.head;
  lrh[4] = static_cast<std::byte>(total / 4 >> 8);
  lrh[5] = static_cast<std::byte>(total / 4);
  std::memcpy(lrh + wire::lrh_bytes, transport.data(), transport.size());
  if (!parse(p, total)) return false;
  seal(p);
  return true;
}

}  // namespace hcasim::gateway
