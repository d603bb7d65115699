// Lengths of instructions, beside the disassembler's lengths for the C library.
#include "testbenches/verbs_programs/preload/instructions.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#if defined(__x86_64__)

namespace hcasim::preload {
namespace {

using machine_code = std::vector<std::uint8_t>;

// The whole instruction, and no beginning of it.
void expect_whole(const machine_code& code) {
  EXPECT_EQ(decode(code).length, code.size()) << unsigned{code.front()};
  for (std::size_t n = 0; n < code.size(); ++n) {
    EXPECT_EQ(decode(std::span(code).first(n)).length, 0U) << unsigned{code.front()} << ", " << n << " bytes";
  }
}

TEST(Instructions, LengthsOfEveryForm) {
  expect_whole({0x90});                                            // nop
  expect_whole({0x0f, 0x31});                                      // rdtsc
  expect_whole({0x0f, 0x01, 0xf9});                                // rdtscp
  expect_whole({0x48, 0xc1, 0xe2, 0x20});                          // shl $32,%rdx
  expect_whole({0x66, 0xb8, 0x34, 0x12});                          // mov $0x1234,%ax
  expect_whole({0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8});              // movabs
  expect_whole({0x48, 0xa1, 1, 2, 3, 4, 5, 6, 7, 8});              // movabs from an address
  expect_whole({0x8b, 0x04, 0x25, 1, 2, 3, 4});                    // mov 0x4030201,%eax
  expect_whole({0x48, 0x8b, 0x05, 1, 2, 3, 4});                    // mov 0x4030201(%rip),%rax
  expect_whole({0x81, 0x84, 0x24, 1, 2, 3, 4, 5, 6, 7, 8});        // addl to a word on the stack
  expect_whole({0xf6, 0x40, 0x08, 0x01});                          // testb $1,8(%rax)
  expect_whole({0xf7, 0xd8});                                      // neg %eax
  expect_whole({0x66, 0xf7, 0xc0, 1, 0});                          // test $1,%ax
  expect_whole({0xf3, 0x0f, 0x1e, 0xfa});                          // endbr64
  expect_whole({0xc5, 0xf8, 0x77});                                // vzeroupper
  expect_whole({0xc4, 0xe3, 0x7d, 0x39, 0xc1, 0x01});              // vextracti128
  expect_whole({0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x40, 0x01});        // vmovdqu64 64(%rax),%zmm0
  expect_whole({0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x08});              // palignr
  expect_whole({0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0});  // long nop
  expect_whole({0xc8, 0x10, 0x00, 0x00});                          // enter
}

TEST(Instructions, KnowsWhatIsNone) {
  EXPECT_EQ(decode(machine_code{0x06, 0, 0, 0}).length, 0U);              // not in 64-bit mode
  EXPECT_EQ(decode(machine_code(16, 0x66)).length, 0U);                   // prefixes without end
  EXPECT_EQ(decode(machine_code{0x8f, 0xe9, 0x78, 0x81, 0}).length, 0U);  // XOP
  EXPECT_EQ(decode(machine_code{0x48, 0x48, 0x89, 0xc0}).length, 0U);     // a REX prefix before another
}

TEST(Instructions, TellsAReadOfTheCounterFromBytesLikeIt) {
  const machine_code code{0xb8, 0x0f, 0x31, 0x00, 0x00, 0x0f, 0x31, 0x48, 0x89, 0xc1, 0x0f, 0x01, 0xf9, 0x0f};
  std::span<const std::uint8_t> left(code);
  std::vector<std::pair<std::size_t, bool>> found;
  for (std::size_t at = last_counter_read(left); at < left.size(); at = last_counter_read(left)) {
    found.emplace_back(at, begins_at(code, at));
    left = left.first(at);
  }
  EXPECT_EQ(found, (std::vector<std::pair<std::size_t, bool>>{{10, true}, {5, true}, {1, false}}));
}

// 300 000 instructions and more. Bytes that are no instruction to the disassembler say nothing.
TEST(Instructions, AreAsLongAsTheDisassemblerSays) {
  if (std::system("command -v objdump >/dev/null") != 0) GTEST_SKIP() << "there is no objdump";
  const auto close = [](std::FILE* f) { ::pclose(f); };
  const std::unique_ptr<std::FILE, decltype(close)> said(
      ::popen("objdump -d --insn-width=15 \"$(ldd \"$(command -v objdump)\" | awk '$1 == \"libc.so.6\" {print $3}')\"", "r"),
      close);
  ASSERT_TRUE(said);
  std::array<char, 1024> line{};
  std::size_t instructions = 0;
  while (std::fgets(line.data(), line.size(), said.get())) {
    // "ADDRESS:\tBYTES \tNAME"
    const std::string text = line.data();
    const std::size_t from = text.find(":\t");
    const std::size_t to = from == std::string::npos ? from : text.find('\t', from + 2);
    if (to == std::string::npos || text.find("(bad)", to) != std::string::npos) continue;
    machine_code code;
    const std::string digits = text.substr(from + 2, to - from - 2);
    const char* at = digits.c_str();
    for (char* end = nullptr;; at = end) {
      const unsigned long byte = std::strtoul(at, &end, 16);
      if (end == at) break;
      code.push_back(static_cast<std::uint8_t>(byte));
    }
    ++instructions;
    ASSERT_EQ(decode(code).length, code.size()) << text;
  }
  EXPECT_GT(instructions, 100'000U);
}

}  // namespace
}  // namespace hcasim::preload

#endif
