// FST beside VCD: the same changes, bytes that repeat, the time window, the limit and what goes wrong.
#include "testbenches/program/recording/fst.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/recording/vcd.h"
#include "testbenches/program/selftest/read_waves.h"
#include "testbenches/program/testing/run_program.h"
#include "tlm/base/random.h"
#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

// Signals of many widths in nested scopes, changed in any order of time.
class signals {
 public:
  static constexpr unsigned widths[] = {1, 2, 7, 8, 9, 31, 32, 33, 63, 64};

  void attach(wave_writer& w) {
    for (std::size_t i = 0; i < probes_.size(); ++i) {
      w.add(i % 3 ? "top.a.b" : "top.a", {fmt::format("s{}", i), widths[i % std::size(widths)], {}, &probes_[i]});
    }
    w.write_header();
  }
  void change(int changes, std::int64_t until) {
    random_stream r(11, "waves");
    for (int i = 0; i < changes; ++i) {
      probe& p = probes_[r.below(probes_.size() - 1)];  // the last one is never set
      p.set(r.next() >> r.below(64), ps(static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(until)))));
    }
  }

 private:
  std::vector<probe> probes_{20};
};

class fst_test : public ::testing::Test {
 protected:
  fst_test() { fs::create_directories(folder_); }
  ~fst_test() override { fs::remove_all(folder_); }

  fs::path write(wave_format format, const char* name, int changes, const wave_window& window = {}, std::uint64_t limit = 0) {
    const auto w = make_wave_writer(format, folder_ / name, "0.0", limit, window);
    signals s;
    s.attach(*w);
    s.change(changes, 1'000'000);
    w->finish(1'100_ns);
    stopped_at_ = w->stopped_at();
    return folder_ / name;
  }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("hcasim_fst_{}", ::getpid());
  ps stopped_at_ = never;
};

TEST_F(fst_test, holds_what_the_vcd_holds) {
  const parsed vcd = parse_vcd(write(wave_format::vcd, "a.vcd", 300'000));
  const parsed fst = parse_fst(write(wave_format::fst, "a.fst", 300'000));
  EXPECT_TRUE(fst.times_increase);
  EXPECT_EQ(fst.begin, 0);
  EXPECT_EQ(fst.end, 1'100'000);
  EXPECT_EQ(fst.end, vcd.end);
  const auto expected = changes_by_name(vcd);
  EXPECT_EQ(expected.size(), 20U);
  EXPECT_GT(expected.at("top.a.b.s1").size(), 1000U);
  EXPECT_TRUE(expected.at("top.a.b.s19").empty());
  EXPECT_EQ(changes_by_name(fst), expected);
  for (const auto& [id, s] : fst.by_id) EXPECT_TRUE(s.starts_unknown) << s.full_name;
}

TEST_F(fst_test, same_input_same_bytes_and_no_date) {
  const std::string first = file_content(write(wave_format::fst, "a.fst", 300'000));
  const std::string second = file_content(write(wave_format::fst, "b.fst", 300'000));
  EXPECT_GT(first.size(), 100'000U);
  EXPECT_TRUE(first == second);
  EXPECT_EQ(first.substr(74, 10), "hcasim 0.0");
  EXPECT_EQ(first.substr(202, 119), std::string(119, '\0'));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2) << "nothing is left beside them";
}

// The window holds the part of the whole run, and at its begin the values that the signals have then.
TEST_F(fst_test, the_window_cuts) {
  constexpr std::int64_t from = 400'000;
  constexpr std::int64_t until = 600'000;
  const auto whole = changes_by_name(parse_vcd(write(wave_format::vcd, "whole.vcd", 20'000)));
  std::map<std::string, change_list> expected;
  for (const auto& [name, list] : whole) {
    change_list& cut = expected[name];
    for (const auto& [at, value] : list) {
      if (at <= from) {
        cut = {{from, value}};
      } else if (at < until) {
        cut.emplace_back(at, value);
      }
    }
  }
  const wave_window window{ps(from), ps(until)};
  const parsed vcd = parse_vcd(write(wave_format::vcd, "cut.vcd", 20'000, window));
  const parsed fst = parse_fst(write(wave_format::fst, "cut.fst", 20'000, window));
  for (const parsed* p : {&vcd, &fst}) {
    EXPECT_EQ(p->begin, from);
    EXPECT_EQ(p->end, until);
    EXPECT_TRUE(p->times_increase);
    EXPECT_EQ(changes_by_name(*p), expected);
  }
}

TEST_F(fst_test, a_window_after_the_last_change_holds_the_last_values) {
  const auto whole = changes_by_name(parse_vcd(write(wave_format::vcd, "whole.vcd", 1'000)));
  for (const wave_format format : {wave_format::vcd, wave_format::fst}) {
    const fs::path file = write(format, "late", 1'000, {1'050_ns, never});
    const parsed late = format == wave_format::vcd ? parse_vcd(file) : parse_fst(file);
    EXPECT_EQ(late.begin, 1'050'000);
    EXPECT_EQ(late.end, 1'100'000);
    for (const auto& [name, list] : changes_by_name(late)) {
      change_list expected;
      if (!whole.at(name).empty()) expected = {{1'050'000, whole.at(name).back().second}};
      EXPECT_EQ(list, expected) << name;
    }
  }
}

TEST_F(fst_test, limit_stops_the_file) {
  const auto whole = changes_by_name(parse_fst(write(wave_format::fst, "whole.fst", 600'000)));
  ASSERT_GT(fs::file_size(folder_ / "whole.fst"), 1'000'000U);
  const fs::path file = write(wave_format::fst, "a.fst", 600'000, {}, 500'000);
  EXPECT_LE(fs::file_size(file), 500'000U);
  EXPECT_GT(fs::file_size(file), 400'000U);
  EXPECT_GT(stopped_at_, 100_ns);
  EXPECT_LT(stopped_at_, 900_ns);
  for (const auto& [name, list] : changes_by_name(parse_fst(file))) {
    const change_list& all = whole.at(name);
    ASSERT_LE(list.size(), all.size());
    EXPECT_TRUE(std::equal(list.begin(), list.end(), all.begin())) << name;
  }
}

TEST_F(fst_test, unwritable_file) {
  EXPECT_THROW(fst_writer("/no/such/folder/waves.fst", "0.0"), input_error);
  EXPECT_THROW(fst_writer("/dev/null", "0.0"), input_error);
  EXPECT_TRUE(fs::is_character_file("/dev/null")) << "a device is left alone";
}

// The system refuses to let the file grow, as on a full disk.
TEST_F(fst_test, a_file_that_cannot_grow) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{16'384, 16'384};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(write(wave_format::fst, "a.fst", 100'000), input_error);
}

}  // namespace
}  // namespace hcasim
