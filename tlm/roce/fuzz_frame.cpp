// Any bytes as a frame from outside: the reader stays inside them, and what it takes for a packet is written back the same.
#include <algorithm>
#include <array>
#include <cstring>

#include "tlm/roce/crossing.h"
#include "tlm/roce/frame.h"

namespace {

using namespace hcasim;
using namespace hcasim::gateway;

void expect(bool ok) {
  if (!ok) __builtin_trap();
}

// A frame of these bytes from the BTH on, so that inputs reach what lies behind the ICRC.
void as_transport(std::span<const std::byte> in) {
  static std::array<std::byte, most_frame> frame;
  static packet p;
  const auto transport = in.first(std::min(in.size(), most_transport) & ~std::size_t{3});
  if (transport.size() < bth_least) return;
  const std::size_t n = write_roce(frame, {{{2, 0, 0, 0, 0, 2}, 0xc0a84d02}, {{2, 0, 0, 0, 0, 1}, 0xc0a84d01}}, transport);
  const parsed read = read_frame(std::span(frame).first(n));
  expect(read.what == frame_kind::roce);
  expect(std::ranges::equal(read.transport, transport));
  if (!to_fabric(p, {.from = 0x8002, .to = 1}, read.transport)) return;
  expect(icrc_holds(p, p.on_wire().size()));
  expect(std::ranges::equal(transport_of(p), transport));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> in(reinterpret_cast<const std::byte*>(data), size);
  const parsed p = read_frame(in);
  if (p.what == frame_kind::roce)
    expect(p.transport.data() >= in.data() && p.transport.size() + front_bytes + crc_bytes <= size);
  as_transport(in);
  return 0;
}
