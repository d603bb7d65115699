#include "testbenches/verbs_programs/preload/operands.h"

#include <array>
#include <cstring>

namespace hcasim::preload {

#if defined(__x86_64__)

namespace {

enum class shape : std::uint8_t {
  plain,
  operand,
  operand_byte,
  operand_word,
  unknown
};  // a word = 4 bytes, or 2 with a prefix

// The numbers of registers in an instruction, as places in a register file: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 ...
constexpr std::array<std::uint8_t, 16> places{13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7};

shape arithmetic(unsigned op) {
  const unsigned form = op & 7;
  if (form < 4) return shape::operand;
  return form < 6 ? shape::plain : shape::unknown;
}

shape one_byte(unsigned op, unsigned digit) {
  if (op < 0x40) return arithmetic(op);
  if ((op & 0xf0) == 0x50 || (op & 0xf0) == 0x70 || (op & 0xf0) == 0xb0) return shape::plain;
  if (op >= 0xd0 && op <= 0xd3) return shape::operand;
  switch (op) {
    case 0x8d:  // lea
    case 0x90:
    case 0x98:
    case 0x99:
    case 0xa8:
    case 0xa9:
    case 0xc3:
    case 0xc9:
    case 0xe8:
    case 0xe9:
    case 0xeb:
      return shape::plain;
    case 0x63:
    case 0x84:
    case 0x85:
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b:
    case 0xfe:
    case 0xff:
      return shape::operand;
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xc6:
      return shape::operand_byte;
    case 0x69:
    case 0x81:
    case 0xc7:
      return shape::operand_word;
    case 0xf6:
      return digit < 2 ? shape::operand_byte : shape::operand;
    case 0xf7:
      return digit < 2 ? shape::operand_word : shape::operand;
    default:
      return shape::unknown;
  }
}

shape two_bytes(unsigned op) {
  if ((op & 0xf0) == 0x80 || op == 0x1e || op == 0x1f) return shape::plain;  // jumps, endbr, nop
  if ((op & 0xf0) == 0x40 || (op & 0xf0) == 0x90) return shape::operand;
  switch (op) {
    case 0xa3:
    case 0xaf:
    case 0xb6:
    case 0xb7:
    case 0xbe:
    case 0xbf:
      return shape::operand;
    case 0xba:
      return shape::operand_byte;
    default:
      return shape::unknown;
  }
}

std::int64_t byte_at(const std::uint8_t* at) {
  return static_cast<std::int8_t>(*at);
}
std::int64_t word_at(const std::uint8_t* at) {
  std::int32_t v = 0;
  std::memcpy(&v, at, sizeof v);
  return v;
}

struct prefixes {
  bool narrow = false;  // words of 2 bytes
  bool repeat = false;
  unsigned rex = 0;
};

prefixes take_prefixes(const std::uint8_t*& at) {
  prefixes p;
  for (; *at == 0x66 || *at == 0xf3; ++at) (*at == 0x66 ? p.narrow : p.repeat) = true;
  if ((*at & 0xf0) == 0x40) p.rex = *at++;
  return p;
}

// `at` is behind the opcode, `behind` the number of bytes behind the address.
std::uint64_t address_of(const std::uint8_t* at, unsigned rex, unsigned behind, const machine::registers& registers) {
  const auto value = [&](unsigned number, unsigned bit) { return registers[places[(number & 7) | ((rex & bit) ? 8U : 0U)]]; };
  const unsigned mod = *at >> 6;
  unsigned base = *at++ & 7;
  std::uint64_t sum = 0;
  const bool indexed = base == 4;
  if (indexed) {
    const unsigned sib = *at++;
    base = sib & 7;
    const unsigned index = (sib >> 3 & 7) | ((rex & 2) ? 8U : 0U);
    if (index != 4) sum += value(sib >> 3, 2) << (sib >> 6);
  }
  if (mod == 0 && base == 5) {
    sum += static_cast<std::uint64_t>(word_at(at));
    if (indexed) return sum;
    return sum + reinterpret_cast<std::uint64_t>(at) + 4 + behind;
  }
  sum += value(base, 1);
  if (mod == 1) sum += static_cast<std::uint64_t>(byte_at(at));
  if (mod == 2) sum += static_cast<std::uint64_t>(word_at(at));
  return sum;
}

}  // namespace

operand operand_of(const std::uint8_t* code, const machine::registers& registers) {
  using kind = operand::kind;
  const prefixes p = take_prefixes(code);
  const bool escaped = *code == 0x0f;
  if (escaped) ++code;
  const unsigned op = *code++;
  const bool harmless = escaped ? op == 0x1e : op == 0x90;  // endbr, pause
  const shape s = escaped ? two_bytes(op) : one_byte(op, *code >> 3 & 7);
  if (s == shape::unknown || (p.repeat && !harmless)) return {kind::unknown};
  if (s == shape::plain || *code >> 6 == 3) return {kind::none};
  const unsigned word = p.narrow ? 2 : 4;
  const unsigned behind = s == shape::operand ? 0 : s == shape::operand_byte ? 1 : word;
  return {kind::memory, address_of(code, p.rex, behind, registers)};
}

#else

operand operand_of(const std::uint8_t* /*code*/, const machine::registers& /*registers*/) {
  return {operand::kind::unknown};
}

#endif

}  // namespace hcasim::preload
