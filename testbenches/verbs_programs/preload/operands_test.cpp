// The memory that instructions access, by their bytes as an assembler writes them.
#include "testbenches/verbs_programs/preload/operands.h"

#include <algorithm>
#include <initializer_list>

#include <gtest/gtest.h>

#if defined(__x86_64__)

namespace hcasim::preload {
namespace {

using kind = operand::kind;

// r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip
constexpr machine::registers registers{0x800,  0x900,  0xa00,  0xb00,  0xc00,  0xd00,  0xe00,  0xf00, 0x1000,
                                       0x2000, 0x3000, 0x4000, 0x5000, 0x6000, 0x7000, 0x8000, 0};

std::array<std::uint8_t, 24> code;

operand look(std::initializer_list<std::uint8_t> bytes) {
  code.fill(0x90);
  std::copy(bytes.begin(), bytes.end(), code.begin());
  return operand_of(code.data(), registers);
}

// Returns how far behind the instruction its operand lies.
std::uint64_t beside(std::initializer_list<std::uint8_t> bytes) {
  return look(bytes).address - reinterpret_cast<std::uint64_t>(code.data() + bytes.size());
}

void expect_address(std::initializer_list<std::uint8_t> bytes, std::uint64_t address) {
  const operand o = look(bytes);
  EXPECT_EQ(o.what, kind::memory);
  EXPECT_EQ(o.address, address);
}

TEST(Operands, AddressesOfEveryForm) {
  expect_address({0x0f, 0xb6, 0x00}, 0x6000);                                   // movzbl (%rax),%eax
  expect_address({0x48, 0x8b, 0x43, 0x10}, 0x4010);                             // mov 0x10(%rbx),%rax
  expect_address({0x48, 0x8b, 0x45, 0xf8}, 0x2ff8);                             // mov -8(%rbp),%rax
  expect_address({0x41, 0x80, 0x7d, 0x00, 0x01}, 0xd00);                        // cmpb $1,0(%r13)
  expect_address({0x48, 0x8b, 0x82, 0x00, 0x01, 0x00, 0x00}, 0x5100);           // mov 0x100(%rdx),%rax
  expect_address({0x48, 0x8b, 0x04, 0x24}, 0x8000);                             // mov (%rsp),%rax
  expect_address({0x41, 0x8b, 0x04, 0x24}, 0xc00);                              // mov (%r12),%eax
  expect_address({0x80, 0x3c, 0x0a, 0x00}, 0x7000 + 0x5000);                    // cmpb $0,(%rdx,%rcx,1)
  expect_address({0x4a, 0x8b, 0x04, 0xe0}, 0x6000 + 8 * 0xc00);                 // mov (%rax,%r12,8),%rax
  expect_address({0x8b, 0x04, 0x8d, 0x10, 0x00, 0x00, 0x00}, 4 * 0x7000 + 16);  // mov 0x10(,%rcx,4),%eax
  expect_address({0x66, 0x83, 0x7e, 0x02, 0x05}, 0x2002);                       // cmpw $5,2(%rsi)
  expect_address({0x45, 0x3a, 0x00}, 0x800);                                    // cmp (%r8),%r8b
}

// An address behind the instruction depends on all of its bytes.
TEST(Operands, AddressesBesideTheCode) {
  EXPECT_EQ(beside({0x80, 0x3d, 0x10, 0x00, 0x00, 0x00, 0x00}), 16U);              // cmpb $0,0x10(%rip)
  EXPECT_EQ(beside({0x8b, 0x05, 0xf0, 0xff, 0xff, 0xff}), std::uint64_t{0} - 16);  // mov -16(%rip),%eax
  EXPECT_EQ(beside({0x81, 0x3d, 1, 0, 0, 0, 0, 0, 0, 0}), 1U);                     // cmpl $0,1(%rip)
  EXPECT_EQ(beside({0x66, 0x81, 0x3d, 1, 0, 0, 0, 0, 0}), 1U);                     // cmpw $0,1(%rip)
  EXPECT_EQ(beside({0xf6, 0x05, 4, 0, 0, 0, 1}), 4U);                              // testb $1,4(%rip)
  EXPECT_EQ(beside({0xf7, 0x1d, 4, 0, 0, 0}), 4U);                                 // negl 4(%rip)
}

TEST(Operands, NoneAndUnknown) {
  for (const auto& bytes : {std::initializer_list<std::uint8_t>{0xf3, 0x90},  // pause
                            {0x74, 0xfe},
                            {0x0f, 0x84, 0, 0, 0, 0},
                            {0x48, 0x8d, 0x00},  // lea
                            {0x3c, 0x01},
                            {0x39, 0xd8},              // cmp %ebx,%eax
                            {0xf3, 0x0f, 0x1e, 0xfa},  // endbr64
                            {0x55}}) {
    EXPECT_EQ(look(bytes).what, kind::none);
  }
  for (const auto& bytes : {std::initializer_list<std::uint8_t>{0xf3, 0xa4},  // rep movsb
                            {0x64, 0x8b, 0x00},                               // mov %fs:(%rax),%eax
                            {0x0f, 0x10, 0x00},                               // movups (%rax),%xmm0
                            {0xc5, 0xf8, 0x10, 0x00},
                            {0x87, 0x00}}) {
    EXPECT_EQ(look(bytes).what, kind::unknown);
  }
}

}  // namespace
}  // namespace hcasim::preload

#endif
