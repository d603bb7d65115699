#include "testbenches/verbs_programs/preload/instructions.h"

#include <algorithm>

namespace hcasim::preload {
namespace {

// The operands behind an opcode: an address (ModRM), and so many bytes of a number.
struct operands {
  bool known = true;
  bool address = false;
  std::size_t number = 0;
};

constexpr operands not_known{.known = false};

bool in(unsigned op, unsigned first, unsigned last) {
  return op >= first && op <= last;
}

// Opcodes of one byte. `digit`: bits 3 to 5 of the byte behind the opcode.
operands of_one_byte(unsigned op, unsigned digit, const instruction& i) {
  const bool wide = (i.rex & 8) != 0;  // a number has 8 bytes where the instruction has such
  const std::size_t word = i.narrow && !wide ? 2 : 4;
  if (op < 0x40) {
    const unsigned form = op & 7;
    return form < 4    ? operands{.address = true}
           : form == 4 ? operands{.number = 1}
           : form == 5 ? operands{.number = word}
                       : not_known;
  }
  if (in(op, 0x50, 0x5f) || in(op, 0x90, 0x99) || in(op, 0x9b, 0x9f)) return {};
  if (in(op, 0x6c, 0x6f) || in(op, 0xa4, 0xa7) || in(op, 0xaa, 0xaf) || in(op, 0xec, 0xef)) return {};
  if (in(op, 0x70, 0x7f) || in(op, 0xb0, 0xb7) || in(op, 0xe0, 0xe7)) return {.number = 1};
  if (in(op, 0x84, 0x8f) || in(op, 0xd0, 0xd3) || in(op, 0xd8, 0xdf)) return {.address = true};
  if (in(op, 0xa0, 0xa3)) return {.number = i.short_place ? std::size_t{4} : 8};
  if (in(op, 0xb8, 0xbf)) return {.number = wide ? 8 : word};
  if (in(op, 0xf8, 0xfd)) return {};
  switch (op) {
    case 0x63:
    case 0xfe:
    case 0xff:
      return {.address = true};
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xc6:
      return {.address = true, .number = 1};
    case 0x69:
    case 0x81:
    case 0xc7:
      return {.address = true, .number = word};
    case 0xf6:
      return {.address = true, .number = digit < 2 ? std::size_t{1} : 0};
    case 0xf7:
      return {.address = true, .number = digit < 2 ? word : 0};
    case 0x68:
    case 0xa9:
      return {.number = word};
    case 0xe8:
    case 0xe9:
      return {.number = 4};
    case 0x6a:
    case 0xa8:
    case 0xcd:
    case 0xeb:
      return {.number = 1};
    case 0xc2:
    case 0xca:
      return {.number = 2};
    case 0xc8:
      return {.number = 3};
    case 0xc3:
    case 0xc9:
    case 0xcb:
    case 0xcc:
    case 0xcf:
    case 0xd7:
    case 0xf1:
    case 0xf4:
    case 0xf5:
      return {};
    default:
      return not_known;
  }
}

// Opcodes behind 0f, also of vectors.
operands of_two_bytes(unsigned op) {
  if (in(op, 0x05, 0x09) || op == 0x0b || op == 0x0e || in(op, 0x30, 0x37) || op == 0x77 || in(op, 0xa0, 0xa2) ||
      in(op, 0xa8, 0xaa) || in(op, 0xc8, 0xcf)) {
    return {};
  }
  if (in(op, 0x80, 0x8f)) return {.number = 4};
  if (op == 0x04 || op == 0x0a || op == 0x0c) return not_known;
  if (op == 0x0f || in(op, 0x70, 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 || in(op, 0xc4, 0xc6)) {
    return {.address = true, .number = 1};
  }
  return {.address = true};
}

// The maps of opcodes: 1 behind 0f, 2 behind 0f 38, 3 behind 0f 3a; vectors have them too, and 5 and 6 like 2.
operands of_map(unsigned map, unsigned op) {
  switch (map) {
    case 1:
      return of_two_bytes(op);
    case 2:
    case 5:
    case 6:
      return {.address = true};
    case 3:
      return {.address = true, .number = 1};
    default:
      return not_known;
  }
}

// Returns the bytes of ModRM, SIB and displacement; `at` is at ModRM.
std::size_t address_length(const std::uint8_t* at, std::size_t left) {
  if (left == 0) return 0;
  const unsigned mod = *at >> 6;
  const unsigned rm = *at & 7;
  if (mod == 3) return 1;
  const bool indexed = rm == 4;
  if (indexed && left < 2) return 0;
  const bool absolute = mod == 0 && (indexed ? (at[1] & 7) == 5 : rm == 5);
  const std::size_t displacement = mod == 1 ? 1 : mod == 2 || absolute ? 4 : 0;
  return 1 + (indexed ? 1 : 0) + displacement;
}

bool is_prefix(unsigned b) {
  switch (b) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
      return true;
    default:
      return false;
  }
}

}  // namespace

instruction decode(std::span<const std::uint8_t> code) {
  constexpr std::size_t longest = 15;
  // Bytes behind the code read as zero and make the instruction longer than the code.
  const auto byte = [code](std::size_t i) { return i < code.size() ? unsigned{code[i]} : 0U; };
  instruction i;
  std::size_t at = 0;
  for (; at < longest && is_prefix(byte(at)); ++at) {
    i.narrow |= byte(at) == 0x66;
    i.short_place |= byte(at) == 0x67;
    i.repeat |= byte(at) == 0xf3;
    i.other_prefix |= byte(at) != 0x66 && byte(at) != 0xf3;
  }
  if ((byte(at) & 0xf0) == 0x40) i.rex = byte(at++);
  const unsigned first = byte(at++);
  i.vector = first == 0xc4 || first == 0xc5 || first == 0x62;
  if (first == 0xc5) {  // VEX of two bytes
    i.map = 1;
    ++at;
  } else if (first == 0xc4) {  // VEX of three bytes
    i.map = byte(at) & 31;
    at += 2;
  } else if (first == 0x62) {  // EVEX
    i.map = byte(at) & 7;
    at += 3;
  } else if (first == 0x8f && (byte(at) & 0x38) != 0) {  // XOP
    return i;
  } else if (first == 0x0f) {
    i.map = byte(at) == 0x38 ? 2 : byte(at) == 0x3a ? 3 : 1;
    if (i.map > 1) ++at;
  }
  const bool one_byte = !i.vector && i.map == 0;
  i.opcode = one_byte ? first : byte(at++);
  const operands o = one_byte ? of_one_byte(first, byte(at) >> 3 & 7, i) : of_map(i.map, i.opcode);
  if (!o.known || at > code.size()) return i;
  if (o.address) {
    const std::size_t length = address_length(code.data() + at, code.size() - at);
    if (length == 0) return i;
    i.address = at;
    at += length;
  }
  i.number = o.number;
  at += o.number;
  if (at <= std::min(longest, code.size())) i.length = at;
  return i;
}

bool begins_at(std::span<const std::uint8_t> code, std::size_t place) {
  std::size_t at = 0;
  while (at < place) {
    const std::size_t length = decode(code.subspan(at)).length;
    if (length == 0) return false;
    at += length;
  }
  return at == place;
}

std::size_t last_counter_read(std::span<const std::uint8_t> code) {
  for (std::size_t place = code.size(); place-- > 0;) {
    if (code[place] != 0x0f) continue;
    const std::span<const std::uint8_t> behind = code.subspan(place + 1);
    if (behind.size() >= 1 && behind[0] == 0x31) return place;
    if (behind.size() >= 2 && behind[0] == 0x01 && behind[1] == 0xf9) return place;
  }
  return code.size();
}

}  // namespace hcasim::preload
