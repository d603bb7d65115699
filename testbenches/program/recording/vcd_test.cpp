// The VCD writer: its output is parsed back and compared with the input.
#include "testbenches/program/recording/vcd.h"

#include <unistd.h>

#include <ctime>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/recording/gtkwave.h"
#include "testbenches/program/selftest/read_waves.h"
#include "tlm/base/random.h"
#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream s;
  s << in.rdbuf();
  return s.str();
}

class vcd_test : public ::testing::Test {
 protected:
  vcd_test() { fs::create_directories(folder_); }
  ~vcd_test() override { fs::remove_all(folder_); }
  fs::path folder_ = fs::temp_directory_path() / ("hcasim_vcd_" + std::to_string(::getpid()));
  fs::path file_ = folder_ / "waves.vcd";
};

TEST_F(vcd_test, values_widths_and_order) {
  probe strobe, bus, wide, one;
  vcd_writer w(file_, "0.0");
  w.add("top.a", {"strobe", 1, {}, &strobe});
  w.add("top.a", {"bus", 5, {}, &bus});
  w.add("top.b.c", {"wide[3]", 64, {}, &wide});
  w.add("top.b.c", {"one", 9, {}, &one});
  w.write_header();
  // Out of order, as units that run ahead of the kernel report.
  bus.set(0b10110, 300_ps);
  strobe.pulse(1, 100_ps, 50_ps);
  bus.set(3, 200_ps);
  bus.set(3, 250_ps);              // no change
  strobe.pulse(1, 150_ps, 10_ps);  // back to back: the line stays up
  wide.set(~std::uint64_t{0}, 400_ps);
  wide.set(0x8000000000000001ULL, 401_ps);
  one.set(256, 50_ps);
  one.set(0, 60_ps);
  one.set(0x3ff, 60_ps);  // the last of one time counts, cut to nine bits
  w.finish(500_ps);

  const parsed p = parse_vcd(file_);
  EXPECT_TRUE(p.times_increase);
  EXPECT_EQ(p.end, 500);
  EXPECT_EQ(p.by_id.size(), 4U);
  EXPECT_EQ(p.named("top.a.strobe").changes, (change_list{{0, "0"}, {100, "1"}, {160, "0"}}));
  EXPECT_EQ(p.named("top.a.bus").changes, (change_list{{200, "11"}, {300, "10110"}}));
  std::string ends(64, '0');
  ends.front() = ends.back() = '1';
  EXPECT_EQ(p.named("top.b.c.wide_3").changes, (change_list{{400, std::string(64, '1')}, {401, ends}}));
  EXPECT_EQ(p.named("top.b.c.one").changes, (change_list{{50, "100000000"}, {60, "111111111"}}));
  for (const auto& [id, s] : p.by_id) EXPECT_TRUE(s.starts_unknown) << s.full_name;
  EXPECT_EQ(p.named("top.a.bus").width, 5U);
  EXPECT_EQ(w.first_change("a"), 100_ps);
  EXPECT_EQ(w.first_change("c"), 50_ps);
  EXPECT_EQ(w.first_change("b"), never);
  EXPECT_EQ(p.named("top.b.c.wide_3").width, 64U);
}

TEST_F(vcd_test, a_look_begins_later_than_the_file) {
  probe a, b;
  vcd_writer w(file_, "0.0", 0, {100_ps, never});
  w.add("top.a", {"a", 1, {}, &a});
  w.add("top.b", {"b", 1, {}, &b});
  w.write_header();
  a.set(1, 50_ps);
  a.set(0, 200_ps);
  b.set(1, 250_ps);
  w.look_from(300_ps);
  w.look_from(400_ps);
  a.set(1, 290_ps);
  a.set(0, 310_ps);
  w.finish(500_ps);
  EXPECT_EQ(w.first_change("a"), 310_ps) << "neither the value at the file's begin nor what came before the look";
  EXPECT_EQ(w.first_change("b"), never);
}

TEST_F(vcd_test, a_value_at_the_begin_of_a_file_is_no_change) {
  probe a;
  vcd_writer w(file_, "0.0", 0, {100_ps, never});
  w.add("top.a", {"a", 1, {}, &a});
  w.write_header();
  a.set(1, 50_ps);
  a.set(0, 200_ps);
  w.finish(500_ps);
  EXPECT_EQ(w.first_change("a"), 200_ps);
}

TEST_F(vcd_test, ids_of_many_signals_are_distinct) {
  std::vector<probe> many(20'000);
  vcd_writer w(file_, "0.0");
  for (std::size_t i = 0; i < many.size(); ++i) w.add("top", {fmt::format("s{}", i), 16, {}, &many[i]});
  w.write_header();
  for (std::size_t i = 0; i < many.size(); ++i) many[i].set(i, ps(static_cast<std::int64_t>(i)));
  w.finish(20'000_ps);
  const parsed p = parse_vcd(file_);
  ASSERT_EQ(p.by_id.size(), many.size());
  EXPECT_EQ(w.changes(), many.size());
  EXPECT_EQ(p.named("top.s19999").changes, (change_list{{19999, "100111000011111"}}));
}

// A unit that reports at random times ahead of the kernel, over several batches.
class noisy : public unit {
 public:
  probe value, valid;
  std::map<std::int64_t, std::uint64_t> expected;  // the last value given for each time

  explicit noisy(const sc_core::sc_module_name& n) : unit(n), random_(1, "noisy") {
    signals_.add("value", 12, value);
    signals_.add("valid", 1, valid);
    queue_.at(0_ps, {[](void* self) { static_cast<noisy*>(self)->step(); }, this});
  }

 private:
  void step() {
    for (int i = 0; i < 8; ++i) {
      const ps at = now() + ps(static_cast<std::int64_t>(random_.below(40'000)));
      const std::uint64_t v = random_.below(4096);
      value.set(v, at);
      expected[at.count()] = v;
    }
    valid.pulse(1, now(), 1_ps);
    if (now() < 20_us) queue_.at(now() + 1_ns, {[](void* self) { static_cast<noisy*>(self)->step(); }, this});
  }
  random_stream random_;
};

TEST_F(vcd_test, batches_keep_the_order_of_time) {
  wave_recorder recorder(std::make_unique<vcd_writer>(file_, "0.0"), {"*"});
  noisy unit_under_test("noisy");
  testing::run_until_idle();
  recorder.writer().finish(now());
  const parsed p = parse_vcd(file_);
  EXPECT_TRUE(p.times_increase);
  change_list expected;
  std::uint64_t shown = 1 << 20;
  for (const auto& [at, v] : unit_under_test.expected) {
    if (v == shown) continue;
    shown = v;
    std::string digits;
    for (std::uint64_t rest = v; rest || digits.empty(); rest >>= 1)
      digits.insert(digits.begin(), static_cast<char>('0' + (rest & 1)));
    expected.emplace_back(at, digits);
  }
  EXPECT_GT(expected.size(), 100'000U) << "several batches";
  EXPECT_EQ(p.named("noisy.value").changes, expected);
  EXPECT_EQ(p.named("noisy.valid").changes.size(), 1 + 2 * 20'001U) << "0 at the begin";
}

TEST_F(vcd_test, patterns_choose_signals) {
  const struct {
    std::vector<std::string> patterns;
    std::size_t signals;
  } cases[] = {{{"*"}, 4}, {{"a.value"}, 1}, {{"a"}, 2}, {{"*.valid"}, 2}, {{"a.valid", "b"}, 3}};
  noisy a("a");
  noisy b("b");
  std::vector<std::unique_ptr<wave_recorder>> recorders;
  for (const auto& r : cases) {
    recorders.push_back(std::make_unique<wave_recorder>(
        std::make_unique<vcd_writer>(folder_ / std::to_string(recorders.size()), "0.0"), r.patterns));
  }
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  for (std::size_t i = 0; i < recorders.size(); ++i) EXPECT_EQ(recorders[i]->writer().signals().size(), cases[i].signals) << i;
}

TEST_F(vcd_test, a_pattern_that_matches_nothing_is_an_input_error) {
  wave_recorder recorder(std::make_unique<vcd_writer>(file_, "0.0"), {"nosiy"});
  noisy unit_under_test("noisy");
  try {
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    FAIL() << "no error";
  } catch (const input_error& e) {
    EXPECT_STREQ(e.what(), "--trace nosiy: no signal has such a name; did you mean 'noisy'?");
  }
}

TEST_F(vcd_test, same_input_same_bytes) {
  for (const char* name : {"first", "second"}) {
    random_stream r(5, "bytes");
    probe a, b;
    vcd_writer w(folder_ / name, "0.0");
    w.add("top", {"a", 7, {}, &a});
    w.add("top", {"b", 1, {}, &b});
    w.write_header();
    for (int i = 0; i < 50'000; ++i) {
      a.set(r.below(128), ps(static_cast<std::int64_t>(r.below(1'000'000))));
      b.pulse(1, ps(static_cast<std::int64_t>(r.below(1'000'000))), 1_ps);
    }
    w.finish(1_us);
  }
  EXPECT_GT(fs::file_size(folder_ / "first"), 100'000U);
  EXPECT_EQ(content(folder_ / "first"), content(folder_ / "second"));
}

TEST_F(vcd_test, limit_stops_the_file) {
  probe a;
  vcd_writer w(file_, "0.0", 100'000);
  w.add("top", {"a", 32, {}, &a});
  w.write_header();
  for (int i = 0; i < 100'000; ++i) a.set(static_cast<std::uint64_t>(i), ps(i));
  w.finish(100'000_ps);
  EXPECT_LT(fs::file_size(file_), 100'200U);
  EXPECT_LT(w.stopped_at(), 100'000_ps);
  EXPECT_TRUE(parse_vcd(file_).times_increase);
}

TEST_F(vcd_test, unwritable_file) {
  EXPECT_THROW(vcd_writer("/no/such/folder/waves.vcd", "0.0"), input_error);
  probe a;
  vcd_writer full("/dev/full", "0.0");
  full.add("top", {"a", 1, {}, &a});
  full.write_header();
  EXPECT_THROW(full.finish(1_ns), input_error);
}

TEST_F(vcd_test, save_file_groups_units_and_names_values) {
  const std::vector<wave_signal> signals{{"system.node0.key_check", "state", 2, {"idle", "busy"}},
                                         {"system.node0.key_check", "valid", 1, {}},
                                         {"system.node1.key_check", "state", 2, {"idle", "busy"}},
                                         {"system.node1.key_check", "key", 32, {}}};
  write_gtkwave(folder_, "/final", "waves.vcd", signals, {3_us, 4_us, {{2_us, "first key check"}}});
  const std::string text = content(folder_ / "waves.gtkw");
  EXPECT_NE(text.find("[dumpfile] \"/final/waves.vcd\""), std::string::npos);
  EXPECT_NE(text.find("[timestart] 3000000\n"), std::string::npos);
  EXPECT_NE(text.find("*-19.931569 3000000 2000000 -1 -1 "), std::string::npos) << "1 us in a frame";
  EXPECT_NE(text.find("[markername] Afirst key check\n"), std::string::npos);
  EXPECT_NE(text.find("@800200\n-system.node0.key_check\n@2022\n^1 /final/gtkwave/state_0.txt\n[color] 7\n"
                      "system.node0.key_check.state[1:0]\n@28\n[color] 4\nsystem.node0.key_check.valid\n@1000200\n"
                      "-system.node0.key_check\n@c00200\n-system.node1.key_check\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(content(folder_ / "gtkwave/state_0.txt"), "0 idle\n1 busy\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "gtkwave"), fs::directory_iterator()), 1)
      << "one table for equal labels";
}

TEST_F(vcd_test, save_file_names_single_values) {
  std::vector<wave_signal> signals{{"system.node0.requester", "operation", 64, {}}};
  signals[0].names = std::make_shared<const value_names>(value_names{{(std::uint64_t{6} << 32) | 20, "6.20 WRITE of QP 33"}});
  write_gtkwave(folder_, "/final", "waves.vcd", signals, {});
  EXPECT_EQ(content(folder_ / "gtkwave/operation_0.txt"), "0000000600000014 6.20 WRITE of QP 33\n");
  EXPECT_NE(content(folder_ / "waves.gtkw").find("@2022\n^1 /final/gtkwave/operation_0.txt\n"), std::string::npos);
}

// Bursts of changes on many signals, up to 500 ns ahead of the kernel.
class busy : public unit {
 public:
  static constexpr int bursts = 40'000;
  static constexpr int changes_of_burst = 100;

  explicit busy(const sc_core::sc_module_name& n) : unit(n), watched_(200), plan_(1 << 16) {
    random_stream r(3, "busy");
    for (auto& [signal, ahead] : plan_) {
      signal = static_cast<std::uint32_t>(r.below(watched_.size()));
      ahead = ps(static_cast<std::int64_t>(r.below(500'000)));
    }
    for (std::size_t i = 0; i < watched_.size(); ++i) signals_.add(fmt::format("p{}", i), i % 2 ? 1 : 12, watched_[i]);
    queue_.at(0_ps, {[](void* self) { static_cast<busy*>(self)->burst(); }, this});
  }

 private:
  void burst() {
    for (int i = 0; i < changes_of_burst; ++i) {
      const auto& [signal, ahead] = plan_[count_ & 0xffff];
      watched_[signal].set(count_++, now() + ahead);
    }
    if (count_ < std::size_t{bursts} * changes_of_burst) {
      queue_.at(now() + 70_ns, {[](void* self) { static_cast<busy*>(self)->burst(); }, this});
    }
  }
  std::vector<probe> watched_;
  std::vector<std::pair<std::uint32_t, ps>> plan_;
  std::size_t count_ = 0;
};

TEST_F(vcd_test, a_change_costs_less_than_100_ns) {
#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
  GTEST_SKIP() << "measured in optimised builds only";
#endif
  wave_recorder recorder(std::make_unique<vcd_writer>("/dev/null", "0.0"), {"*"});
  busy unit_under_test("busy");
  const std::clock_t begin = std::clock();
  testing::run_until_idle();
  recorder.writer().finish(now());
  const double spent =
      1e9 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;  // CPU time of this process: other load does not count
  const double each = spent / (double{busy::bursts} * busy::changes_of_burst);
  std::printf("%.1f ns per change\n", each);
  // 35 to 45 ns when every change has a time of its own, as here; the bound leaves room for a loaded machine.
  EXPECT_LT(each, 100);
}

}  // namespace
}  // namespace hcasim
