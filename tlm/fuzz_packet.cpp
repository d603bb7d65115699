// Any bytes as a packet from the wire: the parser stays inside the bytes. An accepted packet is encoded to the same bytes, but
// for fields that a receiver ignores.
#include <algorithm>
#include <cstring>

#include "tlm/packet.h"

namespace {

using namespace hcasim;

void expect(bool ok) {
  if (!ok) __builtin_trap();
}

// Returns where a packet of this opcode begins, for its payload to lie at its place.
std::uint32_t head_of(std::uint8_t opcode, bool global) {
  static packet p;
  p.header.opcode = opcode;
  p.header.global = global;
  p.payload = 0;
  encode(p);
  return p.head;
}

// Makes length and versions fit, so that the input reaches the code behind their checks.
void mend(packet& p, std::size_t size, bool global) {
  std::byte* lrh = p.raw().data() + p.head;
  lrh[0] &= std::byte{0xf0};
  lrh[1] = (lrh[1] & std::byte{0xf0}) | (global ? std::byte{3} : std::byte{2});
  lrh[4] = static_cast<std::byte>(size / 4 >> 8);
  lrh[5] = static_cast<std::byte>(size / 4 & 0xff);
  std::byte* bth = lrh + wire::lrh_bytes;
  if (global) {
    bth[0] = (bth[0] & std::byte{0x0f}) | std::byte{0x60};
    bth[4] = static_cast<std::byte>((size - wire::lrh_bytes - wire::grh_bytes) >> 8);
    bth[5] = static_cast<std::byte>((size - wire::lrh_bytes - wire::grh_bytes) & 0xff);
    bth[6] = std::byte{0x1b};
    bth += wire::grh_bytes;
  }
  bth[1] &= std::byte{0xf0};
}

// Reserved bits, P_Key, migration state and congestion marks are not kept.
void forget_ignored(std::byte* lrh, bool global) {
  std::byte* bth = lrh + wire::lrh_bytes + (global ? wire::grh_bytes : 0);
  lrh[1] &= std::byte{0xf3};
  lrh[4] &= std::byte{0x07};
  bth[1] &= std::byte{0xbf};
  bth[2] = bth[3] = bth[4] = std::byte{0};
  bth[8] &= std::byte{0x80};
  const wire::shape& s = wire::shape_of(std::to_integer<std::uint8_t>(bth[0]));
  if (s.datagram) bth[wire::bth_bytes + 4] = std::byte{0};
  if (s.xrc) bth[wire::bth_bytes] = std::byte{0};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static packet received;
  static packet sent;
  const bool global = size != 0 && (data[0] & 4) != 0;
  const std::size_t before = wire::lrh_bytes + (global ? wire::grh_bytes : 0);
  if (size < 2 + before + wire::bth_bytes) return 0;
  const bool fitting = (data[0] & 1) != 0;
  received.head = (data[0] & 2) != 0 ? data[1] % (wire::max_header + 1) : head_of(data[2 + before], global);
  data += 2;
  size = std::min(size - 2, received.raw().size() - received.head);
  if (fitting) size &= ~std::size_t{3};
  std::memcpy(received.raw().data() + received.head, data, size);
  if (fitting && size >= before + wire::bth_bytes) mend(received, size, global);

  icrc_ok(received, size);
  if (!parse(received, size)) return 0;
  expect(received.payload <= wire::max_payload);
  expect(received.on_wire().size() == size);

  sent.header = received.header;
  sent.grh = received.grh;
  sent.payload = received.payload;
  std::memcpy(sent.data(), received.data(), received.payload);
  encode(sent);
  expect(sent.head == received.head && sent.on_wire().size() == size);
  expect(icrc_ok(sent, size));

  // The ICRC covers the packet's last byte.
  sent.raw()[sent.head + size - wire::icrc_bytes - 1] ^= std::byte{1};
  expect(!icrc_ok(sent, size));
  sent.raw()[sent.head + size - wire::icrc_bytes - 1] ^= std::byte{1};

  forget_ignored(received.raw().data() + received.head, received.header.global);
  forget_ignored(sent.raw().data() + sent.head, received.header.global);
  expect(std::ranges::equal(received.on_wire().first(size - wire::icrc_bytes - received.header.pad),
                            sent.on_wire().first(size - wire::icrc_bytes - sent.header.pad)));
  return 0;
}
