// RTL that completes requests by TLPs against software: bytes over widths, limits, alignments and stalls; errors, resets, and
// completions forbidden by PCIe.
#include "tlm/rtl/tlp/tlp_completer.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "rtl/tlp_pass_design.h"
#include "rtl/tlp_ram_128_design.h"
#include "rtl/tlp_ram_256_design.h"
#include "rtl/tlp_ram_512_design.h"
#include "rtl/tlp_ram_64_design.h"
#include "tlm/access.h"
#include "tlm/base/random.h"
#include "tlm/rtl/testing/clock_400.h"
#include "tlm/rtl/testing/untimed.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

constexpr std::uint16_t host = 0x100, device = 0x1a5;
constexpr std::size_t size = 1 << 16, aborted = size - 256;
constexpr design_factory rams[] = {make_tlp_ram_64_design, make_tlp_ram_128_design, make_tlp_ram_256_design,
                                   make_tlp_ram_512_design};

// Sends every access at once, and keeps the responses.
class software : public sc_core::sc_module {
 public:
  struct access {
    tlm::tlm_generic_payload p;
    std::vector<unsigned char> bytes;
    bool done = false;
    ps at{0};
  };
  tlm_utils::simple_initiator_socket<software, 64> out{"out"};
  std::deque<access> accesses;

  explicit software(const sc_core::sc_module_name& n) : sc_module(n) {
    out.register_nb_transport_bw(this, &software::answered);
  }
  access& start(tlm::tlm_command c, std::uint64_t address, std::vector<unsigned char> bytes,
                const std::function<void(tlm::tlm_generic_payload&)>& change = {}) {
    access& a = accesses.emplace_back();
    a.bytes = std::move(bytes);
    set_access(a.p, c, address, a.bytes.data(), a.bytes.size());
    if (change) change(a.p);
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay;
    if (out->nb_transport_fw(a.p, phase, delay) == tlm::TLM_COMPLETED) a.done = true;
    return a;
  }
  access& read(std::uint64_t address, std::size_t n) {
    return start(tlm::TLM_READ_COMMAND, address, std::vector<unsigned char>(n));
  }
  access& write(std::uint64_t address, std::vector<unsigned char> bytes) {
    return start(tlm::TLM_WRITE_COMMAND, address, std::move(bytes));
  }

 private:
  tlm::tlm_sync_enum answered(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    EXPECT_EQ(phase, tlm::BEGIN_RESP);
    const auto a = std::find_if(accesses.begin(), accesses.end(), [&](const access& each) { return &each.p == &p; });
    EXPECT_FALSE(a->done);
    a->done = true;
    a->at = from_delay(delay);
    return tlm::TLM_COMPLETED;
  }
};

struct served {
  open_shell rtl;
  tlp_completer ram;
  software cpu{"cpu"};
  std::vector<std::string> violations;

  served(design_factory make, const shell_options& o, const tlp_completer_options& limits)
      : rtl("ram", clock_400, make, o), ram("registers", rtl, limits) {
    cpu.out.bind(ram.memory);
    rtl.strap("completer", device);
    rtl.strap("base", limits.base);
    rtl.strap("payload", limits.max_payload);
    rtl.strap("boundary", limits.completion_boundary);
    rtl.on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
  }
};

tlp_completer_options on_host(tlp_completer_options o = {}) {
  o.requester = host;
  o.completer = device;
  o.bar_id = 2;
  return o;
}

class tlp_completions : public ::testing::TestWithParam<std::uint64_t> {};

// Writes, and reads right behind them, as many as there are.
TEST_P(tlp_completions, bring_what_was_written) {
  const std::uint64_t seed = GetParam();
  random_stream r(seed, "accesses");
  shell_options o;
  o.seed = seed;
  o.stall = r.chance(0.5) ? 0 : 0.1 * static_cast<double>(r.below(7));
  o.storms = r.chance(0.3);
  o.check_x = r.chance(0.2);
  tlp_completer_options limits = on_host();
  limits.max_payload = 128U << r.below(6);
  limits.max_read_request = 128U << r.below(6);
  limits.completion_boundary = 64U << r.below(2);
  limits.tags = static_cast<unsigned>(r.chance(0.5) ? 1 + r.below(4) : 1 + r.below(256));
  limits.base = r.chance(0.5) ? 0xffff'9000'0000'0000 : 0x8000'0000;
  served b(rams[r.below(4)], o, limits);
  std::vector<unsigned char> wanted(size);
  for (auto& byte : wanted) byte = static_cast<unsigned char>(r.next());
  b.cpu.write(0, wanted);
  for (int round = 0; round < 12; ++round) {
    for (std::uint64_t n = 1 + r.below(8); n-- > 0;) {
      std::vector<unsigned char> bytes(1 + (r.chance(0.5) ? r.below(20) : r.below(4096)));
      for (auto& byte : bytes) byte = static_cast<unsigned char>(r.next());
      const std::uint64_t at = r.below(size - bytes.size() + 1);
      std::copy(bytes.begin(), bytes.end(), wanted.begin() + static_cast<std::ptrdiff_t>(at));
      b.cpu.write(at, bytes);
    }
    for (std::uint64_t n = r.below(12); n-- > 0;) {
      const std::uint64_t bytes = 1 + (r.chance(0.5) ? r.below(20) : r.below(8192));
      b.cpu.read(r.below(aborted - bytes + 1), bytes);
    }
    testing::run_until_idle();
    for (const software::access& a : b.cpu.accesses) {
      ASSERT_TRUE(a.done);
      ASSERT_TRUE(a.p.is_response_ok());
      ASSERT_TRUE(std::equal(a.bytes.begin(), a.bytes.end(), wanted.begin() + static_cast<std::ptrdiff_t>(a.p.get_address())) ||
                  a.p.is_write());
    }
    b.cpu.accesses.clear();
  }
  EXPECT_EQ(b.violations, std::vector<std::string>{});
  EXPECT_EQ(b.rtl.get("wrong"), 0U);
  EXPECT_EQ(b.ram.errors(), 0U);
}
INSTANTIATE_TEST_SUITE_P(seeds, tlp_completions, ::testing::Range<std::uint64_t>(1, 101));

// A beat each cycle from cycle 0 on: 64 bytes have 8.
TEST(tlp_completer, a_write_takes_its_beats) {
  served b(make_tlp_ram_64_design, {}, on_host());
  const auto& a = b.cpu.write(64, std::vector<unsigned char>(64));
  testing::run_until_idle();
  EXPECT_EQ(a.at, clock_400.cycles(7));
}

TEST(tlp_completer, errors_of_the_rtl_reach_software) {
  served b(make_tlp_ram_64_design, {}, on_host());
  const auto& beyond = b.cpu.read(size + 16, 4);
  const auto& broken = b.cpu.read(aborted, 8);
  const auto& half = b.cpu.read(aborted - 512, 1024);  // the last of its three requests
  const auto& posted = b.cpu.write(size + 16, {1, 2, 3, 4});
  const auto& good = b.cpu.read(16, 3);
  testing::run_until_idle();
  EXPECT_EQ(beyond.p.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(broken.p.get_response_status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
  EXPECT_EQ(half.p.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_TRUE(posted.p.is_response_ok());
  EXPECT_TRUE(good.p.is_response_ok());
  EXPECT_EQ(b.ram.errors(), 3U);
  EXPECT_EQ(b.violations, std::vector<std::string>{});
}

TEST(tlp_completer, accesses_that_no_request_can_be_are_refused) {
  served b(make_tlp_ram_64_design, {}, on_host());
  unsigned char enables[4] = {0xff, 0, 0xff, 0};
  const auto status = [&](tlm::tlm_command c, const std::function<void(tlm::tlm_generic_payload&)>& change) {
    const auto& a = b.cpu.start(c, 0, std::vector<unsigned char>(4), change);
    EXPECT_TRUE(a.done);
    return a.p.get_response_status();
  };
  EXPECT_EQ(status(tlm::TLM_WRITE_COMMAND,
                   [&](tlm::tlm_generic_payload& p) {
                     p.set_byte_enable_ptr(enables);
                     p.set_byte_enable_length(4);
                   }),
            tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  EXPECT_EQ(status(tlm::TLM_READ_COMMAND, [](tlm::tlm_generic_payload& p) { p.set_streaming_width(2); }),
            tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(status(tlm::TLM_READ_COMMAND, [](tlm::tlm_generic_payload& p) { p.set_data_length(0); }),
            tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(status(tlm::TLM_IGNORE_COMMAND, {}), tlm::TLM_COMMAND_ERROR_RESPONSE);
}

// [PCIe base specification, 2.4.1: posted requests pass others that wait]
TEST(tlp_completer, a_write_goes_by_reads_that_wait_for_a_tag) {
  served b(make_tlp_ram_64_design, {}, on_host({.tags = 1}));
  b.cpu.read(0, 256);
  const auto& waits = b.cpu.read(256, 256);
  const auto& goes_by = b.cpu.write(0x1000, {1});
  testing::run_until_idle();
  EXPECT_LT(goes_by.at, waits.at);
  EXPECT_EQ(b.violations, std::vector<std::string>{});
}

// After a reset at any time everything under way is answered, and later requests work as before.
class tlp_completer_resets : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(tlp_completer_resets, leave_nothing_behind) {
  const std::uint64_t seed = GetParam();
  random_stream r(seed, "resets");
  shell_options o;
  o.seed = seed;
  o.stall = 0.2;
  served b(rams[r.below(4)], o, on_host({.tags = 4}));
  unsigned resets = 0;
  b.rtl.on_reset = [&](const std::vector<lost>&) { ++resets; };
  for (unsigned i = 0; i < 10; ++i) {
    for (unsigned n = 0; n < 8; ++n) {
      b.cpu.read(r.below(0x8000), 1 + r.below(4096));
      b.cpu.write(r.below(0x8000), std::vector<unsigned char>(1 + r.below(4096)));
    }
    testing::run_for(clock_400.cycles(static_cast<double>(r.below(6000))));
    b.rtl.reset_again();
    testing::run_for(clock_400.cycles(200));
    const auto& written = b.cpu.write(0x9001, {1, 2, 3, 4, 5, 6, 7});
    const auto& read = b.cpu.read(0x9001, 7);
    testing::run_until_idle();
    EXPECT_EQ(read.bytes, written.bytes);
    for (const auto& a : b.cpu.accesses) EXPECT_TRUE(a.done);
    b.cpu.accesses.clear();
  }
  EXPECT_EQ(b.violations, std::vector<std::string>{});
  EXPECT_EQ(resets, 10U);
}
INSTANTIATE_TEST_SUITE_P(seeds, tlp_completer_resets, ::testing::Range<std::uint64_t>(1, 11));

// ---- completions that PCIe has not, each for the first read of 300 bytes at 0x1002

struct answering {
  open_shell rtl{"pass", clock_400, make_tlp_pass_design, {}};
  tlp_completer registers;
  software cpu{"cpu"};
  std::vector<std::string> violations;
  stream& beat;

  explicit answering(tlp_completer_options o = on_host())
      : registers("registers", rtl, named(std::move(o))), beat(rtl.into("beat", 196)) {
    rtl.out_of("got", 200);
    cpu.out.bind(registers.memory);
    rtl.on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
  }
  static tlp_completer_options named(tlp_completer_options o) {
    o.requests = "cpl";  // the design's name of its input
    o.completions = "req";
    return o;
  }
  void complete(const tlp_header& h) {
    const tlp_words words = pack(h);
    const unsigned beats = std::max(1U, (payload_words(words) + 1) / 2);
    for (unsigned n = 0; n < beats; ++n) {
      const unsigned here = std::min(2U, payload_words(words) - 2 * n);
      payload p;
      writer w(p);
      w.put(0x0101010101010101 * (n + 1), 64).put(payload_words(words) == 0 ? 0 : (1U << here) - 1, 2);
      for (unsigned i = 4; i-- > 0;) w.put(n == 0 ? words[i] : 0, 32);
      w.put(n == 0, 1).put(n + 1 == beats, 1);
      rtl.push(beat, p, now());
    }
    testing::run_for(clock_400.cycles(100));
  }
};

tlp_header good(unsigned returned, unsigned bytes) {
  const unsigned begin = 0x1002 + returned;
  tlp_header h;
  h.kind = tlp_kind::completion_data;
  h.requester = host;
  h.completer = device;
  h.byte_count = 300 - returned;
  h.lower_address = begin % 128;
  h.words = (begin % 4 + bytes + 3) / 4;
  return h;
}

TEST(tlp_completer, completions_in_pieces_are_one_read) {
  answering a;
  const auto& read = a.cpu.read(0x1002, 300);
  testing::run_for(clock_400.cycles(10));
  a.complete(good(0, 126));
  a.complete(good(126, 64));
  EXPECT_FALSE(read.done);
  a.complete(good(190, 110));
  EXPECT_TRUE(read.p.is_response_ok());
  EXPECT_EQ(a.violations, std::vector<std::string>{});
  EXPECT_EQ(read.bytes[0], 1U);
  EXPECT_EQ(read.bytes[6], 2U);
  EXPECT_EQ(read.bytes[126], 1U);
}

TEST(tlp_completer, poisoned_bytes_are_an_error) {
  answering a;
  const auto& read = a.cpu.read(0x1002, 300);
  testing::run_for(clock_400.cycles(10));
  tlp_header h = good(0, 126);
  h.poisoned = true;
  a.complete(h);
  a.complete(good(126, 174));
  EXPECT_EQ(a.violations, std::vector<std::string>{});
  EXPECT_EQ(read.p.get_response_status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
}

struct bad_completion {
  void (*change)(tlp_header&);
  const char* why;
};
class tlp_completions_that_are_wrong : public ::testing::TestWithParam<bad_completion> {};

TEST_P(tlp_completions_that_are_wrong, are_violations) {
  answering a;
  const auto& read = a.cpu.read(0x1002, 300);
  testing::run_for(clock_400.cycles(10));
  a.complete(good(0, 126));
  tlp_header h = good(126, 174);
  GetParam().change(h);
  a.complete(h);
  EXPECT_EQ(a.violations,
            std::vector<std::string>{std::string("pass (tlp_pass_design): stream req.t: a TLP ") + GetParam().why});
  EXPECT_FALSE(read.done);
}
INSTANTIATE_TEST_SUITE_P(
    of, tlp_completions_that_are_wrong,
    ::testing::Values(
        bad_completion{[](tlp_header& c) { c = {}, c.kind = tlp_kind::memory_write, c.words = 1; }, "is not a completion"},
        bad_completion{[](tlp_header& c) { c.requester = 7; }, "has requester 7, not 256"},
        bad_completion{[](tlp_header& c) { c.tag = 1; }, "has tag 1, which no read under way has"},
        bad_completion{[](tlp_header& c) { c.tag = 1023; }, "has tag 1023, which no read under way has"},
        bad_completion{[](tlp_header& c) { c.completer = 7; }, "has completer 7, not 421"},
        bad_completion{[](tlp_header& c) { c.traffic_class = 1; }, "of tag 0 has attributes, and its read had none"},
        bad_completion{[](tlp_header& c) { c.no_snoop = true; }, "of tag 0 has attributes, and its read had none"},
        bad_completion{[](tlp_header& c) { c.relaxed_ordering = true; }, "of tag 0 has attributes, and its read had none"},
        bad_completion{[](tlp_header& c) { c.status = tlp_status::completer_abort; }, "of tag 0 has data, and status 4"},
        bad_completion{[](tlp_header& c) { c.kind = tlp_kind::completion, c.words = 0; },
                       "of tag 0 is successful, and has no data"},
        bad_completion{
            [](tlp_header& c) { c.kind = tlp_kind::completion, c.words = 0, c.status = tlp_status::configuration_retry; },
            "of tag 0 has status 2, not 0, 1 or 4"},
        bad_completion{[](tlp_header& c) { c.byte_count = 300; }, "of tag 0 has byte count 300, not 174"},
        bad_completion{[](tlp_header& c) { c.lower_address = 2; }, "of tag 0 has lower address 2, not 0"},
        bad_completion{[](tlp_header& c) { c.words = 65; }, "of tag 0 has 260 bytes, 256 are allowed"},
        bad_completion{[](tlp_header& c) { c.words = 45; }, "of tag 0 has 45 words, its bytes are in 44"},
        bad_completion{[](tlp_header& c) { c.words = 17; },
                       "of tag 0 ends 106 bytes before the last one, and at no multiple of 64"}));

TEST(tlp_completer, refuses_limits_that_pcie_has_not) {
  const auto refused = [](const tlp_completer_options& o) {
    try {
      const answering a(o);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("taken");
  };
  EXPECT_EQ(refused({.max_payload = 64}), "endpoint cpl: max_payload: 64, PCIe has 128, 256, 512, 1024, 2048 and 4096");
  EXPECT_EQ(refused({.max_read_request = 8192}),
            "endpoint cpl: max_read_request: 8192, PCIe has 128, 256, 512, 1024, 2048 and 4096");
  EXPECT_EQ(refused({.completion_boundary = 32}), "endpoint cpl: completion_boundary: 32, PCIe has 64 and 128");
  EXPECT_EQ(refused({.tags = 0}), "endpoint cpl: tags: 0, there are 1 to 256");
  EXPECT_EQ(refused({.tags = 257}), "endpoint cpl: tags: 257, there are 1 to 256");
}

}  // namespace
}  // namespace hcasim::rtl
