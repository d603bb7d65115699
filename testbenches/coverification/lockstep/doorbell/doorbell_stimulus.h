// The items of the doorbell unit's streams.
#pragma once

#include "testbenches/coverification/lockstep/lockstep.h"
#include "tlm/work.h"

namespace hcasim::lockstep {

// Places of the long stalls in random streams (tlm/rtl/stall_source.h): the numbers of the items.
inline constexpr std::uint64_t long_stall_of_doorbells = 400, long_stall_of_lines = 1'200;

// qp: declares a QP's context and record. Without this item, the QP has no context.
enum class write_kind : std::uint8_t { sq, rq, cq, eq, blueflame, broken_blueflame, bad, qp };

// Words of an item:
// - 0: kind, gap << 8, page << 24
// - 1: offset in the page, blocks that a WQE claims << 16, bytes << 32; of a qp: address of its record, 0 = none
// - 2: number, value << 32; of a qp: QPN, first index << 32, its record cannot be read << 48
struct write_fields {
  write_kind kind = write_kind::sq;
  std::uint32_t gap = 0;  // 16 bits
  std::uint16_t page = 0;
  std::uint16_t offset = 0;
  std::uint8_t blocks = 0;
  std::uint32_t bytes = 8;
  std::uint32_t number = 0;
  std::uint32_t value = 0;  // SQ, BlueFlame: the producer index behind it
};
inline bool rings_qp(write_kind k) {
  return k == write_kind::sq || k == write_kind::rq || k == write_kind::blueflame || k == write_kind::broken_blueflame;
}
inline bell bell_of(write_kind k) {
  return k == write_kind::rq   ? bell::receive
         : k == write_kind::cq ? bell::completion
         : k == write_kind::eq ? bell::event
                               : bell::send;
}
inline item pack(const write_fields& f) {
  item i{};
  i[0] = static_cast<std::uint64_t>(f.kind) | std::uint64_t{f.gap & 0xffff} << 8 | std::uint64_t{f.page} << 24;
  i[1] = f.offset | std::uint64_t{f.blocks} << 16 | std::uint64_t{f.bytes} << 32;
  i[2] = f.number | std::uint64_t{f.value} << 32;
  return i;
}
inline item pack_qp(std::uint32_t qpn, std::uint64_t record, std::uint16_t first, bool fails) {
  item i{};
  i[0] = static_cast<std::uint64_t>(write_kind::qp);
  i[1] = record;
  i[2] = qpn | std::uint64_t{first} << 32 | std::uint64_t{fails} << 48;
  return i;
}
inline write_fields unpack_write(const item& i) {
  write_fields f;
  f.kind = static_cast<write_kind>(i[0] & 0xff);
  f.gap = static_cast<std::uint32_t>(i[0] >> 8 & 0xffff);
  f.page = static_cast<std::uint16_t>(i[0] >> 24);
  f.offset = static_cast<std::uint16_t>(i[1]);
  f.blocks = static_cast<std::uint8_t>(i[1] >> 16);
  f.bytes = static_cast<std::uint32_t>(i[1] >> 32);
  f.number = static_cast<std::uint32_t>(i[2]);
  f.value = static_cast<std::uint32_t>(i[2] >> 32);
  return f;
}

item_stream generate_doorbells(const options& o);

}  // namespace hcasim::lockstep
