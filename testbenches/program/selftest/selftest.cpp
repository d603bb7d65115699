// The runner with a sample machine and a testbench that counts, for the tests of the command line.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "testbenches/program/command_line/cli.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/program/selftest/sample_machine.h"
#include "tlm/base/random.h"
#include "tlm/base/send_signal.h"
#include "tlm/base/unit.h"

namespace hcasim::selftest {
namespace {

// Its own values reach the testbench through here; the real program hands over a system_config.
machine_config* current = nullptr;

class sample_platform : public platform {
 public:
  sample_platform() { current = &config_; }
  void knobs(knob_visitor& k) override { config_.knobs(k); }
  hcasim::system& build(run_context& /*run*/) override { throw std::logic_error("testbenches make the units of this machine"); }
  void check() override {
    if (config_.loss == 1) throw input_error("link.loss: with every packet lost nothing ever ends; write less than 1");
  }

 private:
  machine_config config_;
};

class ticker : public unit {
 public:
  ticker(const sc_core::sc_module_name& n, std::uint64_t ticks, ps period, std::uint64_t seed)
      : unit(n), left_(ticks), period_(period), random_(seed, "ticker") {
    stats_.add("operations", "1", "ticks so far", ticks_);
    stats_.add("gap", "ps", "time between ticks", gap_);
    stats_.add("fill", "1", "a level", fill_);
    stats_.add("shown", "1", "the same level, which a signal shows", shown_, "state");
    stats_.ratio(
        "share", "a third", [](ps t) { return static_cast<double>(t.count()); },
        [](ps t) { return 3.0 * static_cast<double>(t.count()); });
    signals_.add("count", 8, count_);
    signals_.add("valid", 1, valid_);
    signals_.add("state", 2, state_, {"idle", "busy", "done"});
    queue_.at(period_, {[](void* self) { static_cast<ticker*>(self)->tick(); }, this});
  }

  // Called before every tick with the number of earlier ticks.
  void before(std::function<void(std::uint64_t)> f) { before_ = std::move(f); }

 private:
  void tick() {
    if (before_) before_(ticks_.value());
    ++ticks_;
    const ps gap = period_ + ps(static_cast<std::int64_t>(random_.below(1000)));
    gap_.add(gap);
    fill_.set(ticks_.value() % 4, now());
    shown_.set(ticks_.value() % 3, now());
    count_.set(ticks_.value(), now() + 2_ns);
    valid_.pulse(1, now(), 1_ns);
    state_.set(ticks_.value() % 3, now());
    if (--left_) queue_.at(now() + gap, {[](void* self) { static_cast<ticker*>(self)->tick(); }, this});
  }

  std::uint64_t left_;
  ps period_;
  random_stream random_;
  counter ticks_;
  histogram gap_;
  level fill_, shown_;
  std::function<void(std::uint64_t)> before_;
  probe count_, valid_, state_;
};

class node_module : public sc_core::sc_module {
 public:
  ticker key_check;
  node_module(const sc_core::sc_module_name& n, std::uint64_t ticks, ps period, std::uint64_t seed)
      : sc_module(n), key_check("key_check", ticks, period, seed) {}
};

class count_ticks : public testbench {
 public:
  std::string_view name() const override { return "count_ticks"; }
  std::string_view summary() const override { return "count some ticks"; }
  void knobs(knob_visitor& k) override {
    k.count("ticks", ticks_, 1, 10'000'000, "how many");
    k.time("tick_period", period_, 1_ns, 1_ms, "time between them");
    k.count("warm_up", warm_up_, 0, 10'000'000, "of them, before the measured parts");
    k.count("parts", parts_, 0, 2, "measured parts, of half of the rest each; 0: none");
    k.flag("break_off", break_off_, "fail on the way");
    k.flag("check_fails", check_fails_, "fail a check");
    k.flag("crash", crash_, "end the process by a signal");
    k.flag("hang", hang_, "wait for ever in wall-clock time");
    k.text("input", input_, "a file to read");
  }
  void run(run_context& c) override {
    if (!input_.empty() && !std::ifstream(input_)) {
      throw input_error("parameters.input: cannot read '" + input_ + "'; check the path");
    }
    auto& module = c.make<node_module>("node0", ticks_, period_, c.seed());
    module.key_check.before([&](std::uint64_t n) { mark(c, n); });
    c.start();
    if (parts_ != 0) c.end_measuring();
    if (break_off_) throw std::runtime_error("it broke");
    if (crash_) {
      std::fputs("about to crash\n", stderr);
      signal_process(::getpid(), SIGSEGV);
    }
    if (hang_) {
      std::puts("hangs");
      std::fflush(stdout);
    }
    while (hang_) std::this_thread::sleep_for(std::chrono::seconds(1));
    c.check(!check_fails_, "the check failed");
    c.result().figure("ticks", static_cast<double>(ticks_), "1", "ticks asked for");
    c.result().figure("latency", to_ns(current->nodes[0].latency), "ns", "as configured");
    auto& t = c.result().table("ways of the nodes", {{"node"}, {"ways", "entries"}});
    for (std::size_t i = 0; i < current->nodes.size(); ++i) t.row("node" + std::to_string(i), current->nodes[i].mrc_cache.ways);
  }

 private:
  void mark(run_context& c, std::uint64_t tick) const {
    if (parts_ != 0 && tick == warm_up_) c.begin_measuring(parts_ == 1 ? "" : "early");
    if (parts_ != 2 || tick != warm_up_ + (ticks_ - warm_up_) / 2) return;
    c.end_measuring();
    c.begin_measuring("late");
  }

  std::uint64_t ticks_ = 10;
  std::uint64_t warm_up_ = 0;
  std::uint64_t parts_ = 0;
  ps period_ = 5_ns;
  bool break_off_ = false;
  bool check_fails_ = false;
  bool crash_ = false;
  bool hang_ = false;
  std::string input_;
};

const testbench_registration<count_ticks> registers_count_ticks;

}  // namespace
}  // namespace hcasim::selftest

int main(int argc, char** argv) {
  ::setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
  return sc_core::sc_elab_and_sim(argc, argv);
}

int sc_main(int argc, char** argv) {
  return hcasim::command_line(
      argc, argv, []() -> std::unique_ptr<hcasim::platform> { return std::make_unique<hcasim::selftest::sample_platform>(); });
}
