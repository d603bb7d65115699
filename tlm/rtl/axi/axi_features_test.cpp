// Exclusive accesses, interleaved reads, attributes, bursts of other kinds towards slaves; payloads of any width.
#include <gtest/gtest.h>

#include <cstring>

#include "rtl/axi_pass_design.h"
#include "rtl/axi_shuffle_design.h"
#include "rtl/shape_axi_ram.h"
#include "rtl/wide_design.h"
#include "tlm/base/random.h"
#include "tlm/rtl/axi/axi_master.h"
#include "tlm/rtl/axi/axi_memory.h"
#include "tlm/rtl/axi/axi_monitor.h"
#include "tlm/rtl/testing/clock_400.h"
#include "tlm/rtl/testing/shapes/memory_sides.h"
#include "tlm/rtl/testing/untimed.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

// A master that sends the bursts on its command stream.
class told : public open_shell {
 public:
  axi_master m0;
  std::vector<std::string> violations;
  std::vector<unsigned> written;  // responses of writes
  std::vector<payload> beats;     // read beats

  told(const sc_core::sc_module_name& n, const axi_master_options& options, const shell_options& o = {})
      : open_shell(n, clock_400, make_axi_pass_design, o),
        m0("m0", *this, options),
        cmd_(into("cmd", 41)),
        beat_(into("beat", 73)) {
    out_of("got", 69).on_transfer = [this](const payload& p, std::uint64_t, ps) { beats.push_back(p); };
    out_of("done", 4).on_transfer = [this](const payload& p, std::uint64_t, ps) {
      written.push_back(static_cast<unsigned>(p.get(2, 2)));
    };
    on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
  }
  void ask(bool write, unsigned id, std::uint64_t address, unsigned beats_of_8, bool lock = false, unsigned cache = 0,
           unsigned qos = 0) {
    payload p;
    writer(p)
        .put(write, 1)
        .put(id, 2)
        .put(address, 16)
        .put(beats_of_8 - 1, 8)
        .put(3, 3)
        .put(1, 2)
        .put(lock, 1)
        .put(cache, 4)
        .put(qos, 4);
    push(cmd_, p, now());
  }
  void write(unsigned id, std::uint64_t address, std::uint64_t value, bool lock, unsigned strobes = 0xff) {
    ask(true, id, address, 1, lock);
    payload p;
    writer(p).put(value, 64).put(strobes, 8).put(1, 1);
    push(beat_, p, now());
    testing::run_until_idle();
  }
  unsigned read(unsigned id, std::uint64_t address, bool lock) {
    beats.clear();
    ask(false, id, address, 1, lock);
    testing::run_until_idle();
    return static_cast<unsigned>(beats.at(0).get(66, 2));
  }

 private:
  stream &cmd_, &beat_;
};

constexpr unsigned okay = 0, exokay = 1;

struct two_masters {
  told a{"a", {}}, b{"b", {}};
  axi_monitor monitor{"monitor", 2};
  shapes::memory_of_bytes memory{"memory", 1 << 16, 1};
  two_masters() {
    a.m0.memory.bind(monitor.in[0]);
    b.m0.memory.bind(monitor.in[1]);
    monitor.out.bind(memory.in);
  }
  [[nodiscard]] std::uint64_t word(std::uint64_t at) const {
    std::uint64_t v = 0;
    std::memcpy(&v, memory.bytes.data() + at, 8);
    return v;
  }
};

TEST(axi_exclusive, a_write_after_its_read_is_done) {
  two_masters s;
  EXPECT_EQ(s.a.read(1, 64, true), exokay);
  s.a.write(1, 64, 5, true);
  EXPECT_EQ(s.a.written, (std::vector<unsigned>{exokay}));
  EXPECT_EQ(s.word(64), 5U);
  s.a.write(1, 64, 6, true);
  EXPECT_EQ(s.a.written.back(), okay) << "a read is for one write";
  EXPECT_EQ(s.word(64), 5U);
  EXPECT_EQ(s.monitor.granted(), 1U);
  EXPECT_EQ(s.monitor.refused(), 1U);
}
TEST(axi_exclusive, an_overtaken_exclusive_write_writes_nothing) {
  two_masters s;
  EXPECT_EQ(s.a.read(1, 64, true), exokay);
  EXPECT_EQ(s.b.read(1, 64, true), exokay);
  s.b.write(1, 64, 7, true);
  s.a.write(1, 64, 8, true);
  EXPECT_EQ(s.b.written.back(), exokay);
  EXPECT_EQ(s.a.written.back(), okay);
  EXPECT_EQ(s.word(64), 7U);
}
TEST(axi_exclusive, only_a_write_to_its_bytes_ends_the_reservation) {
  two_masters s;
  EXPECT_EQ(s.a.read(1, 64, true), exokay);
  s.b.write(0, 72, 1, false);
  s.a.write(1, 64, 2, true);
  EXPECT_EQ(s.a.written.back(), exokay) << "beside it";
  EXPECT_EQ(s.a.read(1, 64, true), exokay);
  s.b.write(0, 64, 3, false, 0x80);
  s.a.write(1, 64, 4, true);
  EXPECT_EQ(s.a.written.back(), okay) << "one byte of it";
}
TEST(axi_exclusive, ids_are_watched_one_by_one_and_other_bytes_do_not_match) {
  two_masters s;
  EXPECT_EQ(s.a.read(1, 64, true), exokay);
  EXPECT_EQ(s.a.read(2, 128, true), exokay);
  s.a.write(2, 64, 1, true);
  EXPECT_EQ(s.a.written.back(), okay);
  s.a.write(1, 64, 2, true);
  EXPECT_EQ(s.a.written.back(), exokay);
  s.a.write(2, 128, 3, true);
  EXPECT_EQ(s.a.written.back(), exokay);
}
TEST(axi_exclusive, strobes_left_out_are_left_out) {
  two_masters s;
  const std::uint64_t before = s.word(64);
  EXPECT_EQ(s.a.read(0, 64, true), exokay);
  s.a.write(0, 64, 0, true, 0x0f);
  EXPECT_EQ(s.a.written.back(), exokay);
  EXPECT_EQ(s.word(64), before >> 32 << 32);
}
TEST(axi_exclusive, memory_that_knows_nothing_of_it_answers_okay) {
  told a("a", {});
  shapes::memory_of_bytes memory("memory", 1 << 16, 1);
  a.m0.memory.bind(memory.in);
  EXPECT_EQ(a.read(0, 64, true), okay);
  EXPECT_EQ(a.read(0, 64, false), okay);
}
TEST(axi_exclusive, an_unaligned_exclusive_access_is_found) {
  told a("a", {});
  shapes::memory_of_bytes memory("memory", 1 << 16, 1);
  a.m0.memory.bind(memory.in);
  a.ask(false, 0, 72, 2, true);
  testing::run_until_idle();
  EXPECT_EQ(a.violations,
            (std::vector<std::string>{
                "a (axi_pass_design): stream m0.ar: a burst at 0x48 is exclusive and not aligned to its 16 bytes"}));
}

// The RTL watches: read, written by another master or not, written.
TEST(axi_exclusive, a_slave_with_a_monitor_decides) {
  open_shell rtl("rtl", clock_400, make_shape_axi_ram, {});
  axi_memory s0("s0", rtl);
  shapes::memory_user user("user", 1);
  user.out.bind(s0.memory);
  user.complain = [](const std::string& what) { ADD_FAILURE() << what; };
  user.write(0, std::vector<unsigned char>(16, 0));
  std::vector<bool> done;
  // The RAM watches one id. Ids count up modulo 16: after 15 other accesses the write has the read's id.
  const auto exclusive = [&](shapes::memory_user::access& a) {
    a.asks.exclusive = true;
    a.after = [&done, &a] { done.push_back(a.asks.exclusive_done); };
  };
  const auto others = [&](unsigned n) {
    for (unsigned i = 0; i < n; ++i) i % 2 ? user.read(256, 4) : user.write(256, {1, 2, 3, 4});
  };
  const auto lonely_write = [&](bool comes) {
    auto& w = user.write(0, {9, 9, 9, 9});
    exclusive(w);
    if (!comes) user.keep(0, {0, 0, 0, 0});
    return &w;
  };
  exclusive(user.read(0, 4));
  others(15);
  lonely_write(true);
  user.read(0, 4);
  user.write(0, {0, 0, 0, 0});
  exclusive(user.read(0, 4));
  user.write(0, {0, 0, 0, 0});
  others(14);
  lonely_write(false);
  user.read(0, 4);
  user.go();
  testing::run_until_idle();
  EXPECT_EQ(user.missing(), "");
  EXPECT_EQ(done, (std::vector<bool>{true, true, true, false}));
}
TEST(axi_exclusive, an_access_that_the_slave_cannot_do_is_an_error) {
  open_shell rtl("rtl", clock_400, make_axi_shuffle_design, {});
  axi_memory s0("s0", rtl);
  shapes::memory_user user("user", 4);
  user.out.bind(s0.memory);
  user.complain = [](const std::string& what) { ADD_FAILURE() << what; };
  auto& exclusive = user.read(0, 4);
  exclusive.asks.exclusive = true;
  exclusive.status = tlm::TLM_COMMAND_ERROR_RESPONSE;
  user.write(0, {1}).status = tlm::TLM_COMMAND_ERROR_RESPONSE;
  auto& broken = user.read(4, 8);
  broken.asks.wrap = true;
  broken.status = tlm::TLM_BURST_ERROR_RESPONSE;
  auto& fixed = user.read(0, 8);
  fixed.set_streaming_width(4);
  fixed.status = tlm::TLM_BURST_ERROR_RESPONSE;
  user.go();
  testing::run_until_idle();
  EXPECT_EQ(user.missing(), "");
  EXPECT_EQ(s0.bursts(), 0U);
}

// A slave without signals for attributes gets the same bytes.
TEST(axi_attributes, attributes_without_signals_are_left_out) {
  open_shell rtl("rtl", clock_400, make_axi_shuffle_design, {});
  axi_memory s0("s0", rtl);
  shapes::memory_user user("user", 4);
  user.out.bind(s0.memory);
  user.complain = [](const std::string& what) { ADD_FAILURE() << what; };
  auto& wraps = user.read(8, 8);
  wraps.asks.wrap = true;
  wraps.asks.first = 12;
  wraps.wanted = {8, 0, 0, 0, 12, 0, 0, 0};
  auto& narrow = user.read(16, 4);
  narrow.asks.beat_bytes = 2;
  narrow.wanted = {16, 0, 0, 0};
  user.go();
  testing::run_until_idle();
  EXPECT_EQ(user.missing(), "");
  EXPECT_EQ(s0.bursts(), 2U);
}

// Reads of four ids whose beats come interleaved.
std::string read_shuffled(bool fault, double stall) {
  shell_options o;
  o.stall = stall;
  o.check_x = true;
  open_shell rtl("rtl", clock_400, make_axi_shuffle_design, o);
  rtl.strap("fault", fault);
  axi_memory s0("s0", rtl);
  shapes::memory_user user("user", 8);
  user.out.bind(s0.memory);
  std::string first;
  const auto complain = [&](const std::string& what) {
    if (first.empty()) first = what;
  };
  user.complain = complain;
  rtl.on_violation = complain;
  for (std::uint64_t i = 0; i < 100; ++i) {
    auto& a = user.read(i * 260, 4 * (1 + i % 9));
    for (std::size_t n = 0; n < a.wanted.size(); n += 4) {
      a.wanted[n] = static_cast<unsigned char>(i * 260 + n);
      a.wanted[n + 1] = static_cast<unsigned char>((i * 260 + n) >> 8);
    }
  }
  user.go();
  testing::run_until_idle();
  return first.empty() ? user.missing() : first;
}
TEST(axi_interleaved, beats_of_a_slave_find_their_reads) {
  EXPECT_EQ(read_shuffled(false, 0), "");
}
TEST(axi_interleaved, with_stalls) {
  EXPECT_EQ(read_shuffled(false, 0.4), "");
}
TEST(axi_interleaved, beats_of_another_id_are_found) {
  EXPECT_EQ(read_shuffled(true, 0).substr(0, 11), "wrong bytes");
}

// How often a beat of another id comes before a read has ended; beats of each id are complete and in order.
unsigned changes(bool interleave) {
  told a("a", {.interleave = interleave});
  shapes::memory_of_bytes memory("memory", 1 << 16, 1);
  a.m0.memory.bind(memory.in);
  std::vector<std::uint64_t> next(4);
  for (unsigned i = 0; i < 40; ++i) a.ask(false, i % 4, i % 4 * 0x1000 + i / 4 * 64, 8);
  testing::run_until_idle();
  EXPECT_EQ(a.violations, std::vector<std::string>{});
  EXPECT_EQ(a.beats.size(), 320U);
  unsigned n = 0;
  for (std::size_t i = 0; i < a.beats.size(); ++i) {
    const payload& p = a.beats[i];
    const auto id = p.get(0, 2);
    std::uint64_t wanted = 0;
    std::memcpy(&wanted, memory.bytes.data() + id * 0x1000 + next[id] * 8, 8);
    EXPECT_EQ(p.get(2, 64), wanted);
    EXPECT_EQ(p.get(68, 1), ++next[id] % 8 == 0);
    n += i > 0 && a.beats[i - 1].get(0, 2) != id && a.beats[i - 1].get(68, 1) == 0;
  }
  return n;
}
TEST(axi_interleaved, towards_a_master_on_demand_alone) {
  EXPECT_GT(changes(true), 30U);
}
TEST(axi_interleaved, without_demand_reads_come_one_by_one) {
  EXPECT_EQ(changes(false), 0U);
}

TEST(axi_attributes, reach_the_memory) {
  told a("a", {});
  shapes::memory_of_bytes memory("memory", 1 << 16, 1);
  a.m0.memory.bind(memory.in);
  a.ask(false, 2, 64, 1, false, 0xa, 0x5);
  testing::run_until_idle();
  ASSERT_EQ(memory.asked.size(), 1U);
  EXPECT_EQ(memory.asked[0].id, 2U);
  EXPECT_EQ(memory.asked[0].cache, 0xaU);
  EXPECT_EQ(memory.asked[0].qos, 0x5U);
  EXPECT_FALSE(memory.asked[0].exclusive);
}

// From a master in RTL to a memory in RTL: WRAP stays WRAP, narrow beats stay narrow.
TEST(axi_attributes, bursts_pass_as_they_are) {
  told a("a", {});
  open_shell rtl("rtl", clock_400, make_shape_axi_ram, {});
  axi_memory s0("s0", rtl);
  a.m0.memory.bind(s0.memory);
  a.write(1, 0x100, 0x1122334455667788, false);
  EXPECT_EQ(a.read(3, 0x100, false), okay);
  EXPECT_EQ(a.beats.at(0).get(2, 64), 0x1122334455667788U);
  EXPECT_EQ(a.written, (std::vector<unsigned>{okay}));
}

class wide_shell : public open_shell {
 public:
  std::vector<payload> received;
  std::vector<std::string> violations;

  wide_shell(bool fault, double stall)
      : open_shell("wide", clock_400, make_wide_design, options(stall)), in_(into("in", 2100)) {
    strap("fault", fault);
    out_of("out", 2100).on_transfer = [this](const payload& p, std::uint64_t, ps) { received.push_back(p); };
    on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
  }
  void send(const payload& p) { push(in_, p, now()); }

 private:
  static shell_options options(double stall) {
    shell_options o;
    o.stall = stall;
    return o;
  }
  stream& in_;
};

payload wide_payload(random_stream& r) {
  payload p;
  for (unsigned at = 0; at < 2100; at += 50) p.set(at, 50, r.next());
  return p;
}

TEST(rtl_wide, payloads_of_2100_bits) {
  wide_shell s(false, 0.3);
  random_stream r(1, "wide");
  std::vector<payload> sent;
  for (unsigned i = 0; i < 200; ++i) s.send(sent.emplace_back(wide_payload(r)));
  testing::run_until_idle();
  EXPECT_EQ(s.violations, std::vector<std::string>{});
  EXPECT_EQ(s.received, sent);
}
TEST(rtl_wide, the_uppermost_bit_counts) {
  wide_shell s(true, 0);
  random_stream r(1, "wide");
  payload p = wide_payload(r);
  s.send(p);
  testing::run_until_idle();
  ASSERT_EQ(s.received.size(), 1U);
  EXPECT_NE(s.received[0], p);
  p.set(2099, 1, !p.get(2099, 1));
  EXPECT_EQ(s.received[0], p);
}
TEST(rtl_wide, a_change_of_the_uppermost_bit_is_found) {
  wide_shell stalled(true, 0.6);
  const payload p;
  for (unsigned i = 0; i < 50; ++i) stalled.send(p);
  testing::run_until_idle();
  ASSERT_FALSE(stalled.violations.empty());
  EXPECT_EQ(stalled.violations[0],
            "wide (wide_design): out_high[99:64] changed from 0x800000000 to 0x0 while out_valid waited for ready");
}

}  // namespace
}  // namespace hcasim::rtl
