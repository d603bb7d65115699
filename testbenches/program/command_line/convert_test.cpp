// `hcasim trace`: converts a recording into the one that the run itself could have made.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "testbenches/program/places/places.h"
#include "testbenches/program/selftest/read_waves.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class convert : public test_in_own_folder {
 protected:
  static outcome hcasim(const std::string& arguments) { return run_program(places::selftest, arguments); }
  static void good(const std::string& arguments) {
    const outcome o = hcasim(arguments);
    EXPECT_EQ(o.status, 0) << arguments << "\n" << o.text;
  }
  static void refused(const std::string& arguments, const std::string& message) {
    const outcome o = hcasim(arguments);
    EXPECT_EQ(o.status, 2) << arguments;
    EXPECT_EQ(o.text, fmt::format("hcasim: {}\n", message));
    EXPECT_FALSE(fs::exists("x.vcd") || fs::exists("x.fst") || fs::exists("x.vcd.partial")) << arguments;
  }
};

TEST_F(convert, gives_the_bytes_of_a_recording) {
  good("run count_ticks -o vcd --ticks 3000");
  good("run count_ticks -o fst --ticks 3000 --waves fst");
  good("trace vcd/waves.vcd a.fst");
  good("trace fst/waves.fst a.vcd");
  good("trace vcd/waves.vcd b.vcd");
  EXPECT_TRUE(file_content("a.fst") == file_content("fst/waves.fst"));
  EXPECT_TRUE(file_content("a.vcd") == file_content("vcd/waves.vcd"));
  EXPECT_TRUE(file_content("b.vcd") == file_content("vcd/waves.vcd"));
}

TEST_F(convert, filters_by_pattern_and_time) {
  good("run count_ticks -o whole --ticks 3000");
  const std::string part = "--from '1.0005 us' --until '2 us' --trace '*.valid' --trace node0.key_check.state";
  good("run count_ticks -o part --ticks 3000 " + part);
  good("trace whole/waves.vcd a.vcd " + part);
  EXPECT_GT(parse_vcd("a.vcd").by_id.size(), 1U);
  EXPECT_EQ(changes_by_name(parse_vcd("a.vcd")), changes_by_name(parse_vcd("part/waves.vcd")));
  EXPECT_TRUE(file_content("a.vcd") == file_content("part/waves.vcd"));
  good("trace whole/waves.vcd a.fst " + part);
  const parsed fst = parse_fst("a.fst");
  EXPECT_EQ(fst.begin, 1'000'500);
  EXPECT_EQ(fst.end, 2'000'000);
  EXPECT_EQ(changes_by_name(fst), changes_by_name(parse_vcd("part/waves.vcd")));
}

TEST_F(convert, other_tools_files) {
  std::ofstream("in.vcd") << "$date today $end $timescale 10ns $end\n$scope module t $end\n$var reg 70 ! wide[69:0] $end\n"
                             "$var wire 4 \" n [3:0] $end\n$var wire 1 # c $end\n$upscope $end $enddefinitions $end\n"
                             "b1 !\n#3\nbz \"\n1#\n$comment 1# is not a change $end\n#5\nb0x1 \"\nX#\n#9\n";
  good("trace in.vcd a.fst");
  good("trace a.fst b.vcd");
  const parsed b = parse_vcd("b.vcd");
  EXPECT_EQ(b.end, 90'000);
  EXPECT_EQ(b.named("t.wide").changes, (change_list{{0, "1"}}));
  EXPECT_EQ(b.named("t.wide").width, 70U);
  EXPECT_EQ(b.named("t.n").changes, (change_list{{30'000, "z"}, {50'000, "0x1"}}));
  EXPECT_EQ(b.named("t.c").changes, (change_list{{30'000, "1"}, {50'000, "x"}}));
}

TEST_F(convert, bad_input) {
  std::ofstream("good.vcd") << "$timescale 1 ps $end\n$scope module top $end\n$var wire 2 ! n [1:0] $end\n$upscope $end\n"
                               "$enddefinitions $end\n#0\nb1 !\n#7\n";
  std::ofstream("id.vcd") << file_content("good.vcd") << "b1 ?\n";
  std::ofstream("wide.vcd") << file_content("good.vcd") << "b111 !\n";
  std::ofstream("back.vcd") << file_content("good.vcd") << "#6\n";
  std::ofstream("text.vcd") << "hello\n";
  std::ofstream("empty.vcd");
  refused("trace missing.vcd x.vcd",
          "cannot read 'missing.vcd': No such file or directory; check the path and its permissions");
  refused("trace good.vcd no/x.vcd", "cannot write 'no/x.vcd': No such file or directory; choose another place");
  refused("trace good.vcd x.png", "'x.png': end the name in .vcd or .fst");
  refused("trace good.vcd x.vcd --trace tpo", "--trace tpo: no signal has such a name; did you mean 'top'?");
  refused("trace good.vcd x.vcd --from '8 ps'", "--from: the waveform ends before");
  refused("trace id.vcd x.vcd", "id.vcd:9: there is no signal '?'");
  refused("trace wide.vcd x.fst", "wide.vcd:9: 3 digits for a signal of 2 bits");
  refused("trace back.vcd x.vcd", "back.vcd:9: '#6' is not a later time");
  refused("trace text.vcd x.vcd", "text.vcd:1: 'hello' among the definitions");
  refused("trace empty.vcd x.vcd", "empty.vcd:1: there is no $enddefinitions: not a VCD file, or cut off");
  good("trace good.vcd good.fst");
  const std::string whole = file_content("good.fst");
  std::ofstream("cut.fst", std::ios::binary) << whole.substr(0, whole.size() - 20);
  refused("trace cut.fst x.vcd", "'cut.fst' is not a whole FST file");
  refused("trace good.vcd good.fst", "'good.fst' exists; add --force to replace it or choose another name");
  EXPECT_EQ(file_content("good.fst"), whole);
  good("trace good.vcd good.fst --force");
}

// The library for FST ends its process, or crashes, on data that does not unpack.
TEST_F(convert, a_damaged_file_is_named) {
  good("run count_ticks -o fst --ticks 3000 --waves fst");
  const std::string whole = file_content("fst/waves.fst");
  unsigned named = 0;
  for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 60) {
    std::string broken = whole;
    for (std::size_t i = at; i < std::min(at + 16, broken.size()); ++i) broken[i] = static_cast<char>(broken[i] ^ 0x5a);
    std::ofstream("broken.fst", std::ios::binary) << broken;
    const outcome o = hcasim("trace broken.fst x.vcd --force");
    EXPECT_TRUE(o.status == 0 || o.status == 2) << at << "\n" << o.text;
    if (o.status == 0) continue;
    EXPECT_NE(o.text.find("broken.fst"), std::string::npos) << o.text;
    ++named;
  }
  EXPECT_GT(named, 10U);
}

}  // namespace
}  // namespace hcasim
