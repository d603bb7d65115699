// Base of a unit whose inside is RTL. It clocks a design only while there is work, samples its pins before driving them, and
// keeps the sockets and times of a model.
//
// A cycle at time t: streams offer items pushed for t or earlier, and the design settles. Streams with valid and ready high
// transfer; the clock rises. Then transfers are passed on, with time t. Work of other units at t comes first. A clock edge
// costs one item of the event queue and two evaluations of the design. One follows changed inputs, if any, the other the
// clocks. Where the design allows it, `valid` of a taken item falls with the clock and needs no evaluation.
//
// A design may have several clocks. Each rises by its period and phase, clocks of one moment together, and a stream moves with
// its own clock. The clocks stop and go on together; edges are placed as if the clocks had never stopped.
//
// Contract for derived shells: get streams with `into` and `out_of` in the constructor. Count the RTL's outstanding responses
// with `owe`, and the responses it waits for with `await`. A design hangs when it owes, awaits nothing, and is idle or moves
// nothing for `hang_cycles`. With `must_rest` a design also hangs when it has no work and is not idle for `hang_cycles`. A
// shell says with `may_wait` when an offered item waits for other units. Endpoints (tlm/rtl/endpoint.h) do this for streams
// that belong together.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tlm/base/clock_domain.h"
#include "tlm/base/unit.h"
#include "tlm/rtl/stream.h"

namespace hcasim::rtl {

struct shell_options {
  std::uint64_t seed = 1;
  double stall = 0;     // probability for each stream and cycle
  bool storms = false;  // some stalls are very long (tlm/rtl/stall_source.h)
  // Counts work in an order independent of the RTL: stalls by name count their repetitions from it (tlm/rtl/stall_source.h).
  const std::uint64_t* progress = nullptr;
  // Streams with long stalls that are rare, and the place of each (tlm/rtl/stall_source.h); needs progress.
  std::map<std::string, std::uint64_t> long_stalls;
  std::uint64_t hang_cycles = 20000;
  std::uint64_t patience = 0;  // cycles that work may wait for the RTL without a reason; 0 = hang_cycles
  bool must_rest = false;      // without work, a busy design hangs as well
  bool check_x = false;        // run a second copy from other initial register values and compare control outputs
  bool steps = true;           // take the design step by step, if it can be (rtl::design::steps)
  std::string trace;           // VCD file; needs a design with WAVES
  ps trace_from{0};
  std::string coverage;  // file for the lines and toggles, at the end; needs an INSTRUMENTED design
};

// Returns the stalls of a stream.
stall_source stalls_of(const shell_options& o, const std::string& stream_name);

class endpoint;

// The losses of a reset: items not handed over by a stream, outstanding responses, transactions of an endpoint.
struct lost {
  std::string what;
  std::uint64_t count;
};

// The host's cost of the RTL, in numbers that are the same on every host.
struct effort {
  std::uint64_t looks = 0;    // clock edges at which the shell looked at its streams
  std::uint64_t settled = 0;  // evaluations after changed inputs
  std::uint64_t risen = 0;    // evaluations of clock edges
};

class shell : public unit {
 public:
  ~shell() override;

  [[nodiscard]] rtl::design& design() { return *design_; }
  [[nodiscard]] const rtl::design& design() const { return *design_; }
  // Edges of the first clock.
  [[nodiscard]] std::uint64_t cycles() const { return domains_.front().edges; }
  [[nodiscard]] const std::deque<stream>& streams() const { return streams_; }
  [[nodiscard]] const rtl::effort& effort() const { return effort_; }
  // Returns "step by step", or "as a whole: " and the reason.
  [[nodiscard]] std::string way() const;
  // Gets broken handshakes, hangs, unknown values and ends of the run, with unit, design, time and cycle of the first clock.
  // Without a handler they are fatal SystemC reports.
  std::function<void(const std::string&)> on_violation;
  // Called after a reset under way, when it begins.
  std::function<void(const std::vector<lost>&)> on_reset;

  // Sets a clock in place of its period in PINS; call before the first edge.
  void set_clock(const std::string& port, const clock_domain& c, ps phase = ps{0});
  // Sets a pin of PINS `side`, from the next edge on; get() returns an output's value after the last edge.
  void set(const std::string& side_name, std::uint64_t value);
  [[nodiscard]] std::uint64_t get(const std::string& side_name) const;
  // Calls `changed` after an edge that has changed the output.
  void watch(const std::string& side_name, std::function<void(std::uint64_t value, ps t)> changed);

 protected:
  shell(const sc_core::sc_module_name& name, const clock_domain& clock, design_factory make, const shell_options& options);

  stream& into(const char* bundle_name, unsigned bits) { return add(bundle_name, true, bits); }
  stream& out_of(const char* bundle_name, unsigned bits) { return add(bundle_name, false, bits); }
  void push(stream& s, const payload& p, ps t, std::uint64_t cookie = 0, std::uint64_t what = 0);
  // The same, of a payload all bits of which are to be put at once.
  writer push(stream& s, ps t, std::uint64_t cookie = 0, std::uint64_t what = 0) {
    rests_ = false;
    if (!in_edge_) schedule(std::max(t, now()));
    return s.push(t, cookie, what);
  }
  // Names the transfers of a stream out of the RTL whose number may differ with the cycle: `what` returns the name, not 0.
  void stall_by(stream& s, std::function<std::uint64_t(const payload&)> what) {
    if (s.stall_by(std::move(what))) followers_.push_back(&s);
  }
  void strap(const char* strap_name, std::uint64_t value);
  // Throws std::invalid_argument: the RTL of this unit has another value of the knob.
  static void built_for(const char* unit_name, bool ok, const char* knob, const char* value);
  // Starts the clock, of a design that does something by itself.
  void run() { poke(); }
  // Resets again from the next edge on, like reset in PINS, for so many cycles of each clock; or resets one clock alone.
  void reset_again(unsigned cycles = 4);
  void reset_again(const std::string& clock_port, unsigned cycles = 4);
  void owe(std::int64_t n) { owed_ += n; }
  // Counts outstanding responses of other units to the RTL, for which it may wait.
  void await(std::int64_t n) { awaited_ += n; }
  void violation(const std::string& what);
  [[nodiscard]] const clock_domain& clock() const { return domains_.front().clock; }
  // Returns true while an offered item waits for other units.
  [[nodiscard]] virtual bool may_wait() const { return false; }
  [[nodiscard]] std::int64_t awaited() const { return awaited_; }
  // Ends the derived shell's work under way: the RTL is in reset from now on.
  virtual void was_reset(ps /*t*/, std::vector<lost>& /*losses*/) {}

 private:
  friend class endpoint;
  struct domain {
    unsigned number;
    clock_domain clock;
    ps phase;
    std::vector<stream*> streams;
    std::uint64_t after = 0;  // the first cycle that has not been
    std::uint64_t next = 0;   // the cycle of the next edge
    ps next_at{0};
    std::uint64_t edges = 0;
    std::uint64_t quiet = 0;  // edges since anything moved
    unsigned asked = 0;       // edges of a reset that is to begin
    unsigned resetting = 0;   // remaining edges in reset, plus 1
    [[nodiscard]] ps at(std::uint64_t cycle) const { return phase + clock.cycles(static_cast<double>(cycle)); }
    [[nodiscard]] std::uint64_t cycle_from(ps t) const;  // the first edge at or after t
  };
  struct watched {
    std::string name;
    std::uint64_t last;
    std::function<void(std::uint64_t, ps)> changed;
  };

  stream& add(const std::string& bundle_name, bool is_into, unsigned bits);
  void first_reset();
  void begin_resets(ps t);
  void end_resets();
  static void silence(const rtl::design& d, unsigned of_clock);
  void poke();
  void schedule(ps t);
  void wake_for_edge(ps t);
  void wake();
  [[nodiscard]] bool ended() const;
  void find_end();
  std::size_t write_place(char* text, std::size_t size) const;
  void find_offers();
  bool nothing_moves();
  void edge();
  void quiet_edge();
  bool settle(ps t);
  bool look_at(const std::vector<stream*>& streams);
  void work_out_inputs();
  void rise(bool still);
  void resume(ps t, bool lively, bool idle);
  bool stalls(std::uint64_t quiet);
  void not_taken(const stream& s);
  void not_answered(std::uint64_t quiet);
  void not_idle(std::uint64_t quiet);
  void compare_unknown();
  void write_wave(ps t);
  void look_at_sides(ps t);
  [[nodiscard]] std::string silent() const;
  [[nodiscard]] std::string clock_name(const stream& s) const;
  static void copy_inputs(const rtl::design& from, const rtl::design& to);

  static const shell* acting_;  // the shell whose design is being evaluated

  const shell_options options_;
  std::unique_ptr<rtl::design> design_;
  std::unique_ptr<rtl::design> other_;  // check_x
  std::vector<domain> domains_;
  std::vector<domain*> due_;     // clocks of the next edge
  std::vector<stream*> moving_;  // streams that transfer at this edge
  std::deque<stream> streams_;
  std::vector<stream*> into_;
  std::vector<stream*> out_of_;
  std::vector<stream*> followers_;  // streams that must follow the RTL's side
  bool may_rest_ = false;
  bool rests_ = false;  // nothing is offered to the RTL, and its offers are taken
  std::vector<endpoint*> endpoints_;
  std::deque<watched> watched_;
  rtl::effort effort_;
  bool steps_ = false;  // the design is taken step by step, its clocks stay low
  bool was_first_reset_ = false;
  bool full_reset_ = false;
  bool poked_ = false;
  bool turned_ = true;        // an input other than a clock, since the design was evaluated
  bool reset_turned_ = true;  // a reset
  bool side_set_ = true;      // one of these inputs belongs to no stream
  bool in_edge_ = false;
  bool stopped_ = false;
  bool running_ = false;  // the next edge is due in the next cycle
  ps scheduled_ = never;
  ps dumped_{-1};
  std::int64_t owed_ = 0;
  std::int64_t awaited_ = 0;
};

// A shell around whatever is a member of it, with public streams.
class open_shell : public shell {
 public:
  open_shell(const sc_core::sc_module_name& name, const clock_domain& clock, design_factory make,
             const shell_options& options = {})
      : shell(name, clock, make, options) {}
  using shell::await;
  using shell::clock;
  using shell::into;
  using shell::out_of;
  using shell::owe;
  using shell::push;
  using shell::reset_again;
  using shell::run;
  using shell::stall_by;
  using shell::strap;
  using shell::violation;
};

}  // namespace hcasim::rtl
