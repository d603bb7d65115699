// RTL and foreign code may end the run or the process: the end is reported with unit, design, time and cycle, and is no
// success.
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): raise is POSIX
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <tuple>

#include "rtl/ender_checked_design.h"
#include "rtl/ender_design.h"
#include "tlm/base/ending.h"
#include "tlm/base/reports.h"
#include "tlm/rtl/shell.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

enum ending_of_rtl : unsigned { none, finish, stop, fatal, error, display = 6, assertion, finish_again, display_by_descriptor };

class ender : public shell {
 public:
  ender(const char* name, design_factory make, unsigned how, unsigned when, const shell_options& o = {})
      : shell(name, clock_domain(frequency{250e6}), make, o), in_(into("in", 8)), out_(out_of("out", 8)) {
    strap("how", how);
    strap("when", when);
    out_.on_transfer = [this](const payload&, std::uint64_t, ps) {
      owe(-1);
      ++answers;
    };
    on_violation = [this](const std::string& what) { violations.push_back(what); };
  }
  void ask(unsigned n) {
    for (unsigned i = 0; i < n; ++i) {
      payload p;
      writer(p).put(i, 8);
      owe(1);
      push(in_, p, now());
    }
  }
  unsigned answers = 0;
  std::vector<std::string> violations;

 private:
  stream &in_, &out_;
};

std::string ended_by(design_factory make, unsigned how, bool steps = true) {
  shell_options o;
  o.steps = steps;
  ender e("unit", make, how, 20, o);
  e.ask(100);
  testing::run_until_idle();
  EXPECT_LT(e.answers, 100U);
  EXPECT_EQ(e.violations.size(), 1U) << "once, and no edge after it";
  return e.violations.empty() ? "" : e.violations.front();
}

// Cycle 20 of the RTL is counted from the last edge in reset.
const std::string at_19 = ", 76 ns, cycle 19: ";

TEST(endings, finish_breaks_the_run) {
  EXPECT_EQ(ended_by(make_ender_design, finish), "unit (ender_design)" + at_19 + "$finish at 'ender.sv:27'");
}
TEST(endings, finish_breaks_the_run_as_a_whole) {
  EXPECT_EQ(ended_by(make_ender_design, finish, false), "unit (ender_design)" + at_19 + "$finish at 'ender.sv:27'");
}
// Verilator's own function ends the process at the second one.
TEST(endings, finish_at_every_cycle_breaks_the_run_once) {
  EXPECT_EQ(ended_by(make_ender_design, finish_again), "unit (ender_design)" + at_19 + "$finish at 'ender.sv:32'");
}
TEST(endings, stop_breaks_the_run) {
  EXPECT_EQ(ended_by(make_ender_design, stop), "unit (ender_design)" + at_19 + "$stop at 'ender.sv:28'");
}
// Verilator 5.006 prints $fatal as it does $error.
TEST(endings, fatal_is_named_with_its_text) {
  const std::string kind = std::string_view(HCASIM_VERILATOR) == "5.006" ? "assertion" : "$fatal in";
  EXPECT_EQ(
      ended_by(make_ender_checked_design, fatal),
      "unit (ender_checked_design)" + at_19 + kind + " 'ender_checked_design.ender, ender.sv:29' failed: no way at 76000");
}
TEST(endings, error_is_named_with_its_text) {
  EXPECT_EQ(ended_by(make_ender_checked_design, error),
            "unit (ender_checked_design)" + at_19 + "assertion 'ender_checked_design.ender, ender.sv:30' failed: odd 18");
}
TEST(endings, an_assertion_keeps_its_name) {
  EXPECT_EQ(ended_by(make_ender_checked_design, assertion),
            "unit (ender_checked_design)" + at_19 +
                "assertion 'ender_checked_design.ender.never_seven, ender.sv:37' failed: 'assert' failed.");
}

TEST(endings, are_those_of_the_design_that_has_ended) {
  ender first("first", make_ender_design, finish, 20);
  ender second("second", make_ender_design, none, 20);
  first.ask(30);
  second.ask(30);
  testing::run_until_idle();
  EXPECT_EQ(first.violations.size(), 1U);
  EXPECT_EQ(second.violations, std::vector<std::string>());
  EXPECT_EQ(second.answers, 30U);
}

// Results go to standard output, so the RTL's text does not.
TEST(endings, text_of_the_rtl_goes_to_standard_error_with_simulated_time) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  ender e("unit", make_ender_design, display, 20);
  e.ask(30);
  testing::run_until_idle();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "it is 76000\n");
}
TEST(endings, text_of_the_rtl_for_the_descriptor_of_standard_output_goes_to_standard_error) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  ender e("unit", make_ender_design, display_by_descriptor, 20);
  e.ask(30);
  testing::run_until_idle();
  std::fflush(nullptr);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "as one, as two\n");
}

// The kernel's own handler shows a violation with simulated time, which is ahead of the kernel's.
TEST(endings, without_a_handler_a_violation_is_a_report_in_simulated_time) {
  ender e("unit", make_ender_design, finish, 20);
  e.on_violation = nullptr;
  std::string text;
  static std::string* shown = &text;
  sc_core::sc_report_handler::set_handler([](const sc_core::sc_report& r, const sc_core::sc_actions&) { *shown = text_of(r); });
  e.ask(30);
  run_simulation();
  EXPECT_NE(text.find("unit (ender_design)" + at_19), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(" @ 76 ns")) << text;
}

// --- processes

struct process_end {
  int status;
  std::string said;
};

process_end in_process(const std::function<void()>& work) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    work();
    std::exit(0);  // the way that a test program ends
  }
  ::close(ends[1]);
  process_end e{};
  char text[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], text, sizeof text)) > 0;) e.said.append(text, static_cast<std::size_t>(n));
  ::close(ends[0]);
  ::waitpid(child, &e.status, 0);
  return e;
}

// A C++ design as from a shared object: at its 20th clock it calls Do.
template <void (*Do)()>
class own_design final : public design {
 public:
  own_design() {
    for (auto [n, bits, output, at] : std::initializer_list<std::tuple<const char*, unsigned, bool, std::uint8_t*>>{
             {"ck", 1, false, &ck_}, {"rst", 1, false, &rst_}, {"v", 1, false, &v_}, {"d", 8, false, &d_}})
      pins_.push_back({n, bits, output, at});
    add_clock("ck", 1, 0);
    add_reset("rst", false, 0);
    bundle b;
    b.into = true;
    add_bundle(b, "in", "v", "", {"d"}, "");
  }
  [[nodiscard]] const char* name() const override { return "own_design"; }
  void eval() override {
    if (ck_ && !was_ && !rst_ && edges_++ == 20) Do();
    was_ = ck_;
  }

 private:
  std::uint8_t ck_ = 0, rst_ = 0, v_ = 0, d_ = 0, was_ = 0;
  unsigned edges_ = 0;
};

template <void (*Do)()>
std::unique_ptr<design> make_own(unsigned /*random_reset*/) {
  return std::make_unique<own_design<Do>>();
}

template <void (*Do)()>
process_end run_own() {
  return in_process([] {
    open_shell s("unit", clock_domain(frequency{250e6}), make_own<Do>);
    stream& in = s.into("in", 8);
    for (unsigned i = 0; i < 100; ++i) s.push(in, payload(), now());
    run_simulation();
  });
}

void end_well() {
  std::exit(0);
}
void end_quickly() {
  std::quick_exit(0);
}
void end_by_abort() {
  std::abort();
}
void end_by_bus() {
  ::raise(SIGBUS);
}
void go_on() {}

TEST(endings, exit_of_a_design_is_no_success) {
  const process_end e = run_own<end_well>();
  EXPECT_EQ(e.status, 1 << 8);
  EXPECT_EQ(e.said, "hcasim: unit (own_design)" + at_19 + "the process was ended by exit(), before the run was over\n");
}
TEST(endings, quick_exit_of_a_design_is_no_success) {
  const process_end e = run_own<end_quickly>();
  EXPECT_EQ(e.status, 1 << 8);
  EXPECT_NE(e.said.find("unit (own_design)" + at_19), std::string::npos) << e.said;
}
TEST(endings, abort_and_signals_are_named) {
  const process_end aborted = run_own<end_by_abort>();
  EXPECT_EQ(aborted.status & 0x7f, SIGABRT);
  EXPECT_EQ(aborted.said, "hcasim: unit (own_design)" + at_19 + "the process was ended by SIGABRT, before the run was over\n");
  const process_end cut = run_own<end_by_bus>();
  EXPECT_EQ(cut.status & 0x7f, SIGBUS);
  EXPECT_NE(cut.said.find("unit (own_design)" + at_19 + "the process was ended by SIGBUS"), std::string::npos) << cut.said;
}
// A program without handlers of its own: the kernel's report ends it, and shows simulated time.
TEST(endings, a_violation_without_any_handler_aborts_with_its_time) {
  const process_end e = in_process([] {
    sc_core::sc_report_handler::set_handler(nullptr);
    ender unit("unit", make_ender_design, finish, 20);
    unit.on_violation = nullptr;
    unit.ask(100);
    run_simulation();
  });
  EXPECT_EQ(e.status & 0x7f, SIGABRT);
  EXPECT_NE(e.said.find("Fatal: hcasim/rtl: unit (ender_design)" + at_19 + "$finish at 'ender.sv:27'"), std::string::npos)
      << e.said;
  EXPECT_NE(e.said.find(" @ 76 ns"), std::string::npos) << e.said;
  EXPECT_EQ(e.said.find("@ 0 s"), std::string::npos) << e.said;
}

TEST(endings, a_run_that_is_over_may_exit) {
  const process_end e = run_own<go_on>();
  EXPECT_EQ(e.status, 0);
  EXPECT_EQ(e.said, "");
}
// The constructor of a shared object's design may exit, too.
TEST(endings, exit_of_a_maker_is_no_success) {
  const process_end e = in_process([] {
    const design_factory make = [](unsigned) -> std::unique_ptr<design> { std::exit(0); };
    open_shell s("unit", clock_domain(frequency{250e6}), make);
  });
  EXPECT_EQ(e.status, 1 << 8);
  EXPECT_NE(e.said.find("an RTL design is made: the process was ended by exit()"), std::string::npos) << e.said;
}

}  // namespace
}  // namespace hcasim::rtl
