// Base of a unit whose inside is RTL: it clocks a design only while there is something to do, samples its pins before it drives
// them, and keeps to the same sockets and times as a model.
//
// A cycle at time t: streams offer what was pushed for t or earlier; everything settles; transfers are those with valid and
// ready high; the clock rises; then they are passed on, with time t. What other units do at t comes first: the edge runs a
// delta cycle later. A clock edge costs two kernel activations and two evaluations of the design.
//
// Contract for derived shells: get streams with `into` and `out_of` in the constructor; count with `owe` what the RTL has to
// answer, and with `await` what it may wait for (a design that owes, waits for nobody, and is idle or moves nothing for
// `hang_cycles`, hangs).
#pragma once

#include <memory>
#include <string>

#include "tlm/base/clock_domain.h"
#include "tlm/base/unit.h"
#include "tlm/rtl/stream.h"

namespace hcasim::rtl {

struct shell_options {
  std::uint64_t seed = 1;
  double stall = 0;     // of each stream, each cycle
  bool storms = false;  // and now and then a long one
  std::uint64_t hang_cycles = 20000;
  bool check_x = false;  // run a second copy from other initial register values and compare control outputs
  std::string trace;     // VCD file; needs an instrumented design
  ps trace_from{0};
};

class shell : public unit {
 public:
  ~shell() override;

  [[nodiscard]] rtl::design& design() { return *design_; }
  [[nodiscard]] std::uint64_t cycles() const { return cycles_run_; }
  [[nodiscard]] const std::deque<stream>& streams() const { return streams_; }
  // What breaks a protocol, hangs or is unknown goes here; without a handler it is a fatal SystemC report.
  std::function<void(const std::string&)> on_violation;

 protected:
  shell(const sc_core::sc_module_name& name, const clock_domain& clock, design_factory make, const shell_options& options);

  stream& into(const char* bundle_name, unsigned bits) { return add(bundle_name, true, bits); }
  stream& out_of(const char* bundle_name, unsigned bits) { return add(bundle_name, false, bits); }
  void push(stream& s, const payload& p, ps t, std::uint64_t cookie = 0);
  void strap(const char* strap_name, std::uint64_t value);
  // Throws std::invalid_argument: the RTL of this unit has another value of the knob.
  static void built_for(const char* unit_name, bool ok, const char* knob, const char* value);
  // Starts the clock, of a design that does something by itself.
  void run() { schedule(now()); }
  void owe(std::int64_t n) { owed_ += n; }
  // What others owe the RTL, so that it may wait.
  void await(std::int64_t n) { awaited_ += n; }
  void violation(const std::string& what);
  [[nodiscard]] const clock_domain& clock() const { return clock_; }

 private:
  stream& add(const char* bundle_name, bool is_into, unsigned bits);
  void reset();
  void wake();
  void edge();
  void schedule(ps t);
  void compare_unknown();
  [[nodiscard]] std::string silent() const;
  [[nodiscard]] std::uint64_t cycle_from(ps t) const;  // the first edge at or after t
  static void copy_inputs(const rtl::design& from, const rtl::design& to);

  const clock_domain clock_;
  const shell_options options_;
  std::unique_ptr<rtl::design> design_;
  std::unique_ptr<rtl::design> other_;  // check_x
  std::deque<stream> streams_;
  sc_core::sc_event edge_;
  bool was_reset_ = false;
  bool settled_ = false;
  bool in_edge_ = false;
  bool stopped_ = false;
  ps scheduled_ = never;
  std::uint64_t last_cycle_ = ~std::uint64_t{0};  // of the last edge
  std::int64_t owed_ = 0;
  std::int64_t awaited_ = 0;
  std::uint64_t quiet_cycles_ = 0;
  std::uint64_t cycles_run_ = 0;
};

}  // namespace hcasim::rtl
