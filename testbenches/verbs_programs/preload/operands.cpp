#include "testbenches/verbs_programs/preload/operands.h"

#include <array>
#include <cstring>

#include "testbenches/verbs_programs/preload/instructions.h"

namespace hcasim::preload {

#if defined(__x86_64__)

namespace {

// The numbers of registers in an instruction, as places in a register file: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 ...
constexpr std::array<std::uint8_t, 16> places{13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7};

constexpr unsigned lea = 0x8d;
constexpr unsigned pause = 0x90;
constexpr unsigned endbr = 0x1e;  // behind 0f, as the next
constexpr unsigned nop = 0x1f;

// Returns whether loops over memory have this instruction of one byte.
bool is_usual(unsigned op) {
  if (op < 0x40) return (op & 7) < 6;
  if ((op & 0xf0) == 0x50 || (op & 0xf0) == 0x70 || (op & 0xf0) == 0xb0) return true;
  if (op >= 0xd0 && op <= 0xd3) return true;
  switch (op) {
    case 0x63:
    case 0x69:
    case 0x6b:
    case 0x80:
    case 0x81:
    case 0x83:
    case 0x84:
    case 0x85:
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b:
    case lea:
    case pause:
    case 0x98:
    case 0x99:
    case 0xa8:
    case 0xa9:
    case 0xc0:
    case 0xc1:
    case 0xc3:
    case 0xc6:
    case 0xc7:
    case 0xc9:
    case 0xe8:
    case 0xe9:
    case 0xeb:
    case 0xf6:
    case 0xf7:
    case 0xfe:
    case 0xff:
      return true;
    default:
      return false;
  }
}

// The same behind 0f.
bool is_usual_of_two(unsigned op) {
  if ((op & 0xf0) == 0x80 || (op & 0xf0) == 0x40 || (op & 0xf0) == 0x90) return true;
  switch (op) {
    case endbr:
    case nop:
    case 0xa3:
    case 0xaf:
    case 0xb6:
    case 0xb7:
    case 0xba:
    case 0xbe:
    case 0xbf:
      return true;
    default:
      return false;
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

// `at` is at ModRM, `behind` the number of bytes behind the address.
std::uint64_t address_of(const std::uint8_t* at, unsigned rex, std::size_t behind, const machine::registers& registers) {
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
  const instruction i = decode({code, 15});
  const bool known = i.length != 0 && !i.vector && !i.other_prefix && i.map < 2;
  if (!known || !(i.map == 1 ? is_usual_of_two(i.opcode) : is_usual(i.opcode))) return {kind::unknown};
  if (i.repeat && i.opcode != (i.map == 1 ? endbr : pause)) return {kind::unknown};
  const bool none = i.map == 1 ? i.opcode == endbr || i.opcode == nop : i.opcode == lea;
  if (none || i.address == 0 || code[i.address] >> 6 == 3) return {kind::none};
  return {kind::memory, address_of(code + i.address, i.rex, i.number, registers)};
}

#else

operand operand_of(const std::uint8_t* /*code*/, const machine::registers& /*registers*/) {
  return {operand::kind::unknown};
}

#endif

}  // namespace hcasim::preload
