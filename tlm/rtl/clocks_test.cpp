// Designs with several clocks and resets: ratios and phases, resets under way and their effects, pins accessed by name.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>

#include "rtl/clock_level_design.h"
#include "rtl/credits_design.h"
#include "rtl/foreign_design.h"
#include "rtl/relay_design.h"
#include "rtl/shape_axi_cdma.h"
#include "rtl/shape_axi_ram.h"
#include "rtl/shape_axis_frame_fifo.h"
#include "rtl/shape_fifo_async.h"
#include "rtl/two_clocks_design.h"
#include "tlm/rtl/axi/axi_master.h"
#include "tlm/rtl/axi/axi_memory.h"
#include "tlm/rtl/axi/axis.h"
#include "tlm/rtl/testing/clock_400.h"
#include "tlm/rtl/testing/shapes/memory_sides.h"
#include "tlm/rtl/testing/steps.h"
#include "tlm/rtl/testing/untimed.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

shell_options some_stalls(double stall) {
  shell_options o;
  o.stall = stall;
  o.check_x = true;
  o.hang_cycles = 500;
  return o;
}

// Written with one clock, read with another.
class two_clocks : public open_shell {
 public:
  stream& wr;
  std::vector<std::uint64_t> came;
  std::vector<ps> times;
  std::vector<std::string> violations;
  std::vector<std::string> ended;

  explicit two_clocks(const shell_options& o = {})
      : open_shell("fifo", clock_400, make_shape_fifo_async, o), wr(into("wr", 24)) {
    out_of("rd", 24).on_transfer = [this](const payload& p, std::uint64_t, ps t) {
      owe(-1);
      came.push_back(p.get(0, 24));
      times.push_back(t);
    };
    on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
    on_reset = [this](const std::vector<lost>& losses) {
      for (const lost& l : losses) ended.push_back(l.what + " " + std::to_string(l.count));
    };
  }
  void send(std::uint64_t v) {
    payload p;
    p.set(0, 24, v);
    owe(1);
    push(wr, p, now());
  }
};

class ratio : public ::testing::TestWithParam<double> {};
// Every item comes, in order, at edges of the clock on its reading side.
TEST_P(ratio, everything_comes_out_at_edges_of_its_clock) {
  two_clocks f(some_stalls(0.3));
  const clock_domain other(frequency{400e6 / GetParam()});
  const ps phase{777};
  f.set_clock("rd_clk", other, phase);
  for (std::uint64_t i = 0; i < 500; ++i) f.send(i * 31);
  testing::run_until_idle();
  EXPECT_EQ(f.violations, std::vector<std::string>{});
  ASSERT_EQ(f.came.size(), 500U);
  for (std::uint64_t i = 0; i < 500; ++i) {
    ASSERT_EQ(f.came[i], i * 31);
    const auto cycle = static_cast<std::uint64_t>(std::llround(other.cycles_in(f.times[i] - phase)));
    ASSERT_EQ(f.times[i], phase + other.cycles(static_cast<double>(cycle)));
  }
}
INSTANTIATE_TEST_SUITE_P(clocks, ratio, ::testing::Values(0.2, 1 / 3., 1., 1.1, 2.5, 7.));

// With one clock and with two, with resets seen only at clock edges and with asynchronous ones.
TEST(rtl_clocks, steps_equal_whole_evaluations) {
  unsigned designs = 0;
  for (design_factory make : {make_shape_axi_ram, make_shape_axi_cdma, make_shape_axis_frame_fifo, make_two_clocks_design,
                              make_foreign_design, make_credits_design, make_relay_design}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) designs += expect_steps_alike(make, seed);
  }
  EXPECT_EQ(designs, std::string_view(HCASIM_VERILATOR) == "5.006" ? 140U : 0U);
}
TEST(rtl_clocks, a_pin_that_a_register_looks_at_does_not_fall_before_them) {
  const std::unique_ptr<design> d = make_relay_design(0);
  EXPECT_EQ(d->find("b", true, 8).falls, d->steps());
  EXPECT_FALSE(d->find("a", true, 8).falls);
}
TEST(rtl_clocks, a_design_that_looks_at_more_of_a_clock_is_not_taken_step_by_step) {
  EXPECT_FALSE(make_clock_level_design(0)->steps());
  EXPECT_FALSE(make_shape_fifo_async(0)->steps()) << "WAVES";
}

// Without stalls the slower clock says how long it takes.
TEST(rtl_clocks, the_slower_clock_is_the_bottleneck) {
  two_clocks f;
  f.set_clock("rd_clk", clock_domain(frequency{100e6}));
  for (std::uint64_t i = 0; i < 100; ++i) f.send(i);
  testing::run_until_idle();
  ASSERT_EQ(f.times.size(), 100U);
  EXPECT_EQ(f.times.back() - f.times.front(), 99 * 10'000_ps);
}
// 7/5 of the period of 2.5 ns, from a third of it on, as PINS say.
TEST(rtl_clocks, period_and_phase_are_those_of_pins) {
  two_clocks f;
  for (std::uint64_t i = 0; i < 3; ++i) f.send(i);
  testing::run_until_idle();
  ASSERT_EQ(f.times.size(), 3U);
  for (const ps t : f.times) EXPECT_EQ((t.count() - 833) % 3500, 0) << t.count();
}
// Returns the times at which a signal of one bit rises in a waveform, by the signal's first name.
std::vector<std::int64_t> rises(const std::string& file, const std::string& signal) {
  std::ifstream in(file);
  std::string id;
  std::int64_t time = 0;
  std::vector<std::int64_t> all;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind, type, bits, code, name;
    words >> kind >> type >> bits >> code >> name;
    if (kind == "$var" && name == signal && id.empty()) id = code;
    if (line[0] == '#') time = std::stoll(line.substr(1));
    if (!id.empty() && line == "1" + id) all.push_back(time);
  }
  return all;
}
TEST(rtl_clocks, a_waveform_has_the_edges_of_each_clock) {
  const std::string file = ::testing::TempDir() + "two_clocks.vcd";
  std::uint64_t edges = 0;
  {
    shell_options o;
    o.trace = file;
    two_clocks f(o);
    for (std::uint64_t i = 0; i < 20; ++i) f.send(i);
    testing::run_until_idle();
    edges = f.cycles();
  }
  const std::vector<std::int64_t> wr = rises(file, "wr_clk");
  const std::vector<std::int64_t> rd = rises(file, "rd_clk");
  EXPECT_NEAR(static_cast<double>(wr.size()), static_cast<double>(edges), 1);
  EXPECT_GT(rd.size(), 20U);
  for (const std::int64_t t : wr) EXPECT_EQ(t % 2500, 0) << t;
  for (const std::int64_t t : rd) EXPECT_EQ((t - 833) % 3500, 0) << t;
}
TEST(rtl_clocks, a_hang_names_stream_and_clock) {
  two_clocks f(some_stalls(0));
  f.send(1);
  f.owe(1);
  testing::run_for(100_us);
  EXPECT_EQ(f.violations,
            (std::vector<std::string>{"fifo (shape_fifo_async): hang: 1 answers are missing, nothing has moved for 501 cycles "
                                      "(!empty of rd_clk stays low)"}));
}
TEST(rtl_clocks, a_clock_or_reset_that_is_not_there_is_refused_by_name) {
  two_clocks f;
  EXPECT_THROW(f.set_clock("clk", clock_400), std::invalid_argument);
  EXPECT_THROW(f.reset_again("clk"), std::invalid_argument);
  EXPECT_THROW((void)f.get("nothing"), std::invalid_argument);
  EXPECT_THROW(f.set("level", 1), std::invalid_argument);
}

TEST(rtl_resets, a_reset_under_way_ends_what_is_under_way_and_tells) {
  two_clocks f(some_stalls(0.2));
  for (std::uint64_t i = 0; i < 200; ++i) f.send(i);
  testing::run_for(200_ns);
  const std::size_t before = f.came.size();
  ASSERT_GT(before, 10U);
  f.reset_again();
  testing::run_for(20_ns);
  ASSERT_EQ(f.ended.size(), 2U);
  EXPECT_EQ(f.ended[0].substr(0, 10), "stream wr ");
  EXPECT_EQ(f.ended[1], "answers " + std::to_string(200 - f.came.size()));
  const std::size_t until = f.came.size();
  for (std::uint64_t i = 0; i < 50; ++i) f.send(1000 + i);
  testing::run_until_idle();
  EXPECT_EQ(f.violations, std::vector<std::string>{});
  ASSERT_EQ(f.came.size(), until + 50);
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(f.came[until + i], 1000 + i);
}
// Pointers have come round to 0: the other side sees nothing of it.
TEST(rtl_resets, one_clock_alone) {
  two_clocks f(some_stalls(0.2));
  for (std::uint64_t i = 0; i < 32; ++i) f.send(i);
  testing::run_until_idle();
  f.reset_again("rd_clk", 10);
  for (std::uint64_t i = 32; i < 100; ++i) f.send(i);
  testing::run_until_idle();
  EXPECT_EQ(f.ended, std::vector<std::string>{}) << "what is written is not in reset";
  EXPECT_EQ(f.violations, std::vector<std::string>{});
  ASSERT_EQ(f.came.size(), 100U);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(f.came[i], i);
}
TEST(rtl_resets, nothing_is_taken_while_it_lasts) {
  two_clocks f;
  f.send(1);
  testing::run_until_idle();
  const ps from = now();
  f.reset_again(100);
  testing::run_for(clock_400.cycles(3));
  f.send(2);
  testing::run_until_idle();
  ASSERT_EQ(f.times.size(), 2U);
  EXPECT_GT(f.times[1] - from, clock_400.cycles(100));
}

TEST(rtl_resets, accesses_of_a_memory_are_answered_as_errors) {
  open_shell rtl("rtl", clock_400, make_shape_axi_ram, some_stalls(0.3));
  axi_memory s0("s0", rtl);
  shapes::memory_user user("user", 8);
  user.out.bind(s0.memory);
  std::vector<std::string> complaints, ended;
  user.complain = [&](const std::string& what) { complaints.push_back(what); };
  rtl.on_violation = user.complain;
  rtl.on_reset = [&](const std::vector<lost>& losses) {
    for (const lost& l : losses) ended.push_back(l.what + " " + std::to_string(l.count));
  };
  for (unsigned i = 0; i < 100; ++i) user.write(64 * i, std::vector<unsigned char>(64, static_cast<unsigned char>(i)));
  user.go();
  testing::run_for(500_ns);
  EXPECT_EQ(complaints, std::vector<std::string>{});
  rtl.reset_again();
  testing::run_for(5_ns);
  ASSERT_FALSE(ended.empty());
  EXPECT_EQ(ended.back(), "endpoint s0: accesses " + std::to_string(complaints.size()));
  const std::size_t failed = complaints.size();
  EXPECT_GT(failed, 0U);
  EXPECT_EQ(complaints[0].substr(0, 26), "TLM_GENERIC_ERROR_RESPONSE");
  testing::run_until_idle();
  EXPECT_EQ(user.missing(), "");
  EXPECT_EQ(complaints.size(), failed) << "those that came later are as ever";
  user.write(8, {1, 2, 3});
  user.read(8, 3);
  user.go();
  testing::run_until_idle();
  EXPECT_EQ(complaints.size(), failed);
}

TEST(rtl_resets, bursts_of_a_master_are_forgotten) {
  open_shell rtl("rtl", clock_400, make_shape_axi_cdma, some_stalls(0.3));
  axi_master m0("m0", rtl);
  shapes::memory_of_bytes memory("memory", 1 << 16, 1);
  m0.memory.bind(memory.in);
  stream& desc = rtl.into("desc", 88);
  unsigned done = 0;
  rtl.out_of("status", 12).on_transfer = [&](const payload&, std::uint64_t, ps) { ++done; };
  std::vector<std::string> violations, ended;
  rtl.on_violation = [&](const std::string& what) { violations.push_back(untimed(what)); };
  rtl.on_reset = [&](const std::vector<lost>& losses) {
    for (const lost& l : losses) ended.push_back(l.what);
  };
  rtl.set("enable", 1);
  const auto copy = [&](std::uint64_t from, std::uint64_t to) {
    payload p;
    writer(p).put(from, 32).put(to, 32).put(2000, 16).put(1, 8);
    rtl.push(desc, p, now());
  };
  for (unsigned moment = 0; moment < 40; ++moment) {
    done = 0;
    copy(0x1000, 0x8000);
    testing::run_for(clock_400.cycles(20 + moment));
    rtl.reset_again();
    testing::run_for(clock_400.cycles(2));
    copy(0x2000, 0x9000 + 64 * moment);
    testing::run_until_idle();
    ASSERT_EQ(violations, std::vector<std::string>{}) << moment;
    ASSERT_EQ(done, 1U) << moment;
    ASSERT_TRUE(
        std::equal(memory.bytes.begin() + 0x2000, memory.bytes.begin() + 0x27d0, memory.bytes.begin() + 0x9000 + 64 * moment));
  }
  EXPECT_NE(std::find(ended.begin(), ended.end(), "endpoint m0: bursts"), ended.end());
}

TEST(rtl_resets, frames_that_had_begun_are_told) {
  open_shell rtl("rtl", clock_400, make_shape_axis_frame_fifo, {});
  axis_source in(rtl, "in");
  axis_sink out(rtl, "out");
  std::vector<axis_frame> came;
  out.on_frame = [&](const axis_frame& f, ps) { came.push_back(f); };
  std::vector<std::string> ended;
  rtl.on_reset = [&](const std::vector<lost>& losses) {
    for (const lost& l : losses) ended.push_back(l.what + " " + std::to_string(l.count));
  };
  in.send({.bytes = std::vector<unsigned char>(40, 7)}, now());
  testing::run_for(clock_400.cycles(14));
  rtl.reset_again();
  testing::run_for(clock_400.cycles(2));
  EXPECT_EQ(ended, (std::vector<std::string>{"endpoint out: frames that had begun 1"}));
  in.send({.bytes = {1, 2, 3}}, now());
  testing::run_until_idle();
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0].bytes, (std::vector<unsigned char>{1, 2, 3}));
  EXPECT_EQ(rtl.get("good"), 1U) << "the counter was reset";
}

}  // namespace
}  // namespace hcasim::rtl
