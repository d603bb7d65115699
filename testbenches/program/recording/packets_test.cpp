// Addresses of recorded RoCEv2 frames: of adapters from their LIDs, of multicast groups from their GIDs.
#include "testbenches/program/recording/packets.h"

#include <cstring>

#include <gtest/gtest.h>

#include "tlm/roce/crossing.h"
#include "tlm/roce/frame.h"

namespace hcasim {
namespace {

using gid_bytes = std::array<std::uint8_t, 16>;

// Returns the frame of a SEND over UD from LID 3, read back by the gateway's reader.
gateway::parsed frame_of(packet& p, std::vector<std::uint8_t>& bytes, std::uint16_t lid, const gid_bytes* gid) {
  constexpr std::uint8_t ud_send_only = 0x64;
  p.header = {};
  p.header.opcode = ud_send_only;
  p.header.source_lid = 3;
  p.header.dest_lid = lid;
  p.header.dest_qpn = gid ? wire::group_qpn : 5;
  p.header.global = gid != nullptr;
  p.grh = {};
  if (gid) std::memcpy(p.grh.dest.byte, gid->data(), gid->size());
  p.payload = 0;
  encode(p);
  seal(p);
  bytes = roce_frame(p);
  return gateway::read_frame(std::as_bytes(std::span(bytes)));
}

TEST(roce_capture, groups_have_multicast_addresses) {
  const struct {
    gid_bytes gid;
    gateway::ip_address ip;
    gateway::mac_address mac;
  } cases[] = {
      {{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0x0f, 0x81, 0x02, 0x03}, 0xef810203, {1, 0, 0x5e, 1, 2, 3}},
      {{0xff, 0x12, 0x60, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 1, 0xff, 0x00, 0x00, 0x16}, 0xef000016, {1, 0, 0x5e, 0, 0, 0x16}},
      {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xe0, 0xff, 0x00, 0x09}, 0xe0ff0009, {1, 0, 0x5e, 0x7f, 0, 9}}};
  packet p;
  std::vector<std::uint8_t> bytes;
  for (const auto& c : cases) {
    const gateway::parsed f = frame_of(p, bytes, 0xc001, &c.gid);
    ASSERT_EQ(f.what, gateway::frame_kind::roce) << "its ICRC covers the address of the group";
    EXPECT_EQ(f.to.ip, c.ip);
    EXPECT_EQ(f.destination, c.mac);
    EXPECT_EQ(f.from.ip, 0x0a000003U);
    EXPECT_EQ(f.from.mac, (gateway::mac_address{2, 0, 0, 0, 0, 3}));
    EXPECT_EQ(f.transport.size(), gateway::transport_of(p).size());
  }
}

TEST(roce_capture, a_global_route_to_one_adapter_has_the_addresses_of_its_lid) {
  packet p;
  std::vector<std::uint8_t> bytes;
  const gid_bytes port{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1};
  for (const gid_bytes* gid : {&port, static_cast<const gid_bytes*>(nullptr)}) {
    const gateway::parsed f = frame_of(p, bytes, 0x0107, gid);
    ASSERT_EQ(f.what, gateway::frame_kind::roce);
    EXPECT_EQ(f.to.ip, 0x0a000107U);
    EXPECT_EQ(f.destination, (gateway::mac_address{2, 0, 0, 0, 1, 7}));
  }
}

}  // namespace
}  // namespace hcasim
