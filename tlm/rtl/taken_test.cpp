// Forms of RTL that Verilator accepts in place of unsupported ones (docs/verilator.md), each behind a shell.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "rtl/taken_design.h"
#ifdef HCASIM_VHDL
#include "rtl/taken_scale_design.h"
#endif
#include "tlm/rtl/cover_group.h"
#include "tlm/rtl/coverage_file.h"
#include "tlm/rtl/shell.h"
#include "tlm/testing/simulate.h"

extern "C" int taken_add(int a, int b) {
  return a + b;
}

namespace hcasim::rtl {
namespace {

using namespace hcasim::testing;

// Sends beats with tag and value through a design; the answers in order.
class through {
 public:
  through(design_factory make, const shell_options& o, unsigned tag_bits, const char* in, const char* out)
      : rtl_("rtl", clock_domain(frequency{400e6}), make, o),
        in_(rtl_.into(in, tag_bits + 32)),
        out_(rtl_.out_of(out, tag_bits + 32)),
        tag_bits_(tag_bits) {
    out_.on_transfer = [this](const payload& p, std::uint64_t, ps) {
      rtl_.owe(-1);
      reader r(p);
      value.push_back(r.get32());
      tag.push_back(r.get32(tag_bits_));
    };
  }
  void send(unsigned with_tag, std::uint32_t v) {
    payload p;
    writer(p).put(v, 32).put(with_tag, tag_bits_);
    rtl_.owe(1);
    rtl_.push(in_, p, now());
  }
  open_shell& rtl() { return rtl_; }

  std::vector<std::uint32_t> value, tag;

 private:
  open_shell rtl_;
  stream &in_, &out_;
  unsigned tag_bits_;
};

shell_options with_stalls() {
  shell_options o;
  o.stall = 0.3;
  return o;
}

void drive(through& t) {
  t.rtl().strap("step2", 7);
  for (std::uint32_t i = 0; i < 100; ++i) t.send(i % 4 * 2, 20 * i);  // tags 0, 2, 4, 6: steps 0, 2, 0, 2
  run_for(10_us);
  ASSERT_EQ(t.value.size(), 100U);
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(t.tag[i], i % 4 * 2);
    EXPECT_EQ(t.value[i], 20 * i + (i % 2 ? 7 : 0));
  }
}

TEST(taken, interfaces_structures_delays_and_dpi_behind_plain_ports) {
  through t(make_taken_design, with_stalls(), 8, "in", "out");
  drive(t);
}

TEST(taken, cover_properties_and_bins_are_in_one_file_with_the_lines) {
  const std::string file = ::testing::TempDir() + "taken_" + std::to_string(getpid()) + ".dat";
  through t(make_taken_design, {}, 8, "in", "out");
  drive(t);
  ASSERT_TRUE(t.rtl().design().write_coverage(file));
  cover_group g("beats");
  cover_point& value = g.point("value").bin("small", 0, 999).bin("large", 1000, 0xffffffff);
  for (const std::uint32_t v : t.value) {
    value.set(v);
    g.sample();
  }
  g.append_to(file);
  coverage_file f;
  f.add(file);
  std::filesystem::remove(file);
  EXPECT_EQ(f.of("user", "taken_adder").points, 2U);
  EXPECT_EQ(f.of("user", "taken_adder").hit, 1U) << "c_large, and never c_never";
  EXPECT_GE(f.of("line", "taken_adder").hit, 3U);
  EXPECT_GT(f.of("toggle").hit, 50U);
  EXPECT_EQ(f.of("bin", "beats").hit, 2U);
}

// FST begins and ends with the file and has all content of VCD.
TEST(taken, a_waveform_is_vcd_or_fst_by_its_name) {
  const std::string file = ::testing::TempDir() + "taken_" + std::to_string(getpid()) + ".fst";
  {
    shell_options o;
    o.trace = file;
    through t(make_taken_design, o, 8, "in", "out");
    drive(t);
  }
  std::ifstream in(file, std::ios::binary);
  EXPECT_EQ(in.get(), 0) << "the block that an FST begins with";
  in.close();
  EXPECT_GT(std::filesystem::file_size(file), 500U);
  std::filesystem::remove(file);
}

#ifdef HCASIM_VHDL
TEST(taken, vhdl_by_way_of_ghdl) {
  through t(make_taken_scale_design, with_stalls(), 4, "req", "rsp");
  t.rtl().strap("factor", 5);
  for (std::uint32_t i = 0; i < 50; ++i) t.send(i % 16, i * 1000);
  run_for(10_us);
  ASSERT_EQ(t.value.size(), 50U);
  for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(t.value[i], i * 5000);
}
#endif

}  // namespace
}  // namespace hcasim::rtl
