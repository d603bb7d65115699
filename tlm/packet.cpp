#include "tlm/packet.h"

#include <libdeflate.h>

#include <bit>
#include <cstring>
#include <utility>

namespace hcasim {
namespace {

using wire::shape;

constexpr std::array<shape, 256> make_shapes() {
  std::array<shape, 256> table{};
  const auto set = [&table](std::uint8_t op, shape s) {
    s.known = true;
    table[op] = s;
  };
  for (const std::uint8_t base : {wire::rc, wire::uc, wire::xrc}) {
    const bool xrc = base == wire::xrc;
    const auto of = [&](std::uint8_t o, shape s) {
      s.xrc = xrc && !s.response;
      set(static_cast<std::uint8_t>(base | o), s);
    };
    of(wire::send_first, {.payload = true, .first = true});
    of(wire::send_middle, {.payload = true});
    of(wire::send_last, {.payload = true, .last = true});
    of(wire::send_last_imm, {.immediate = true, .payload = true, .last = true});
    of(wire::send_only, {.payload = true, .first = true, .last = true});
    of(wire::send_only_imm, {.immediate = true, .payload = true, .first = true, .last = true});
    of(wire::write_first, {.reth = true, .payload = true, .first = true});
    of(wire::write_middle, {.payload = true});
    of(wire::write_last, {.payload = true, .last = true});
    of(wire::write_last_imm, {.immediate = true, .payload = true, .last = true});
    of(wire::write_only, {.reth = true, .payload = true, .first = true, .last = true});
    of(wire::write_only_imm, {.reth = true, .immediate = true, .payload = true, .first = true, .last = true});
    if (base == wire::uc) continue;
    of(wire::read_request, {.reth = true, .first = true, .last = true});
    of(wire::read_first, {.aeth = true, .payload = true, .response = true, .first = true});
    of(wire::read_middle, {.payload = true, .response = true});
    of(wire::read_last, {.aeth = true, .payload = true, .response = true, .last = true});
    of(wire::read_only, {.aeth = true, .payload = true, .response = true, .first = true, .last = true});
    of(wire::acknowledge, {.aeth = true, .response = true, .first = true, .last = true});
    of(wire::atomic_acknowledge, {.aeth = true, .atomic_ack = true, .response = true, .first = true, .last = true});
    of(wire::compare_swap, {.atomic = true, .first = true, .last = true});
    of(wire::fetch_add, {.atomic = true, .first = true, .last = true});
    of(wire::send_last_inv, {.invalidate = true, .payload = true, .last = true});
    of(wire::send_only_inv, {.invalidate = true, .payload = true, .first = true, .last = true});
  }
  set(wire::ud | wire::send_only, {.datagram = true, .payload = true, .first = true, .last = true});
  set(wire::ud | wire::send_only_imm, {.immediate = true, .datagram = true, .payload = true, .first = true, .last = true});
  return table;
}
constexpr std::array<shape, 256> shapes = make_shapes();

constexpr std::array<std::uint8_t, 256> make_header_bytes() {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t op = 0; op < table.size(); ++op) {
    const shape& s = shapes[op];
    table[op] = static_cast<std::uint8_t>(wire::lrh_bytes + wire::bth_bytes + (s.datagram ? 8 : 0) + (s.reth ? 16 : 0) +
                                          (s.atomic ? 28 : 0) + (s.aeth ? 4 : 0) + (s.atomic_ack ? 8 : 0) +
                                          (s.immediate ? 4 : 0) + (s.invalidate ? 4 : 0) + (s.xrc ? 4 : 0));
  }
  return table;
}
constexpr std::array<std::uint8_t, 256> header_bytes = make_header_bytes();

// Big-endian fields, in order [A11].
template <class T>
T big_endian(T v) {
  static_assert(std::endian::native == std::endian::little);
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(v);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(v);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(v);
  return v;
}

class writer {
 public:
  explicit writer(std::byte* p) : p_(p) {}
  void put8(std::uint64_t v) { raw(static_cast<std::uint8_t>(v)); }
  void put16(std::uint64_t v) { raw(big_endian(static_cast<std::uint16_t>(v))); }
  void put32(std::uint64_t v) { raw(big_endian(static_cast<std::uint32_t>(v))); }
  void put64(std::uint64_t v) { raw(big_endian(v)); }
  template <class T>
  void raw(T v) {
    std::memcpy(p_, &v, sizeof v);
    p_ += sizeof v;
  }

 private:
  std::byte* p_;
};

class reader {
 public:
  explicit reader(const std::byte* p) : p_(p) {}
  std::uint8_t get8() { return raw<std::uint8_t>(); }
  std::uint16_t get16() { return big_endian(raw<std::uint16_t>()); }
  std::uint32_t get32() { return big_endian(raw<std::uint32_t>()); }
  std::uint64_t get64() { return big_endian(raw<std::uint64_t>()); }
  template <class T>
  T raw() {
    T v;
    std::memcpy(&v, p_, sizeof v);
    p_ += sizeof v;
    return v;
  }

 private:
  const std::byte* p_;
};

constexpr std::uint64_t local_header = 2;  // LNH: the header behind the LRH
constexpr std::uint64_t global_header = 3;
constexpr std::uint64_t transport_header = 0x1b;  // GRH: the next one is the BTH
constexpr std::uint64_t grh_version = 6;

bool has_grh(std::byte service_level_and_next) {
  return (service_level_and_next & std::byte{3}) == std::byte{global_header};
}

// Computes the ICRC of a packet with a GRH: over the fields that are invariant from end to end. Nothing of the LRH is, and of
// the GRH neither traffic class, flow label nor hop limit. They count as ones.
std::uint32_t global_icrc(std::span<const std::byte> covered) {
  constexpr std::size_t bth = wire::lrh_bytes + wire::grh_bytes;
  alignas(16) std::array<std::byte, bth + wire::bth_bytes> masked;
  std::memcpy(masked.data(), covered.data(), masked.size());
  std::memset(masked.data(), 0xff, wire::lrh_bytes);
  masked[wire::lrh_bytes] |= std::byte{0x0f};
  std::memset(masked.data() + wire::lrh_bytes + 1, 0xff, 3);
  masked[wire::lrh_bytes + 7] = std::byte{0xff};
  masked[bth + 4] = std::byte{0xff};
  const std::uint32_t c = libdeflate_crc32(0, masked.data(), masked.size());
  return libdeflate_crc32(c, covered.data() + masked.size(), covered.size() - masked.size());
}

// The ICRC. Without a GRH LRH.VL and BTH's FECN, BECN and reserved bits count as ones; polynomial and bit order are those of
// Ethernet's CRC-32 (IBA 7.8.1).
std::uint32_t icrc(std::span<const std::byte> covered) {
  alignas(16) std::array<std::byte, wire::lrh_bytes + wire::bth_bytes> masked;
  if (has_grh(covered[1]) && covered.size() >= wire::lrh_bytes + wire::grh_bytes + wire::bth_bytes) return global_icrc(covered);
  std::memcpy(masked.data(), covered.data(), masked.size());
  masked[0] |= std::byte{0xf0};
  masked[wire::lrh_bytes + 4] = std::byte{0xff};
  const std::uint32_t c = libdeflate_crc32(0, masked.data(), masked.size());
  return libdeflate_crc32(c, covered.data() + masked.size(), covered.size() - masked.size());
}

bool parse_grh(reader& r, std::size_t total, global_route& grh) {
  const std::uint32_t first = r.get32();
  const std::size_t bytes = r.get16();
  const std::uint8_t next = r.get8();
  grh.flow = first & 0xfffffff;
  grh.hop_limit = r.get8();
  grh.source = r.raw<hca_gid>();
  grh.dest = r.raw<hca_gid>();
  return first >> 28 == grh_version && next == transport_header && bytes == total - wire::lrh_bytes - wire::grh_bytes;
}

}  // namespace

const wire::shape& wire::shape_of(std::uint8_t opcode) {
  return shapes[opcode];
}

void encode(packet& p) {
  packet_header& h = p.header;
  const shape& s = h.shape();
  h.pad = static_cast<std::uint8_t>((4 - p.payload % 4) % 4);
  const std::uint32_t header_size = header_bytes[h.opcode] + (h.global ? std::uint32_t{wire::grh_bytes} : 0U);
  p.head = static_cast<std::uint32_t>(wire::max_header) - header_size;
  std::memset(p.data() + p.payload, 0, h.pad);

  const std::uint32_t words = (header_size + p.payload + h.pad + static_cast<std::uint32_t>(wire::icrc_bytes)) / 4;
  writer w(p.bytes_.data() + p.head);
  w.put8(static_cast<std::uint64_t>(h.virtual_lane) << 4);
  w.put8(static_cast<std::uint64_t>(h.service_level) << 4 | (h.global ? global_header : local_header));
  w.put16(h.dest_lid);
  w.put16(words);
  w.put16(h.source_lid);
  if (h.global) [[unlikely]] {
    w.put32(grh_version << 28 | (p.grh.flow & 0xfffffff));
    w.put16(words * 4 - wire::lrh_bytes - wire::grh_bytes);  // up to the end of the ICRC
    w.put8(transport_header);
    w.put8(p.grh.hop_limit);
    w.raw(p.grh.source);
    w.raw(p.grh.dest);
  }
  w.put8(h.opcode);
  w.put8(static_cast<std::uint64_t>(h.solicited) << 7 | 1U << 6 | static_cast<std::uint64_t>(h.pad) << 4);
  w.put16(h.pkey);
  w.put32(h.dest_qpn & wire::psn_mask);
  w.put32(static_cast<std::uint64_t>(h.ack_request) << 31 | (h.psn & wire::psn_mask));
  if (s.xrc) w.put32(h.srqn & wire::psn_mask);
  if (s.datagram) {
    w.put32(h.qkey);
    w.put32(h.source_qpn & wire::psn_mask);
  }
  if (s.reth) {
    w.put64(h.va);
    w.put32(h.rkey);
    w.put32(h.dma_length);
  }
  if (s.atomic) {
    w.put64(h.va);
    w.put32(h.rkey);
    w.put64(h.swap_add);
    w.put64(h.compare);
  }
  if (s.aeth) w.put32(static_cast<std::uint64_t>(h.syndrome) << 24 | (h.msn & wire::psn_mask));
  if (s.atomic_ack) w.put64(h.original);
  if (s.immediate) w.raw(h.immediate);
  if (s.invalidate) w.put32(h.invalidate_key);
  seal(p);
}

void seal(packet& p) {
  p.sealed_ = p.sealed_bytes();
  p.due_ = p.head + p.sealed_ - static_cast<std::uint32_t>(wire::icrc_bytes);
}

void copy(const packet& from, packet& to) {
  to.operation = from.operation;
  to.header = from.header;
  to.grh = from.grh;
  to.head = from.head;
  to.payload = from.payload;
  to.tag = from.tag;
  to.port = from.port;
  to.last_bit = from.last_bit;
  to.sealed_ = from.sealed_;
  to.due_ = from.due_;
  std::memcpy(to.bytes_.data() + to.head, from.bytes_.data() + from.head, from.sealed_bytes());
}

void packet::write_icrc() const {
  std::byte* const at = bytes_.data() + std::exchange(due_, 0);
  const std::size_t covered = sealed_ - wire::icrc_bytes;
  const std::uint32_t c = icrc({at - covered, covered});
  std::memcpy(at, &c, wire::icrc_bytes);
}

bool icrc_holds(const packet& p, std::size_t total) {
  if (total < wire::lrh_bytes + wire::bth_bytes + wire::icrc_bytes || p.head + total > p.bytes_.size()) return false;
  if (p.due_ != 0) p.write_icrc();
  const std::span<const std::byte> all(p.bytes_.data() + p.head, total);
  std::uint32_t stored = 0;
  std::memcpy(&stored, all.data() + total - wire::icrc_bytes, wire::icrc_bytes);
  return stored == icrc(all.first(total - wire::icrc_bytes));
}

bool icrc_ok(const packet& p, std::size_t total) {
  return (p.sealed_ != 0 && p.sealed_ == total) || icrc_holds(p, total);
}

bool parse(packet& p, std::size_t total) {
  if (total < wire::lrh_bytes + wire::bth_bytes + wire::icrc_bytes || p.head + total > p.bytes_.size()) return false;
  packet_header h;
  reader r(p.bytes_.data() + p.head);
  const std::uint64_t vl_lver = r.get8();
  h.virtual_lane = static_cast<std::uint8_t>(vl_lver >> 4);
  const std::uint64_t sl_lnh = r.get8();
  h.service_level = static_cast<std::uint8_t>(sl_lnh >> 4);
  h.dest_lid = r.get16();
  const std::uint64_t words = r.get16() & 0x7ff;
  h.source_lid = r.get16();
  if ((sl_lnh & 3) == global_header) [[unlikely]] {
    if (total < wire::lrh_bytes + wire::grh_bytes + wire::bth_bytes + wire::icrc_bytes || !parse_grh(r, total, p.grh))
      return false;
    h.global = true;
  } else if ((sl_lnh & 3) != local_header) {
    return false;
  }
  h.opcode = r.get8();
  const shape& s = h.shape();
  const std::uint32_t header_size = header_bytes[h.opcode] + (h.global ? std::uint32_t{wire::grh_bytes} : 0U);
  if ((vl_lver & 0xf) != 0 || !s.known || words * 4 != total || total < header_size + wire::icrc_bytes) return false;

  const std::uint64_t flags = r.get8();
  if ((flags & 0xf) != 0) return false;  // transport version
  h.solicited = (flags & 0x80) != 0;
  h.pad = static_cast<std::uint8_t>((flags >> 4) & 3);
  h.pkey = r.get16();
  h.dest_qpn = r.get32() & wire::psn_mask;
  const std::uint32_t psn = r.get32();
  h.ack_request = (psn >> 31) != 0;
  h.psn = psn & wire::psn_mask;
  if (s.xrc) h.srqn = r.get32() & wire::psn_mask;
  if (s.datagram) {
    h.qkey = r.get32();
    h.source_qpn = r.get32() & wire::psn_mask;
  }
  if (s.reth) {
    h.va = r.get64();
    h.rkey = r.get32();
    h.dma_length = r.get32();
  }
  if (s.atomic) {
    h.va = r.get64();
    h.rkey = r.get32();
    h.swap_add = r.get64();
    h.compare = r.get64();
  }
  if (s.aeth) {
    const std::uint32_t aeth = r.get32();
    h.syndrome = static_cast<std::uint8_t>(aeth >> 24);
    h.msn = aeth & wire::psn_mask;
  }
  if (s.atomic_ack) h.original = r.get64();
  if (s.immediate) h.immediate = r.raw<std::uint32_t>();
  if (s.invalidate) h.invalidate_key = r.get32();

  const std::size_t body = total - header_size - wire::icrc_bytes;
  if (body < h.pad || body - h.pad > wire::max_payload || (body != 0 && !s.payload)) return false;
  if (p.head + header_size != wire::max_header) return false;
  p.header = h;
  p.payload = static_cast<std::uint32_t>(body - h.pad);
  return true;
}

}  // namespace hcasim
