// Bursts of every kind, FIXED, INCR and WRAP, of full and of narrow beats, by RTL that masters AXI4: which accesses they
// become.
#include <gtest/gtest.h>
#include <tlm_utils/simple_target_socket.h>

#include <bit>

#include "rtl/axi_pass_design.h"
#include "tlm/base/random.h"
#include "tlm/rtl/axi/axi_master.h"
#include "tlm/rtl/testing/clock_400.h"
#include "tlm/rtl/testing/untimed.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

struct seen_access {
  bool write;
  std::uint64_t address;
  std::size_t bytes;
  bool operator==(const seen_access&) const = default;
};

// Answers in the call, and keeps what it was asked.
class noting_ram : public unit {
 public:
  tlm_utils::simple_target_socket<noting_ram, 64> in{"in"};
  std::vector<unsigned char> bytes = std::vector<unsigned char>(1 << 16);
  std::vector<seen_access> seen;

  explicit noting_ram(const sc_core::sc_module_name& n) : unit(n) { in.register_nb_transport_fw(this, &noting_ram::access); }

 private:
  tlm::tlm_sync_enum access(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time&) {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
    seen.push_back({p.is_write(), p.get_address(), p.get_data_length()});
    unsigned char* const at = bytes.data() + p.get_address();
    if (p.is_read())
      std::copy_n(at, p.get_data_length(), p.get_data_ptr());
    else
      std::copy_n(p.get_data_ptr(), p.get_data_length(), at);
    p.set_response_status(tlm::TLM_OK_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
};

struct wanted_burst {
  axi_kind kind;
  std::uint64_t address;
  unsigned beats;
  unsigned size;  // bytes of a beat
};

class passing : public shell {
 public:
  axi_master m0{"m0", *this, {.longest_burst = 32}};
  static constexpr unsigned bus = 8;
  std::vector<std::string> violations;
  std::vector<payload> got;
  unsigned done = 0;

  explicit passing(const shell_options& o)
      : shell("pass", clock_400, make_axi_pass_design, o),
        cmd_(into("cmd", 41)),
        beat_(into("beat", 73)),
        got_(out_of("got", 69)),
        done_(out_of("done", 4)) {
    got_.on_transfer = [this](const payload& p, std::uint64_t, ps) { got.push_back(p); };
    done_.on_transfer = [this](const payload&, std::uint64_t, ps) { ++done; };
    on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
  }
  void ask(const wanted_burst& b, bool write) {
    payload p;
    writer(p)
        .put(write, 1)
        .put(1, 2)
        .put(b.address, 16)
        .put(b.beats - 1, 8)
        .put(static_cast<unsigned>(std::countr_zero(b.size)), 3)
        .put(static_cast<unsigned>(b.kind), 2);
    push(cmd_, p, now());
  }
  void beat(std::uint64_t data, unsigned strobes, bool last) {
    payload p;
    writer(p).put(data, 64).put(strobes, 8).put(last, 1);
    push(beat_, p, now());
  }

 private:
  stream &cmd_, &beat_, &got_, &done_;
};

// By the letter of AXI: beat after beat, byte after byte.
std::uint64_t address_of(const wanted_burst& b, unsigned n) {
  if (b.kind == axi_kind::fixed || n == 0) return b.address;
  const std::uint64_t whole = std::uint64_t{b.beats} * b.size;
  const std::uint64_t aligned = b.address / b.size * b.size + std::uint64_t{n} * b.size;
  if (b.kind == axi_kind::incrementing) return aligned;
  const std::uint64_t base = b.address / whole * whole;
  return aligned >= base + whole ? aligned - whole : aligned;
}

std::vector<wanted_burst> some_bursts(random_stream& r, unsigned count) {
  std::vector<wanted_burst> all;
  for (unsigned i = 0; i < count; ++i) {
    wanted_burst b{static_cast<axi_kind>(r.below(3)), 0, 0, 1U << r.below(4)};
    b.beats = b.kind == axi_kind::wrapping ? 2U << r.below(4) : 1 + static_cast<unsigned>(r.below(16));
    b.address = 256 + 4096 * r.below(8) + r.below(3000);
    if (b.kind == axi_kind::wrapping) b.address = b.address / b.size * b.size;
    all.push_back(b);
  }
  return all;
}

TEST(axi_kinds, writes_and_reads_are_those_of_axi) {
  shell_options o;
  o.stall = 0.2;
  passing master(o);
  noting_ram memory("memory");
  master.m0.memory.bind(memory.in);
  random_stream r(7, "kinds");
  std::vector<unsigned char> copy(1 << 16);
  const std::vector<wanted_burst> bursts = some_bursts(r, 300);
  for (const wanted_burst& b : bursts) {
    master.ask(b, true);
    for (unsigned n = 0; n < b.beats; ++n) {
      const std::uint64_t first = address_of(b, n);
      const std::uint64_t end = first / b.size * b.size + b.size;
      const std::uint64_t data = r.next();
      unsigned strobes = 0;
      for (std::uint64_t at = first; at < end; ++at) {
        if (r.chance(0.3)) continue;
        strobes |= 1U << at % passing::bus;
        copy[at] = static_cast<unsigned char>(data >> 8 * (at % passing::bus));
      }
      master.beat(data, strobes, n + 1 == b.beats);
    }
  }
  testing::run_until_idle();
  EXPECT_EQ(master.violations, std::vector<std::string>{});
  EXPECT_EQ(master.done, bursts.size());
  EXPECT_EQ(memory.bytes, copy);
  for (const wanted_burst& b : bursts) master.ask(b, false);
  testing::run_until_idle();
  EXPECT_EQ(master.violations, std::vector<std::string>{});
  std::size_t i = 0;
  for (const wanted_burst& b : bursts) {
    for (unsigned n = 0; n < b.beats; ++n, ++i) {
      ASSERT_LT(i, master.got.size());
      const std::uint64_t first = address_of(b, n);
      for (std::uint64_t at = first; at < first / b.size * b.size + b.size; ++at)
        ASSERT_EQ(master.got[i].get(2 + 8 * static_cast<unsigned>(at % passing::bus), 8), copy[at]) << "burst at " << b.address;
      EXPECT_EQ(master.got[i].get(68, 1), n + 1 == b.beats) << "last";
    }
  }
}

std::vector<seen_access> accesses_of(const wanted_burst& b, bool write) {
  passing master({});
  noting_ram memory("memory");
  master.m0.memory.bind(memory.in);
  master.ask(b, write);
  for (unsigned n = 0; write && n < b.beats; ++n) {
    const std::uint64_t first = address_of(b, n);
    unsigned strobes = 0;
    for (std::uint64_t at = first; at < first / b.size * b.size + b.size; ++at) strobes |= 1U << at % passing::bus;
    master.beat(n, strobes, n + 1 == b.beats);
  }
  testing::run_until_idle();
  EXPECT_EQ(master.violations, std::vector<std::string>{});
  return memory.seen;
}
using accesses = std::vector<seen_access>;

TEST(axi_kinds, a_wrapping_burst_is_one_access) {
  EXPECT_EQ(accesses_of({axi_kind::wrapping, 0x118, 4, 8}, false), (accesses{{false, 0x100, 32}}));
}
TEST(axi_kinds, a_wrapping_write_is_one_access) {
  EXPECT_EQ(accesses_of({axi_kind::wrapping, 0x118, 4, 8}, true), (accesses{{true, 0x100, 32}}));
}
TEST(axi_kinds, a_fixed_burst_is_an_access_for_each_beat) {
  EXPECT_EQ(accesses_of({axi_kind::fixed, 0x102, 3, 4}, false),
            (accesses{{false, 0x102, 2}, {false, 0x102, 2}, {false, 0x102, 2}}));
}
TEST(axi_kinds, a_fixed_write_is_an_access_for_each_beat) {
  EXPECT_EQ(accesses_of({axi_kind::fixed, 0x100, 2, 8}, true), (accesses{{true, 0x100, 8}, {true, 0x100, 8}}));
}

std::string refusal_of(const wanted_burst& b) {
  passing master({});
  noting_ram memory("memory");
  master.m0.memory.bind(memory.in);
  master.ask(b, false);
  testing::run_for(1_us);
  return master.violations.empty() ? "none" : master.violations.front();
}
TEST(axi_kinds, a_wrap_of_three_beats_is_found) {
  EXPECT_EQ(refusal_of({axi_kind::wrapping, 64, 3, 8}),
            "pass (axi_pass_design): stream m0.ar: a burst at 0x40 is WRAP and has 3 beats, not 2, 4, 8 or 16");
}
TEST(axi_kinds, an_unaligned_wrap_is_found) {
  EXPECT_EQ(refusal_of({axi_kind::wrapping, 66, 4, 4}),
            "pass (axi_pass_design): stream m0.ar: a burst at 0x42 is WRAP and not aligned to its beats of 4 bytes");
}
TEST(axi_kinds, a_long_fixed_burst_is_found) {
  EXPECT_EQ(refusal_of({axi_kind::fixed, 64, 17, 8}),
            "pass (axi_pass_design): stream m0.ar: a burst at 0x40 is FIXED and has 17 beats, more than 16");
}
TEST(axi_kinds, a_wrap_at_the_end_of_4_kib_stays_within) {
  EXPECT_EQ(accesses_of({axi_kind::wrapping, 4088, 16, 8}, false), (accesses{{false, 3968, 128}}));
}

}  // namespace
}  // namespace hcasim::rtl
