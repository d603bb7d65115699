// VCD of other tools: each form is read rightly, or refused with its line.
#include <unistd.h>

#include <map>
#include <set>
#include <sstream>

#include "testbenches/program/selftest/read_waves.h"
#include "testbenches/program/selftest/selftest_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

const std::string in_ps = "$timescale 1 ps $end\n";
const std::string scope_t = "$scope module t $end\n";
const std::string defined = "$upscope $end\n$enddefinitions $end\n";

class vcd_forms : public selftest_program {
 protected:
  // Returns the changes of one signal after `hcasim trace` has read the text.
  static change_list changes(const std::string& text, const std::string& name = "t.a") {
    file("in.vcd", text);
    const outcome o = hcasim("trace in.vcd out.vcd --force");
    EXPECT_EQ(o.status, 0) << o.text << text;
    const outcome back = hcasim("trace in.vcd out.fst --force");
    EXPECT_EQ(back.status, 0) << back.text;
    EXPECT_EQ(hcasim("trace out.fst back.vcd --force").status, 0);
    EXPECT_EQ(sorted_lines("out.vcd"), sorted_lines("back.vcd")) << text;
    return parse_vcd("out.vcd").named(name).changes;
  }
  // An FST keeps no order within one time.
  static std::multiset<std::string> sorted_lines(const std::string& name) {
    std::istringstream in(content(name));
    std::multiset<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.insert(line);
    return lines;
  }
  static std::string one_bit(const std::string& rest) { return in_ps + scope_t + "$var wire 1 ! a $end\n" + defined + rest; }
  static std::string eight_bits(const std::string& rest) {
    return in_ps + scope_t + "$var reg 8 ! a [7:0] $end\n" + defined + rest;
  }
};

TEST_F(vcd_forms, are_read) {
  const change_list two{{3, "1"}, {5, "0"}};
  const std::string values = "#3\n1!\n#5\n0!\n";
  EXPECT_EQ(changes(one_bit(values)), two);
  EXPECT_EQ(changes("\xef\xbb\xbf" + one_bit(values)), two) << "a byte order mark";
  std::string crlf = one_bit(values);
  for (std::size_t at = 0; (at = crlf.find('\n', at)) != std::string::npos; at += 2) crlf.replace(at, 1, "\r\n");
  EXPECT_EQ(changes(crlf), two);
  EXPECT_EQ(changes(one_bit("$comment 1! $end #3 $comment #9 $end 1! $comment $end\n#5 0!")), two) << "comments, one line";
  EXPECT_EQ(changes("$date x $end $comment a $scope $end\n" + in_ps + "$attrbegin misc 2 e 1 $end\n" + scope_t +
                    "$comment b $end $var logic 1 ! a $end\n" + defined + values),
            two);
  EXPECT_EQ(changes(one_bit("#0\n$dumpvars\n0!\n$end\n#3\n1!\n#4\n$dumpoff\nx!\n$end\n#6\n$dumpon\n1!\n$end\n#7\n$dumpall\n"
                            "1!\n$end\n$vcdclose #9 $end\n")),
            (change_list{{0, "0"}, {3, "1"}, {4, "x"}, {6, "1"}}));
  EXPECT_EQ(parse_vcd("out.vcd").end, 9);
  EXPECT_EQ(changes(one_bit("#0\n$dumpvars\n0!\n#3\n1!\n")), (change_list{{0, "0"}, {3, "1"}})) << "a block without its $end";
  EXPECT_EQ(changes(one_bit("1!\n#5\n0!\n")), (change_list{{0, "1"}, {5, "0"}})) << "a value before any time";
}

TEST_F(vcd_forms, values_of_every_kind) {
  EXPECT_EQ(changes(eight_bits("#1\nb1x0 !\n#2\nBZ !\n#3\nbx1 !\n#4\nb00001111 !\n#5\n1!\n#6\nX!\n")),
            (change_list{{1, "1x0"}, {2, "z"}, {3, "x1"}, {4, "1111"}, {5, "1"}, {6, "x"}}));
  EXPECT_EQ(changes(eight_bits("#1\nbUWLH-lhz !\n")), (change_list{{1, "x01x01z"}}))
      << "nine values are four, and a repeated x is one";
  for (const char* kind : {"wire", "reg", "logic", "parameter", "integer", "supply1", "tri", "bit", "trireg", "localparam"}) {
    EXPECT_EQ(changes(in_ps + scope_t + fmt::format("$var {} 1 ! a $end\n", kind) + defined + "#3\n1!\n"),
              (change_list{{3, "1"}}))
        << kind;
  }
}

TEST_F(vcd_forms, times_of_every_scale) {
  const std::map<std::string, std::int64_t> scales{{"1 fs", 0},
                                                   {"10fs", 0},
                                                   {"100 fs", 0},
                                                   {"1ps", 1},
                                                   {"100\nps", 100},
                                                   {"1 ns", 1'000},
                                                   {"10us", 10'000'000},
                                                   {"100 ms", 100'000'000'000},
                                                   {"1 s", 1'000'000'000'000}};
  for (const auto& [scale, factor] : scales) {
    const std::string text = fmt::format("$timescale {} $end\n", scale) + scope_t + "$var wire 1 ! a $end\n" + defined;
    if (factor != 0) {
      EXPECT_EQ(changes(text + "#3\n1!\n"), (change_list{{3 * factor, "1"}})) << scale;
    } else {
      EXPECT_EQ(changes(text + "#3000\n1!\n")[0].first, 3000 / (scale[1] == ' ' ? 1000 : scale == "10fs" ? 100 : 10)) << scale;
    }
  }
  EXPECT_EQ(changes(one_bit("#9223372036854775806\n1!\n")), (change_list{{9223372036854775806, "1"}}));
}

// One identifier in several scopes, ranges that begin elsewhere, bits one by one, elements of arrays.
TEST_F(vcd_forms, names) {
  const std::string text = in_ps + scope_t +
                           "$var wire 4 ! n [7:4] $end\n$var wire 1 \" m [2] $end\n$var wire 1 # m [1] $end\n"
                           "$var reg 8 % mem[3][7:0] $end\n$scope begin \\odd/name $end\n$var wire 4 ! same [3:0] $end\n"
                           "$upscope $end\n" +
                           defined + "#1\nb101 !\n1\"\n0#\nb1 %\n";
  EXPECT_EQ(changes(text, "t.n"), (change_list{{1, "101"}}));
  EXPECT_EQ(parse_vcd("out.vcd").named("t.\\odd/name.same").changes, (change_list{{1, "101"}}));
  const std::string out = content("out.vcd");
  for (const char* line : {" n [7:4] $end\n", "$var wire 1 \" m [2] $end\n", " m [1] $end\n", " mem[3] [7:0] $end\n"})
    EXPECT_NE(out.find(line), std::string::npos) << line << out;
}

// Each trigger of an event is one, also when nothing else changes; values in blocks are none.
TEST_F(vcd_forms, events_keep_their_triggers) {
  const std::string text = in_ps + scope_t + "$var event 1 ! a $end\n$var wire 1 \" w $end\n" + defined +
                           "#0\n$dumpvars\nx!\n0\"\n$end\n#2\n1!\n#4\n1!\n#7\n1!\n1!\n#8\n$dumpall\n1!\n0\"\n$end\n#9\n1\"\n";
  const change_list triggers{{2, "1"}, {4, "1"}, {7, "1"}};
  EXPECT_EQ(changes(text), triggers);
  EXPECT_NE(content("out.vcd").find("$var event 1 ! a $end"), std::string::npos);
  EXPECT_EQ(hcasim("trace in.vcd part.vcd --from '3 ps' --until '7 ps'").status, 0);
  EXPECT_EQ(parse_vcd("part.vcd").named("t.a").changes, (change_list{{4, "1"}}));
  EXPECT_EQ(changes(in_ps + scope_t + "$var event 1 ! a $end\n" + defined + "#0\n1!\n#1\n1!\n"),
            (change_list{{0, "1"}, {1, "1"}}));
}

TEST_F(vcd_forms, ports_of_extended_vcd_are_their_values) {
  const std::string text =
      in_ps + scope_t + "$var port 1 <0 a $end\n$var port [3:0] <1 b $end\n" + defined +
      "#0\n$dumpports\npN 6 6 <0\npNNNN 6666 6666 <1\n$end\n#3\npU 0 6 <0\npDLHZ 6606 0060 <1\n#4\n$dumpportsoff\n"
      "px 6 6 <0\n$end\n";
  file("in.vcd", text);
  EXPECT_EQ(hcasim("trace in.vcd x.vcd").text, "hcasim: in.vcd:17: 'px' is not a value of a port\n");
  std::string good = text;
  good.replace(good.find("px"), 2, "pX");
  EXPECT_EQ(changes(good), (change_list{{3, "1"}, {4, "x"}}));
  EXPECT_EQ(parse_vcd("out.vcd").named("t.b").changes, (change_list{{3, "1z"}})) << "001z without its zeros";
}

TEST_F(vcd_forms, what_is_not_read_is_refused_with_its_line) {
  const struct {
    std::string text;
    std::string message;
  } cases[] = {
      {one_bit("#18446744073709551616\n"),
       "6: '#18446744073709551616' is beyond 2^63 ps (106 days), the latest time that is read"},
      {one_bit("#9223372036854775807\n"),
       "6: '#9223372036854775807' is beyond 2^63 ps (106 days), the latest time that is read"},
      {"$timescale 1 s $end\n" + scope_t + "$var wire 1 ! a $end\n" + defined + "#1\n1!\n#9223373\n0!\n",
       "8: '#9223373' is beyond 2^63 ps (106 days), the latest time that is read"},
      {"$timescale 100 fs $end\n" + scope_t + defined + "#15\n",
       "5: '#15' is not a whole number of picoseconds, the finest time that is read"},
      {one_bit("#1.5\n"), "6: '#1.5' is not a time"},
      {one_bit("#-1\n"), "6: '#-1' is not a time"},
      {one_bit("#\n"), "6: '#' is not a time"},
      {one_bit("# 1\n"), "6: '#' is not a time"},
      {in_ps + "\n$scope\n t $end\n" + defined, "3: a $scope has a kind and a name: write '$scope module NAME $end'"},
      {in_ps + "$scope module t u $end\n" + defined, "2: a $scope has a kind and a name: write '$scope module NAME $end'"},
      {in_ps + "$upscope $end\n", "2: no $scope is open that this $upscope could close"},
      {scope_t + defined, "3: there is no $timescale before: write for example '$timescale 1 ns $end'"},
      {"$timescale 2 ns $end\n", "1: the time scale '2ns' is not read; it is 1, 10 or 100 of fs, ps, ns, us, ms or s"},
      {"$timescale 1 as $end\n", "1: the time scale '1as' is not read; it is 1, 10 or 100 of fs, ps, ns, us, ms or s"},
      {"$timezero 5 $end\n", "1: a $timezero other than 0 is not read"},
      {"$nonsense $end\n", "1: '$nonsense' is a definition that is not read"},
      {in_ps + scope_t + "$var real 64 ! a $end\n", "3: 'a' is a real; only bits are read"},
      {in_ps + scope_t + "$var realtime 64 ! a $end\n", "3: 'a' is a realtime; only bits are read"},
      {in_ps + scope_t + "$var string 1 ! a $end\n", "3: 'a' is a string; only bits are read"},
      {in_ps + scope_t + "$var wire 0 ! a $end\n", "3: '0' is not a width"},
      {in_ps + scope_t + "$var wire many ! a $end\n", "3: 'many' is not a width"},
      {in_ps + scope_t + "$var port [a:0] ! a $end\n", "3: '[a:0]' is not a width"},
      {in_ps + scope_t + "$var wire 1 ! $end\n", "3: a $var has a kind, a width, an identifier and a name"},
      {in_ps + scope_t + "$var event 2 ! a $end\n", "3: 'a' is an event of 2 bits"},
      {in_ps + scope_t + "$var wire 1 ! a\n", "3: there is no $end of $var: the file is cut off"},
      {one_bit("#1\nr1.5 !\n"), "7: 'r1.5' is a real number or a string; only bits are read"},
      {one_bit("#1\nsword !\n"), "7: 'sword' is a real number or a string; only bits are read"},
      {one_bit("#1\nb1\n"), "8: a value without a signal"},
      {one_bit("#1\n2!\n"), "7: '2' is not a value"},
      {one_bit("#1\n1\n"), "7: there is no signal ''"},
      {one_bit("#1\n$dumpvars\n1!\n"), "7: this block of values has no $end: the file is cut off"},
      {one_bit("#1\n$comment 1!\n"), "7: there is no $end of $comment: the file is cut off"},
      {one_bit("#1\n$scope module u $end\n"), "7: '$scope' is not read among the changes"},
      {one_bit(std::string("#1\n1!\n#2\n\0\0\0\n0!\n", 16)), "9: a byte 0x00 stands here: the file is damaged, or no VCD"},
      {"\xff\xfe$\0", "1: this is UTF-16; save it as UTF-8 or ASCII"},
      {"\xef\xbb"
       "$",
       "1: this is neither ASCII nor UTF-8"},
      {"<html>\xc3\x28" + std::string(60, 'a'), "1: '<html>?(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...' among the definitions"},
      {std::string(2'000'000, 'a'), "1: '" + std::string(40, 'a') + "...' is longer than any word of a VCD"},
      {"", "1: there is no $enddefinitions: not a VCD file, or cut off"}};
  file("in.vcd", "");
  for (const auto& c : cases) {
    file("in.vcd", c.text);
    refused("trace in.vcd x.vcd", "in.vcd:" + c.message);
  }
}

TEST_F(vcd_forms, files_of_other_kinds_are_named) {
  const std::map<std::string, std::string> cases{{"\x1f\x8b\b", "it is compressed by gzip; unpack it first: gunzip"},
                                                 {"BZh9", "it is compressed by bzip2; unpack it first: bunzip2"},
                                                 {"\xfd"
                                                  "7zXZ",
                                                  "it is compressed by xz; unpack it first: unxz"},
                                                 {"\x28\xb5\x2f\xfd", "it is compressed by zstd; unpack it first: unzstd"},
                                                 {"PK\x03\x04", "it is a zip archive; unpack it first: unzip"},
                                                 {"GHDLwave\n", "it is a GHW file; record VCD or FST"}};
  file("in.vcd", "");
  for (const auto& [text, message] : cases) {
    file("in.vcd", text);
    refused("trace in.vcd x.vcd", "cannot read 'in.vcd': " + message);
  }
  refused("trace . x.vcd", "cannot read '.': it is a folder; name a VCD or FST file");
  refused("trace missing.vcd x.vcd",
          "cannot read 'missing.vcd': No such file or directory; check the path and its permissions");
  refused("trace /dev/null x.vcd", "cannot read '/dev/null': it is not an ordinary file; write it into one first");
}

}  // namespace
}  // namespace hcasim
