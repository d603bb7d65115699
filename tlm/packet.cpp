#include "tlm/packet.h"

#include <libdeflate.h>

#include <cstring>

namespace hcasim {
namespace {

using wire::shape;

constexpr std::array<shape, 256> make_shapes() {
  std::array<shape, 256> table{};
  const auto set = [&table](std::uint8_t op, shape s) {
    s.known = true;
    table[op] = s;
  };
  for (const std::uint8_t base : {wire::rc, wire::uc}) {
    const auto op = [base](std::uint8_t o) { return static_cast<std::uint8_t>(base | o); };
    set(op(wire::send_first), {.payload = true, .first = true});
    set(op(wire::send_middle), {.payload = true});
    set(op(wire::send_last), {.payload = true, .last = true});
    set(op(wire::send_last_imm), {.immediate = true, .payload = true, .last = true});
    set(op(wire::send_only), {.payload = true, .first = true, .last = true});
    set(op(wire::send_only_imm), {.immediate = true, .payload = true, .first = true, .last = true});
    set(op(wire::write_first), {.reth = true, .payload = true, .first = true});
    set(op(wire::write_middle), {.payload = true});
    set(op(wire::write_last), {.payload = true, .last = true});
    set(op(wire::write_last_imm), {.immediate = true, .payload = true, .last = true});
    set(op(wire::write_only), {.reth = true, .payload = true, .first = true, .last = true});
    set(op(wire::write_only_imm), {.reth = true, .immediate = true, .payload = true, .first = true, .last = true});
  }
  set(wire::read_request, {.reth = true, .first = true, .last = true});
  set(wire::read_first, {.aeth = true, .payload = true, .response = true, .first = true});
  set(wire::read_middle, {.payload = true, .response = true});
  set(wire::read_last, {.aeth = true, .payload = true, .response = true, .last = true});
  set(wire::read_only, {.aeth = true, .payload = true, .response = true, .first = true, .last = true});
  set(wire::acknowledge, {.aeth = true, .response = true, .first = true, .last = true});
  set(wire::atomic_acknowledge, {.aeth = true, .atomic_ack = true, .response = true, .first = true, .last = true});
  set(wire::compare_swap, {.atomic = true, .first = true, .last = true});
  set(wire::fetch_add, {.atomic = true, .first = true, .last = true});
  set(wire::send_last_inv, {.invalidate = true, .payload = true, .last = true});
  set(wire::send_only_inv, {.invalidate = true, .payload = true, .first = true, .last = true});
  set(wire::ud | wire::send_only, {.datagram = true, .payload = true, .first = true, .last = true});
  set(wire::ud | wire::send_only_imm, {.immediate = true, .datagram = true, .payload = true, .first = true, .last = true});
  return table;
}
constexpr std::array<shape, 256> shapes = make_shapes();

std::uint32_t header_bytes(const shape& s) {
  return static_cast<std::uint32_t>(wire::lrh_bytes + wire::bth_bytes + (s.datagram ? 8 : 0) + (s.reth ? 16 : 0) +
                                    (s.atomic ? 28 : 0) + (s.aeth ? 4 : 0) + (s.atomic_ack ? 8 : 0) + (s.immediate ? 4 : 0) +
                                    (s.invalidate ? 4 : 0));
}

// Big-endian fields, in order.
class writer {
 public:
  explicit writer(std::byte* p) : p_(p) {}
  void put(std::uint64_t v, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) *p_++ = static_cast<std::byte>((v >> shift) & 0xff);
  }
  void raw32(std::uint32_t v) {
    std::memcpy(p_, &v, 4);
    p_ += 4;
  }

 private:
  std::byte* p_;
};

class reader {
 public:
  explicit reader(const std::byte* p) : p_(p) {}
  std::uint64_t get(int bytes) {
    std::uint64_t v = 0;
    while (bytes-- > 0) v = v << 8 | std::to_integer<std::uint64_t>(*p_++);
    return v;
  }
  std::uint32_t get32() { return static_cast<std::uint32_t>(get(4)); }
  std::uint32_t raw32() {
    std::uint32_t v = 0;
    std::memcpy(&v, p_, 4);
    p_ += 4;
    return v;
  }

 private:
  const std::byte* p_;
};

// The ICRC of a local packet (no GRH): LRH.VL and BTH's FECN, BECN and reserved bits count as ones; polynomial and bit order
// are those of Ethernet's CRC-32 (IBA 7.8.1).
std::uint32_t icrc(std::span<const std::byte> covered) {
  std::array<std::byte, wire::lrh_bytes + wire::bth_bytes> masked;
  std::memcpy(masked.data(), covered.data(), masked.size());
  masked[0] |= std::byte{0xf0};
  masked[wire::lrh_bytes + 4] = std::byte{0xff};
  const std::uint32_t c = libdeflate_crc32(0, masked.data(), masked.size());
  return libdeflate_crc32(c, covered.data() + masked.size(), covered.size() - masked.size());
}

}  // namespace

const wire::shape& wire::shape_of(std::uint8_t opcode) {
  return shapes[opcode];
}

std::span<std::byte> packet::on_wire() {
  const std::uint32_t end = static_cast<std::uint32_t>(wire::max_header) + payload + header.pad;
  return {bytes.data() + head, end - head + wire::icrc_bytes};
}

std::uint32_t packet::wire_bytes() const {
  return static_cast<std::uint32_t>(wire::max_header + wire::icrc_bytes + wire::vcrc_bytes) + payload + header.pad - head;
}

void encode(packet& p) {
  packet_header& h = p.header;
  const shape& s = h.shape();
  h.pad = static_cast<std::uint8_t>((4 - p.payload % 4) % 4);
  const std::uint32_t header_size = header_bytes(s);
  p.head = static_cast<std::uint32_t>(wire::max_header) - header_size;
  std::memset(p.data() + p.payload, 0, h.pad);

  const std::uint32_t words = (header_size + p.payload + h.pad + static_cast<std::uint32_t>(wire::icrc_bytes)) / 4;
  writer w(p.bytes.data() + p.head);
  w.put(static_cast<std::uint64_t>(h.virtual_lane) << 4, 1);
  w.put(static_cast<std::uint64_t>(h.service_level) << 4 | 2, 1);  // LNH: BTH follows
  w.put(h.dest_lid, 2);
  w.put(words, 2);
  w.put(h.source_lid, 2);
  w.put(h.opcode, 1);
  w.put(static_cast<std::uint64_t>(h.solicited) << 7 | 1U << 6 | static_cast<std::uint64_t>(h.pad) << 4, 1);
  w.put(0xffff, 2);  // default P_Key
  w.put(h.dest_qpn & wire::psn_mask, 4);
  w.put(static_cast<std::uint64_t>(h.ack_request) << 31 | (h.psn & wire::psn_mask), 4);
  if (s.datagram) {
    w.put(h.qkey, 4);
    w.put(h.source_qpn & wire::psn_mask, 4);
  }
  if (s.reth) {
    w.put(h.va, 8);
    w.put(h.rkey, 4);
    w.put(h.dma_length, 4);
  }
  if (s.atomic) {
    w.put(h.va, 8);
    w.put(h.rkey, 4);
    w.put(h.swap_add, 8);
    w.put(h.compare, 8);
  }
  if (s.aeth) w.put(static_cast<std::uint64_t>(h.syndrome) << 24 | (h.msn & wire::psn_mask), 4);
  if (s.atomic_ack) w.put(h.original, 8);
  if (s.immediate) w.raw32(h.immediate);
  if (s.invalidate) w.put(h.invalidate_key, 4);
  seal(p);
}

void seal(packet& p) {
  const std::span<std::byte> all = p.on_wire();
  const std::uint32_t c = icrc(all.first(all.size() - wire::icrc_bytes));
  std::memcpy(all.data() + all.size() - wire::icrc_bytes, &c, wire::icrc_bytes);
}

bool icrc_ok(const packet& p, std::size_t total) {
  if (total < wire::lrh_bytes + wire::bth_bytes + wire::icrc_bytes || p.head + total > p.bytes.size()) return false;
  const std::span<const std::byte> all(p.bytes.data() + p.head, total);
  std::uint32_t stored = 0;
  std::memcpy(&stored, all.data() + total - wire::icrc_bytes, wire::icrc_bytes);
  return stored == icrc(all.first(total - wire::icrc_bytes));
}

bool parse(packet& p, std::size_t total) {
  if (total < wire::lrh_bytes + wire::bth_bytes + wire::icrc_bytes || p.head + total > p.bytes.size()) return false;
  packet_header h;
  reader r(p.bytes.data() + p.head);
  const std::uint64_t vl_lver = r.get(1);
  h.virtual_lane = static_cast<std::uint8_t>(vl_lver >> 4);
  const std::uint64_t sl_lnh = r.get(1);
  h.service_level = static_cast<std::uint8_t>(sl_lnh >> 4);
  h.dest_lid = static_cast<std::uint16_t>(r.get(2));
  const std::uint64_t words = r.get(2) & 0x7ff;
  h.source_lid = static_cast<std::uint16_t>(r.get(2));
  h.opcode = static_cast<std::uint8_t>(r.get(1));
  const shape& s = h.shape();
  const std::uint32_t header_size = header_bytes(s);
  if ((vl_lver & 0xf) != 0 || (sl_lnh & 3) != 2 || !s.known || words * 4 != total || total < header_size + wire::icrc_bytes)
    return false;

  const std::uint64_t flags = r.get(1);
  if ((flags & 0xf) != 0) return false;  // transport version
  h.solicited = (flags & 0x80) != 0;
  h.pad = static_cast<std::uint8_t>((flags >> 4) & 3);
  r.get(2);
  h.dest_qpn = r.get32() & wire::psn_mask;
  const std::uint32_t psn = r.get32();
  h.ack_request = (psn >> 31) != 0;
  h.psn = psn & wire::psn_mask;
  if (s.datagram) {
    h.qkey = r.get32();
    h.source_qpn = r.get32() & wire::psn_mask;
  }
  if (s.reth) {
    h.va = r.get(8);
    h.rkey = r.get32();
    h.dma_length = r.get32();
  }
  if (s.atomic) {
    h.va = r.get(8);
    h.rkey = r.get32();
    h.swap_add = r.get(8);
    h.compare = r.get(8);
  }
  if (s.aeth) {
    const std::uint32_t aeth = r.get32();
    h.syndrome = static_cast<std::uint8_t>(aeth >> 24);
    h.msn = aeth & wire::psn_mask;
  }
  if (s.atomic_ack) h.original = r.get(8);
  if (s.immediate) h.immediate = r.raw32();
  if (s.invalidate) h.invalidate_key = r.get32();

  const std::size_t body = total - header_size - wire::icrc_bytes;
  if (body < h.pad || body - h.pad > wire::max_payload || (body != 0 && !s.payload)) return false;
  if (p.head + header_size != wire::max_header) return false;
  p.header = h;
  p.payload = static_cast<std::uint32_t>(body - h.pad);
  return true;
}

}  // namespace hcasim
