// Requests that PCIe has not, or not here, and every kind of completion, beat by beat.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "rtl/tlp_pass_design.h"
#include "tlm/rtl/testing/tlp_memory.h"
#include "tlm/rtl/testing/untimed.h"
#include "tlm/rtl/tlp/tlp_master.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

constexpr unsigned beat_bytes = 8;

struct beat {
  std::uint64_t data = 0;
  unsigned strb = 0;
  tlp_words header{};
  bool sop = false, eop = false;
};

class passer : public shell {
 public:
  tlp_master bus;
  std::vector<std::string> violations;
  std::vector<tlp> got;
  std::vector<unsigned> errors;

  explicit passer(tlp_master_options o)
      : shell("pass", clock_400, make_tlp_pass_design, {}),
        bus("bus", *this, on_one_stream(std::move(o))),
        beat_(into("beat", 196)),
        got_(out_of("got", 200)) {
    got_.on_transfer = [this](const payload& p, std::uint64_t, ps) { take(p); };
    on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
  }
  void send(const beat& b) {
    payload p;
    writer w(p);
    w.put(b.data, 64).put(b.strb, 2);
    for (unsigned n = 4; n-- > 0;) w.put(b.header[n], 32);
    w.put(b.sop, 1).put(b.eop, 1);
    push(beat_, p, now());
  }
  // The bytes of its payload count up from 1.
  static std::vector<beat> beats_of(const tlp_words& header) {
    const unsigned words = payload_words(header);
    std::vector<beat> all(std::max(1U, (words + 1) / 2));
    for (unsigned n = 0; n < 4 * words; ++n) {
      all[n / beat_bytes].data |= std::uint64_t{(n + 1) & 255} << 8 * (n % beat_bytes);
      all[n / beat_bytes].strb |= 1U << n % beat_bytes / 4;
    }
    all.front().sop = true;
    all.front().header = header;
    all.back().eop = true;
    return all;
  }
  void send(const tlp_words& header) {
    for (const beat& b : beats_of(header)) send(b);
  }
  void send(const tlp_header& h) { send(pack(h)); }

 private:
  static tlp_master_options on_one_stream(tlp_master_options o) {
    o.requests = {"req"};
    return o;
  }
  void take(const payload& p) {
    if (p.get(198, 1) != 0) {
      tlp& begun = got.emplace_back();
      for (unsigned n = 0; n < 4; ++n) begun.header[n] = static_cast<std::uint32_t>(p.get(66 + 96 - 32 * n, 32));
      errors.push_back(static_cast<unsigned>(p.get(194, 4)));
    }
    for (unsigned i = 0; i < beat_bytes; ++i) {
      if (p.get(64 + i / 4, 1) != 0) got.back().bytes.push_back(static_cast<unsigned char>(p.get(8 * i, 8)));
    }
  }
  stream& beat_;
  stream& got_;
};

tlp_header read_of(std::uint64_t address, unsigned words, unsigned tag = 0) {
  tlp_header h;
  h.address = address;
  h.words = words;
  h.tag = static_cast<std::uint16_t>(tag);
  h.four_words = address >= tlp_short_addresses;
  h.first_enables = 15;
  h.last_enables = words > 1 ? 15 : 0;
  return h;
}
tlp_header write_of(std::uint64_t address, unsigned words) {
  tlp_header h = read_of(address, words);
  h.kind = tlp_kind::memory_write;
  return h;
}

struct bench {
  tlp_memory memory{"memory", 20, 1};
  passer rtl;
  explicit bench(const tlp_master_options& o = {}) : rtl(o) { rtl.bus.memory.bind(memory.in); }
  std::string violation() {
    testing::run_until_idle();
    if (rtl.violations.empty()) return "none";
    const std::string begin = "pass (tlp_pass_design): stream req.t: ";
    return rtl.violations.front().rfind(begin, 0) == 0 ? rtl.violations.front().substr(begin.size()) : rtl.violations.front();
  }
};

std::string violation_of(const tlp_header& h, const tlp_master_options& o = {}) {
  bench b(o);
  b.rtl.send(h);
  const std::string found = b.violation();
  EXPECT_EQ(b.memory.accesses.empty(), found != "none");
  return found;
}
std::string violation_of(const std::vector<beat>& beats) {
  bench b;
  for (const beat& each : beats) b.rtl.send(each);
  const std::string found = b.violation();
  EXPECT_EQ(b.memory.accesses.empty(), found != "none");
  return found;
}

TEST(tlp_violations, none_without_a_fault) {
  EXPECT_EQ(violation_of(write_of(0x1000, 5)), "none");
}
TEST(tlp_violations, a_write_over_the_payload_limit) {
  EXPECT_EQ(violation_of(write_of(0x1000, 65)), "a TLP has 260 bytes, 256 are allowed");
}
TEST(tlp_violations, a_write_at_the_payload_limit_is_legal) {
  EXPECT_EQ(violation_of(write_of(0x1000, 64)), "none");
}
TEST(tlp_violations, a_read_over_the_read_limit) {
  EXPECT_EQ(violation_of(read_of(0x1000, 129)), "a TLP has 516 bytes, 512 are allowed");
}
TEST(tlp_violations, a_read_at_the_read_limit_is_legal) {
  EXPECT_EQ(violation_of(read_of(0x1000, 128)), "none");
}
TEST(tlp_violations, across_4_kib) {
  EXPECT_EQ(violation_of(read_of(0x1ffc, 2)), "a TLP at 0x1ffc crosses 4 KiB");
}
TEST(tlp_violations, a_long_header_below_4_gib) {
  tlp_header h = write_of(0x1000, 1);
  h.four_words = true;
  EXPECT_EQ(violation_of(h), "a TLP at 0x1000 has 4 words of header, below 4 GiB there are 3");
}
TEST(tlp_violations, last_enables_of_one_word) {
  tlp_header h = write_of(0x1000, 1);
  h.last_enables = 15;
  EXPECT_EQ(violation_of(h), "a TLP at 0x1000 enables 0xf of the first word and 0xf of the last, which is the first");
}
TEST(tlp_violations, no_last_enables_of_several_words) {
  tlp_header h = read_of(0x1000, 3);
  h.last_enables = 0;
  EXPECT_EQ(violation_of(h),
            "a TLP at 0x1000 enables 0xf of the first word and 0x0 of the last: of several words each has a byte");
}
TEST(tlp_violations, enables_with_holes) {
  tlp_header h = read_of(0x1004, 2);
  h.first_enables = 5;
  EXPECT_EQ(violation_of(h), "a TLP at 0x1004 enables 0x5 of the first word and 0xf of the last: bytes left out in the middle");
}
TEST(tlp_violations, poisoned) {
  tlp_header h = write_of(0x1000, 1);
  h.poisoned = true;
  EXPECT_EQ(violation_of(h), "a TLP is poisoned");
}
TEST(tlp_violations, another_requester) {
  tlp_header h = write_of(0x1000, 1);
  h.requester = 3;
  EXPECT_EQ(violation_of(h, {.requester = 2}), "a TLP comes from requester 3, this one is 2");
}
TEST(tlp_violations, a_completion_among_requests) {
  tlp_header h;
  h.kind = tlp_kind::completion;
  h.byte_count = 4;
  EXPECT_EQ(violation_of(h), "a TLP is not a request");
}
TEST(tlp_violations, no_memory_access) {
  EXPECT_EQ(violation_of(passer::beats_of({0x02000001, 0xf, 0, 0})),
            "a TLP has format 0 and type 2, which are no memory access and no completion");
}
TEST(tlp_violations, no_sop) {
  auto beats = passer::beats_of(pack(write_of(0x1000, 4)));
  beats[0].sop = false;
  EXPECT_EQ(violation_of(beats), "beat 1 of a TLP has no sop");
}
TEST(tlp_violations, a_second_sop) {
  auto beats = passer::beats_of(pack(write_of(0x1000, 4)));
  beats[1].sop = true;
  EXPECT_EQ(violation_of(beats), "beat 2 of a TLP has sop, and the one before had no eop");
}
TEST(tlp_violations, an_early_eop) {
  auto beats = passer::beats_of(pack(write_of(0x1000, 6)));
  beats[1].eop = true;
  EXPECT_EQ(violation_of(beats), "beat 2 of a TLP has eop, and 2 of 6 words of payload have not come");
}
TEST(tlp_violations, a_late_eop) {
  auto beats = passer::beats_of(pack(write_of(0x1000, 6)));
  beats[2].eop = false;
  EXPECT_EQ(violation_of(beats), "beat 3 of a TLP has no eop, and every one of 6 words of payload has come");
}
TEST(tlp_violations, a_word_left_out) {
  auto beats = passer::beats_of(pack(write_of(0x1000, 6)));
  beats[1].strb = 1;
  EXPECT_EQ(violation_of(beats), "beat 2 of a TLP leaves out word 3 of 6 words of payload");
}
TEST(tlp_violations, a_word_too_many) {
  auto beats = passer::beats_of(pack(write_of(0x1000, 5)));
  beats[2].strb = 3;
  EXPECT_EQ(violation_of(beats), "beat 3 of a TLP has word 5 behind the last one of 5 words of payload");
}
TEST(tlp_violations, a_read_with_a_word) {
  auto beats = passer::beats_of(pack(read_of(0x1000, 5)));
  beats[0].strb = 1;
  EXPECT_EQ(violation_of(beats), "beat 1 of a TLP has word 0 behind the last one of 0 words of payload");
}

TEST(tlp_violations, a_tag_in_use) {
  bench b;
  b.rtl.send(read_of(0x1000, 128, 7));  // 64 beats
  b.rtl.send(read_of(0x2000, 1, 8));
  b.rtl.send(read_of(0x3000, 1, 7));
  EXPECT_EQ(b.violation(), "a TLP has tag 7, and the read of this tag has not been completed");
}
TEST(tlp_violations, a_tag_is_free_when_its_read_is_complete) {
  bench b;
  for (unsigned n = 0; n < 20; ++n) {
    b.rtl.send(read_of(0x1000, 128, 7));
    testing::run_until_idle();
  }
  EXPECT_EQ(b.rtl.violations, std::vector<std::string>{});
  EXPECT_EQ(b.rtl.got.size(), 40U);
}

// Every byte enable of one word, and of two aligned words: the written bytes, and nothing else.
TEST(tlp_writes, touch_the_bytes_that_they_enable) {
  bench b;
  auto wanted = b.memory.bytes;
  std::uint64_t at = 0x1000;
  for (unsigned words = 1; words <= 2; ++words) {
    for (unsigned enables = 0; enables < (words == 1 ? 16U : 256U); ++enables, at += 8) {
      tlp_header h = write_of(at, words);
      h.first_enables = enables & 15;
      h.last_enables = static_cast<std::uint8_t>(enables >> 4);
      if (words == 2 && (h.first_enables == 0 || h.last_enables == 0)) continue;
      for (unsigned n = 0; n < 4 * words; ++n) {
        if (enables >> n & 1) wanted[at + n] = static_cast<unsigned char>(n + 1);
      }
      b.rtl.send(h);
    }
  }
  EXPECT_EQ(b.violation(), "none");
  EXPECT_TRUE(b.memory.bytes == wanted);
}

// A read that enables nothing asks the memory all the same, and is completed with a word.
TEST(tlp_reads, of_no_byte_come_behind_the_writes) {
  bench b;
  b.rtl.send(write_of(0x1000, 1));
  tlp_header h = read_of(0x1000, 1, 3);
  h.first_enables = 0;
  b.rtl.send(h);
  EXPECT_EQ(b.violation(), "none");
  ASSERT_EQ(b.memory.accesses.size(), 2U);
  EXPECT_TRUE(b.memory.accesses[0].write);
  EXPECT_FALSE(b.memory.accesses[1].write);
  ASSERT_EQ(b.rtl.got.size(), 1U);
  tlp_header c;
  ASSERT_EQ(unpack(b.rtl.got[0].header, c), "");
  EXPECT_EQ(c.words, 1U);
  EXPECT_EQ(c.byte_count, 1U);
  EXPECT_EQ(c.lower_address, 0U);
}

// Byte count and lower address of a read of one word [PCIe base specification, 2.3.1.1].
TEST(tlp_reads, of_a_word_count_from_the_first_byte_to_the_last) {
  static constexpr unsigned counts[16] = {1, 1, 1, 2, 1, 3, 2, 3, 1, 4, 3, 4, 2, 4, 3, 4};
  static constexpr unsigned lows[16] = {0, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0};
  bench b;
  for (unsigned enables = 0; enables < 16; ++enables) {
    tlp_header h = read_of(0x1048, 1, enables);
    h.first_enables = static_cast<std::uint8_t>(enables);
    b.rtl.send(h);
  }
  EXPECT_EQ(b.violation(), "none");
  ASSERT_EQ(b.rtl.got.size(), 16U);
  for (const tlp& each : b.rtl.got) {
    tlp_header c;
    ASSERT_EQ(unpack(each.header, c), "");
    EXPECT_EQ(c.byte_count, counts[c.tag]) << c.tag;
    EXPECT_EQ(c.lower_address, 0x48 + lows[c.tag]) << c.tag;
  }
}

// 512 bytes from 0x1010: completions as long as 256 bytes let them be, each but the last to a boundary of 64 bytes.
TEST(tlp_reads, are_completed_to_boundaries) {
  bench b;
  for (unsigned n = 0; n < 1024; ++n) b.memory.bytes[0x1000 + n] = static_cast<unsigned char>(n * 7 + n / 256);
  b.rtl.send(read_of(0x1010, 128, 9));
  EXPECT_EQ(b.violation(), "none");
  ASSERT_EQ(b.rtl.got.size(), 3U);
  const unsigned words[] = {60, 64, 4};
  unsigned done = 0;
  for (unsigned n = 0; n < 3; ++n) {
    tlp_header c;
    ASSERT_EQ(unpack(b.rtl.got[n].header, c), "");
    EXPECT_EQ(c.kind, tlp_kind::completion_data);
    EXPECT_EQ(c.words, words[n]);
    EXPECT_EQ(c.byte_count, 512 - done);
    EXPECT_EQ(c.lower_address, (0x1010 + done) & 127);
    EXPECT_TRUE(std::equal(b.rtl.got[n].bytes.begin(), b.rtl.got[n].bytes.end(), b.memory.bytes.begin() + 0x1010 + done));
    done += static_cast<unsigned>(b.rtl.got[n].bytes.size());
  }
  EXPECT_EQ(done, 512U);
}

TEST(tlp_reads, that_fail_have_a_completion_without_data) {
  bench b;
  b.rtl.send(read_of(tlp_memory::refused, 32, 1));
  b.rtl.send(read_of(tlp_memory::broken, 32, 2));
  EXPECT_EQ(b.violation(), "none");
  ASSERT_EQ(b.rtl.got.size(), 2U);
  EXPECT_EQ(b.rtl.errors, (std::vector<unsigned>{2, 2}));
  for (const tlp& each : b.rtl.got) {
    tlp_header c;
    ASSERT_EQ(unpack(each.header, c), "");
    EXPECT_EQ(c.kind, tlp_kind::completion);
    EXPECT_EQ(c.status, c.tag == 1 ? tlp_status::unsupported_request : tlp_status::completer_abort);
    EXPECT_EQ(c.byte_count, 128U);
  }
}

TEST(tlp_master_options, that_pcie_has_not_are_refused) {
  const auto said = [](const tlp_master_options& o) -> std::string {
    try {
      const passer p(o);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "nothing";
  };
  EXPECT_EQ(said({.max_payload = 64}), "endpoint cpl: max_payload: 64, PCIe has 128, 256, 512, 1024, 2048 and 4096");
  EXPECT_EQ(said({.max_read_request = 768}),
            "endpoint cpl: max_read_request: 768, PCIe has 128, 256, 512, 1024, 2048 and 4096");
  EXPECT_EQ(said({.completion_boundary = 32}), "endpoint cpl: completion_boundary: 32, PCIe has 64 and 128");
  EXPECT_EQ(said({.completions = "req"}), "tlp_pass_design: endpoint 'req' is a source: the RTL must take there");
}

}  // namespace
}  // namespace hcasim::rtl
