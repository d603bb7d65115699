// The parts of hcasim_wrap on small headers and pieces of generated code. What it says to users is tested by
// configure_test.cmake.
#include <gtest/gtest.h>

#include "tlm/rtl/wrap/endpoint.h"
#include "tlm/rtl/wrap/generated_code.h"
#include "tlm/rtl/wrap/text.h"

namespace hcasim::wrap {
namespace {

constexpr const char* some_ports = R"(
    VL_IN8(&ck,0,0);
    VL_IN8(&rst,0,0);
    VL_IN8(&i_v,0,0);
    VL_OUT8(&i_busy,0,0);
    VL_IN16(&i_low,15,0);
    VL_INW(&i_high,127,0,4);
    VL_OUT8(&s_TVALID,0,0);
    VL_IN8(&s_tready,0,0);
    VL_OUT64(&s_tdata,63,0);
    VL_OUT8(&s_tkeep,7,0);
)";
const std::vector<std::string> around{"clock ck", "reset rst active_low"};

module_ports ports_of(const std::string& text, const std::string& code = {}) {
  return module_ports(text, code);
}

// Returns the lines that the pins make, or why they are refused.
std::string made_of(std::vector<std::string> more, const std::string& text = some_ports) {
  try {
    const module_ports ports = ports_of(text);
    pins p(ports, "top");
    more.insert(more.begin(), around.begin(), around.end());
    p.read(more);
    return p.lines();
  } catch (const refusal& r) {
    return r.what();
  }
}

TEST(wrap, reads_ports_with_their_directions_and_widths) {
  const module_ports ports = ports_of(some_ports);
  ASSERT_EQ(ports.all().size(), 10U);
  EXPECT_EQ(ports.find("i_high")->bits, 128U);
  EXPECT_FALSE(ports.find("i_high")->output);
  EXPECT_TRUE(ports.find("i_busy")->output);
  EXPECT_EQ(ports.find("nothing"), nullptr);
  EXPECT_EQ(ports.find_any_case("S_Tvalid")->name, "s_TVALID");
}

TEST(wrap, refuses_ports_that_no_pin_can_drive) {
  const auto why = [](const char* text, const char* code) -> std::string {
    try {
      ports_of(text, code);
      return "taken";
    } catch (const refusal& r) {
      return r.what();
    }
  };
  EXPECT_EQ(why("    VL_IN8(&d,0,0);\n", "vlSelf->d = 1;"), "taken");
  EXPECT_NE(why("    VL_IN8(&d,0,0);\n", "vlSelf->d.__PVT__a = 1;").find("port d is an unpacked structure"), std::string::npos);
  EXPECT_NE(why("    VL_IN8((&d)[4],7,0);\n", "").find("port d is an unpacked array"), std::string::npos);
  EXPECT_NE(why("    VL_INOUT8(&d,0,0);\n", "").find("port d is an inout"), std::string::npos);
}

TEST(wrap, makes_a_line_of_each_pin) {
  EXPECT_EQ(
      made_of({"in in valid=i_v ready=!i_busy data=i_low[3:0],i_high fifo", "axis s = s_*", "strap low i_low"}),
      "    add_clock(\"ck\", 1., 0.);\n"
      "    add_reset(\"rst\", true, -1);\n"
      "    add_bundle({.into = true, .inverted = false, .busy = true, .fifo = true, .late = false, .credits = 0, .clock = 0}, "
      "\"in\", \"i_v\", \"i_busy\", {\"i_low[3:0]\", \"i_high\", }, \"\");\n"
      "    add_bundle({.into = false, .clock = 0, .names = {\"data\", \"keep\", }}, \"s.t\", \"s_TVALID\", \"s_tready\", "
      "{\"s_tdata\", \"s_tkeep\", }, \"\");\n"
      "    add_endpoint(\"axis\", \"s\", false);\n"
      "    add_strap(\"low\", \"i_low\");\n");
}

TEST(wrap, takes_the_period_of_a_clock_as_a_ratio) {
  const std::string more = std::string(some_ports) + "    VL_IN8(&fast,0,0);\n";
  const std::vector<std::string> rest{"in in valid=i_v data=i_low,i_high", "axis s = s_*"};
  const auto line = [&](const std::string& clock) {
    std::vector<std::string> all = rest;
    all.insert(all.begin(), clock);
    const std::string text = made_of(all, more);
    const std::size_t at = text.find("add_clock(\"fast\"");
    return at == std::string::npos ? text : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(line("clock fast period=2/3 phase=1.5"), "add_clock(\"fast\", 2./3., 1.5);");
  EXPECT_EQ(line("clock fast period=0"), "clock fast: a period of 0");
  EXPECT_EQ(line("clock fast period=1/0"), "clock fast: '1/0' is no number, and no N/M");
  EXPECT_EQ(line("clock fast period=1/2/3"), "clock fast: '1/2/3' is no number, and no N/M");
  EXPECT_EQ(line("clock fast speed=2"), "clock fast: 'speed=2' is not period= or phase=");
}

TEST(wrap, names_every_input_that_nothing_drives) {
  EXPECT_EQ(
      made_of({"in in valid=i_v data=i_low"}),
      "nothing drives these inputs: i_high, s_tready; name them in PINS. Inputs of top: ck, rst, i_v, i_low, i_high, s_tready");
}

// Returns the form in which Verilator 5.006 has a register behind a clock.
std::string code_with(const std::string& trigger, const std::string& more = {}) {
  return "void Vx___024root___eval_triggers__act(Vx___024root* vlSelf) {\n    vlSelf->__VactTriggered.at(0U) = " + trigger +
         ";\n    vlSelf->__Vtrigrprev__TOP__ck = vlSelf->ck;\n}\n" +
         "VL_INLINE_OPT void Vx___024root___eval_act(Vx___024root* vlSelf) {\n    if (false && vlSelf) {}  // Prevent unused\n"
         "    Vx__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;\n    VL_DEBUG_IF(VL_DBG_MSGF(\"+\\n\"); "
         ");\n}\n" +
         more;
}
constexpr const char* clock_rises = "((IData)(vlSelf->ck) & (~ (IData)(vlSelf->__Vtrigrprev__TOP__ck)))";

TEST(wrap, finds_steps_where_clocks_only_rise) {
  const auto found = find_steps(code_with(clock_rises), "x", {"ck"}, {"rst"});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->inputs_pass);
  EXPECT_EQ(found->triggers, "    triggered.at(0U) = (of_clocks & 1U) != 0;\n");
  const std::string reset = "((~ (IData)(vlSelf->rst)) & (IData)(vlSelf->__Vtrigrprev__TOP__rst))";
  EXPECT_TRUE(find_steps(code_with("(" + std::string(clock_rises) + " | " + reset + ")"), "x", {"ck"}, {"rst"}));
}

TEST(wrap, finds_no_steps_where_more_happens) {
  const std::string falls = "((~ (IData)(vlSelf->ck)) & (IData)(vlSelf->__Vtrigrprev__TOP__ck))";
  EXPECT_FALSE(find_steps(code_with(falls), "x", {"ck"}, {}));
  EXPECT_FALSE(find_steps(code_with(clock_rises, "void f() {\n    vlSelf->a = vlSelf->ck;\n}\n"), "x", {"ck"}, {}));
  EXPECT_TRUE(find_steps(code_with(clock_rises, "void f() {\n    vlSelf->a = vlSelf->ck_enable;\n}\n"), "x", {"ck"}, {}));
  EXPECT_FALSE(find_steps("", "x", {"ck"}, {}));
}

TEST(wrap, lets_fall_what_no_register_reads) {
  const std::string passes = "    vlSelf->o = (vlSelf->v & vlSelf->w);\n";
  const std::string code = "void Vx___024root___ico_sequent__TOP__0(Vx___024root* vlSelf) {\n" + passes + "}\n" +
                           "void Vx___024root___nba_sequent__TOP__0(Vx___024root* vlSelf) {\n    vlSelf->r = vlSelf->w;\n" +
                           passes + "}\n";
  EXPECT_EQ(find_falling(code, {"v", "w", "v[1]"}), std::vector<std::string>{"v"});
  EXPECT_TRUE(find_falling(code + "    __VnbaTriggered.at(1U)", {"v"}).empty());
}

}  // namespace
}  // namespace hcasim::wrap
