#include "testbenches/gateway/loopback.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace hcasim::gateway {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_loopback(text);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(Loopback, TakesAddressesOfTheLoopbackOnly) {
  EXPECT_EQ(refusal("127.0.0.1:1"), "");
  EXPECT_EQ(refusal("127.255.3.9:65535"), "");
  for (const char* away :
       {"192.168.1.1:4791", "0.0.0.0:4791", "10.0.0.1:1", "126.255.255.255:1", "128.0.0.1:1", "255.255.255.255:1"}) {
    EXPECT_NE(refusal(away).find("not on the loopback"), std::string::npos) << away;
  }
  for (const char* none : {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:1x",
                           "localhost:1", "127.0.0.1:99999999999", "[::1]:5"}) {
    EXPECT_NE(refusal(none).find("is not an address and port"), std::string::npos) << none;
  }
  EXPECT_THROW(loopback({0, 4791}, std::nullopt), std::invalid_argument);
  EXPECT_THROW(loopback({0x7f000001, 4791}, udp_address{0x0a000001, 1}), std::invalid_argument);
}

// A port at an address used by this test alone.
udp_address own(std::uint8_t last) {
  return {0x7ff00000U | static_cast<std::uint32_t>(::getpid() & 0xfff) << 8 | last, 20011};
}

TEST(Loopback, SaysWhoHasThePort) {
  const loopback first(own(1), std::nullopt);
  try {
    const loopback second(own(1), std::nullopt);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("choose another port"), std::string::npos) << e.what();
  }
}

std::string text_of(std::span<const std::byte> s) {
  return {reinterpret_cast<const char*>(s.data()), s.size()};
}

TEST(Loopback, CarriesFramesToWhomItKnows) {
  loopback a(own(1), std::nullopt);
  loopback b(own(2), own(1));
  EXPECT_EQ(a.remotes(), 0U);
  ASSERT_EQ(b.remotes(), 1U);
  EXPECT_FALSE(a.receive().has_value());
  const ps before = a.wall();
  a.wait(2_ms);
  EXPECT_GE(a.wall() - before, 2_ms);
  EXPECT_TRUE(b.send(std::as_bytes(std::span("hello", 5)), 0));
  a.wait(1'000_ms);
  const auto got = a.receive();
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(text_of(got->frame), "hello");
  EXPECT_EQ(a.remotes(), 1U);
  EXPECT_TRUE(a.send({}, got->from));
  b.wait(1'000_ms);
  const auto back = b.receive();
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->frame.size(), 0U);
}

// A peer that was there and has gone breaks nothing.
TEST(Loopback, OutlivesItsPeer) {
  loopback a(own(1), own(2));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(a.send(std::as_bytes(std::span("x", 1)), 0));
  EXPECT_FALSE(a.receive().has_value());
}

TEST(Loopback, CountsFramesWithoutRoom) {
  loopback a(own(1), std::nullopt);
  loopback b(own(2), own(1));
  const std::vector<std::byte> large(9000);
  constexpr int many = 20'000;
  for (int i = 0; i < many; ++i) b.send(large, 0);
  std::uint64_t got = 0;
  while (a.receive()) ++got;
  ASSERT_LT(got, static_cast<std::uint64_t>(many));
  b.send(large, 0);
  a.wait(1'000_ms);
  ASSERT_TRUE(a.receive().has_value());
  EXPECT_EQ(a.overflowed() + got, static_cast<std::uint64_t>(many));
}

TEST(Loopback, KnowsAtMostItsLimitOfRemotes) {
  loopback a(own(1), std::nullopt);
  for (unsigned i = 0; i < loopback::most_remotes + 3; ++i) {
    loopback b(own(static_cast<std::uint8_t>(2 + i)), own(1));
    b.send(std::as_bytes(std::span("x", 1)), 0);
  }
  a.wait(1'000_ms);
  std::size_t got = 0;
  while (a.receive()) ++got;
  EXPECT_EQ(got, loopback::most_remotes);
  EXPECT_EQ(a.remotes(), loopback::most_remotes);
}

}  // namespace
}  // namespace hcasim::gateway
