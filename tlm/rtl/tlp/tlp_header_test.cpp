// Headers of TLPs: words that others have published, the way there and back, and which requests there are.
#include "tlm/rtl/tlp/tlp_header.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bitset>

namespace hcasim::rtl {
namespace {

tlp_header any_header() {
  const auto below = [](unsigned n) { return *rc::gen::inRange(0U, n); };
  tlp_header h;
  h.kind = static_cast<tlp_kind>(below(4));
  h.traffic_class = static_cast<std::uint8_t>(below(8));
  h.relaxed_ordering = below(2) != 0;
  h.no_snoop = below(2) != 0;
  h.poisoned = below(2) != 0;
  h.address_type = static_cast<std::uint8_t>(below(4));
  h.words = h.kind == tlp_kind::completion ? 0 : 1 + below(1024);
  h.requester = static_cast<std::uint16_t>(below(65536));
  h.tag = static_cast<std::uint16_t>(below(1024));
  if (h.is_request()) {
    h.four_words = below(2) != 0;
    h.address = *rc::gen::arbitrary<std::uint64_t>() & ~std::uint64_t{3};
    if (!h.four_words) h.address &= tlp_short_addresses - 1;
    h.first_enables = static_cast<std::uint8_t>(below(16));
    h.last_enables = static_cast<std::uint8_t>(below(16));
  } else {
    h.completer = static_cast<std::uint16_t>(below(65536));
    h.status = static_cast<tlp_status>(below(8));
    h.byte_count = 1 + below(4096);
    h.lower_address = static_cast<std::uint8_t>(below(128));
  }
  return h;
}

TEST(tlp_header, comes_back_from_its_words) {
  EXPECT_TRUE(rc::check([] {
    const tlp_header h = any_header();
    tlp_header back;
    RC_ASSERT(unpack(pack(h), back).empty());
    RC_ASSERT(back == h);
    RC_ASSERT(payload_words(pack(h)) == (h.has_payload() ? h.words : 0));
  }));
}

TEST(tlp_header, set_range_and_range_of_say_the_same) {
  EXPECT_TRUE(rc::check([] {
    const auto bytes = *rc::gen::inRange(1U, 4097U);
    const std::uint64_t page = *rc::gen::arbitrary<std::uint64_t>() & ~std::uint64_t{4095};
    const std::uint64_t first = page + *rc::gen::inRange(0U, 4097U - bytes);
    tlp_header h;
    set_range(h, first, bytes);
    RC_ASSERT(refusal(h).empty());
    RC_ASSERT(range_of(h).first == first);
    RC_ASSERT(range_of(h).bytes == bytes);
  }));
}

// Any words: what is taken for a header says all that is said of it, whatever reserved bits there are.
TEST(tlp_header, any_words_are_refused_or_understood) {
  EXPECT_TRUE(rc::check([](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d, bool plausible) {
    if (plausible) a &= 0x4a7f7fff;
    const tlp_words w{a, b, c, d};
    tlp_header h;
    if (!unpack(w, h).empty()) return;
    tlp_header again;
    RC_ASSERT(unpack(pack(h), again).empty());
    RC_ASSERT(again == h);
    const tlp_words out = pack(h);
    // All but attribute 2 and the notification bit, which is reserved by now.
    RC_ASSERT((out[0] ^ w[0]) >> 10 == (w[0] & 3U << 17) >> 10);
    RC_ASSERT(!h.is_request() || out[1] == w[1]);
  }));
}

TEST(tlp_header, words_of_a_write) {
  tlp_header h;
  h.kind = tlp_kind::memory_write;
  h.words = 1;
  h.first_enables = 15;
  h.address = 0xfdaff040;
  EXPECT_EQ(pack(h), (tlp_words{0x40000001, 0x0000000f, 0xfdaff040, 0}));
}
TEST(tlp_header, words_of_a_read_and_its_completion) {
  tlp_header h;
  h.words = 1;
  h.tag = 0x0c;
  h.first_enables = 15;
  h.address = 0xfdaff040;
  EXPECT_EQ(pack(h), (tlp_words{0x00000001, 0x00000c0f, 0xfdaff040, 0}));
  tlp_header c;
  ASSERT_EQ(unpack({0x4a000001, 0x01000004, 0x00000c40, 0}, c), "");
  EXPECT_EQ(c.kind, tlp_kind::completion_data);
  EXPECT_EQ(c.completer, 0x0100);
  EXPECT_EQ(c.tag, 0x0c);
  EXPECT_EQ(c.byte_count, 4U);
  EXPECT_EQ(c.lower_address, 0x40);
}
TEST(tlp_header, words_of_a_long_write) {
  tlp_header h;
  h.kind = tlp_kind::memory_write;
  h.four_words = true;
  h.words = 1024;
  h.requester = 0x1234;
  h.tag = 0x355;
  h.first_enables = 12;
  h.last_enables = 7;
  h.address = 0x123456789abcdef0;
  EXPECT_EQ(pack(h), (tlp_words{0x60880000, 0x1234557c, 0x12345678, 0x9abcdef0}));
}

TEST(tlp_header, other_tlps_are_refused) {
  tlp_header h;
  EXPECT_EQ(unpack({0x02000001, 0xf, 0, 0}, h), "has format 0 and type 2, which are no memory access and no completion");
  EXPECT_EQ(unpack({0x80000001, 0xf, 0, 0}, h), "has format 4 and type 0, which are no memory access and no completion");
  EXPECT_EQ(unpack({0x6a000001, 0xf, 0, 0}, h), "has format 3 and type 10, which are no memory access and no completion");
  EXPECT_EQ(unpack({0x00008001, 0xf, 0, 0}, h), "has a digest");
  EXPECT_EQ(unpack({0x00010001, 0xf, 0, 0}, h), "has processing hints");
  EXPECT_EQ(unpack({0x00000001, 0xf, 0x1002, 0}, h), "has address 0x1002, whose two lowest bits are reserved");
}

// Byte enables of one word may be any, of two words that are aligned to 8 bytes any of each but none; of others the bytes from
// the first one to the last one.
TEST(tlp_header, requests_are_those_whose_enables_are_allowed) {
  unsigned allowed = 0;
  for (unsigned words = 1; words <= 5; ++words) {
    for (const std::uint64_t address : {0x1000U, 0x1004U}) {
      for (unsigned enables = 0; enables < 256; ++enables) {
        tlp_header h;
        h.words = words;
        h.address = address;
        h.first_enables = enables & 15;
        h.last_enables = static_cast<std::uint8_t>(enables >> 4);
        std::bitset<20> bytes;
        for (unsigned n = 0; n < 4 * words; ++n)
          bytes[n] = (n >= 4 && n < 4 * words - 4) || (n < 4 ? enables >> n : enables >> (4 + n % 4)) & 1;
        std::string pattern = bytes.to_string();
        const bool ends_alone = words == 1 ? h.last_enables == 0 : h.first_enables != 0 && h.last_enables != 0;
        const std::size_t first = pattern.find('1');
        const std::size_t last = pattern.rfind('1');
        const bool whole = first != std::string::npos && bytes.count() == last - first + 1;
        const bool may = ends_alone && (words == 1 || whole || (words == 2 && address % 8 == 0));
        EXPECT_EQ(refusal(h).empty(), may) << words << " words at " << address << ", enables " << enables << ": " << refusal(h);
        allowed += may;
        if (!may) continue;
        const tlp_range range = range_of(h);
        for (unsigned n = 0; n < 4 * words; ++n) EXPECT_EQ(is_enabled(h, n), bytes[n]) << n;
        EXPECT_EQ(range.bytes, first == std::string::npos ? 0 : last - first + 1);
        if (range.bytes > 0) {
          EXPECT_EQ(range.first, address + 19 - last);
        }
      }
    }
  }
  EXPECT_EQ(allowed, 2U * 16 + 15 * 15 + 16 + 3 * 2 * 16);
}

TEST(tlp_header, requests_end_at_4_kib_at_the_latest) {
  tlp_header h;
  h.first_enables = h.last_enables = 15;
  for (unsigned words = 2; words <= 1024; ++words) {
    h.words = words;
    h.address = 0x7000 - 4 * words;
    EXPECT_EQ(refusal(h), "");
    h.address += 4;
    EXPECT_NE(refusal(h).find("crosses 4 KiB"), std::string::npos) << words;
  }
}

TEST(tlp_header, long_headers_begin_at_4_gib) {
  tlp_header h;
  h.four_words = true;
  h.words = 1;
  h.first_enables = 15;
  h.address = 0xfffffffc;
  EXPECT_EQ(refusal(h), "at 0xfffffffc has 4 words of header, below 4 GiB there are 3");
  h.address = 0x100000000;
  EXPECT_EQ(refusal(h), "");
}

}  // namespace
}  // namespace hcasim::rtl
