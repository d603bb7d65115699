// A Verilated design behind one interface: its pins, and which of them form the streams that a shell drives. hca_add_rtl makes
// the implementations; user code meets them as `std::unique_ptr<rtl::design>`.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace hcasim::rtl {

// A port, or a slice of one: bits [low, low + bits) of the memory at `at`.
struct pin {
  std::string name;
  unsigned bits;
  bool output;
  void* at;  // ports of up to 8, 16, 32, 64 bits: an unsigned of that size; more: 32-bit words; lowest first
  unsigned low = 0;
  bool whole = true;

  // Returns the bytes of a whole port.
  [[nodiscard]] unsigned bytes() const {
    return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : bits <= 64 ? 8 : (bits + 31) / 32 * 4;
  }
  [[nodiscard]] bool get(unsigned bit = 0) const {
    return static_cast<const std::uint8_t*>(at)[(low + bit) / 8] >> (low + bit) % 8 & 1;
  }
  void set(bool v) const {
    if (whole) {
      *static_cast<std::uint8_t*>(at) = v;
    } else {
      set(0, v);
    }
  }
  // Sets the pin; returns whether its value changed.
  [[nodiscard]] bool turn(bool v) const {
    if (get() == v) return false;
    set(v);
    return true;
  }
  void set(unsigned bit, bool v) const {
    std::uint8_t& byte = static_cast<std::uint8_t*>(at)[(low + bit) / 8];
    const auto mask = static_cast<std::uint8_t>(1U << (low + bit) % 8);
    byte = static_cast<std::uint8_t>(v ? byte | mask : byte & ~mask);
  }
  // Bits [first, first + n), 1 to 32 of them.
  [[nodiscard]] std::uint32_t part(unsigned first, unsigned n) const;
  void set_part(unsigned first, unsigned n, std::uint32_t v) const;
};

// A named part of a payload of AXI or AXI-Stream; bits 0 = absent.
struct field {
  unsigned at = 0;
  unsigned bits = 0;
  explicit operator bool() const { return bits > 0; }
};

// A valid/ready stream. Its payload may lie on several pins, lowest bits first.
struct bundle {
  std::string name;
  bool into = false;  // into the RTL
  const pin* valid = nullptr;
  bool inverted = false;        // the pin `valid` says the opposite, as the `empty` of a FIFO does
  const pin* ready = nullptr;   // null = always ready
  bool busy = false;            // the pin `ready` says the opposite
  bool fifo = false;            // our side is high only when the other one is, as `wr_en` and `rd_en` of a FIFO are
  bool late = false;            // out of the RTL: the data is there in the cycle after
  bool falls = false;           // into the RTL: `valid` may fall right before `design::rise`, see there
  const pin* credit = nullptr;  // instead of ready: high for a cycle, one more may be sent
  unsigned credits = 0;         // credits after reset
  unsigned clock = 0;           // index in design::clocks()
  std::vector<const pin*> data;
  unsigned bits = 0;
  std::vector<std::string> names;  // names of the pins of `data`, in an endpoint

  [[nodiscard]] field find(const std::string& field_name) const;
};

// Bundles that belong together, named "ENDPOINT.CHANNEL".
struct endpoint_pins {
  std::string kind;  // axi4, axi_lite, axis, tlp
  std::string name;
  bool into = false;  // the RTL answers, or takes
};

struct clock_pin {
  const pin* at;
  double period;  // in periods of the first clock
  double phase;   // of its first edge, in periods of the first clock
};

class design {
 public:
  virtual ~design() = default;

  [[nodiscard]] virtual const char* name() const = 0;
  virtual void eval() = 0;
  // Returns whether settle() and rise() may replace eval(); the clock pins then stay low. Needs a design that sees only rising
  // edges of its clocks. `settle` evaluates the logic behind inputs other than clocks and resets. `rise` evaluates rising
  // edges: one bit for each clock, from the lowest up. A pin of `let_fall` may fall before `rise` without a `settle`: registers
  // take the settled values, then the pin's logic is evaluated again.
  [[nodiscard]] virtual bool steps() const { return false; }
  // Returns why the design has no steps.
  [[nodiscard]] virtual const char* no_steps() const { return "the design has no steps"; }
  virtual void settle() { eval(); }
  virtual void rise(std::uint64_t /*of_clocks*/) {}
  // Returns the highest number of its seeded faults (hca_add_rtl MUTATIONS, MUTANTS); mutate() activates one, 0 = none.
  [[nodiscard]] virtual unsigned mutants() const { return 0; }
  // Returns a line for each of MUTANTS; see testbenches/coverification/mutation/main.cpp.
  [[nodiscard]] virtual const char* list_of_mutants() const { return ""; }
  virtual void mutate(unsigned) {}
  // Returns whether the RTL has ended its run: by an assertion, $finish, $stop, $fatal. `why` says which, and where.
  [[nodiscard]] bool ended() const { return !why_.empty(); }
  [[nodiscard]] const std::string& why() const { return why_; }
  void forget_end() { why_.clear(); }
  virtual void assertions(bool) {}
  // Sets the time of the next evaluation, ps.
  void set_time(std::uint64_t t) { time_ = t; }
  // Returns whether the design was built with WAVES or INSTRUMENTED: with waveforms and assertions.
  [[nodiscard]] virtual bool has_waves() const { return false; }
  virtual bool trace(const std::string&) { return false; }
  virtual void dump(std::uint64_t) {}
  // Returns whether the design was built INSTRUMENTED: with coverage, too.
  [[nodiscard]] virtual bool has_coverage() const { return false; }
  virtual bool write_coverage(const std::string&) { return false; }

  [[nodiscard]] const std::deque<pin>& pins() const { return pins_; }
  [[nodiscard]] const std::deque<bundle>& bundles() const { return bundles_; }
  [[nodiscard]] const std::vector<clock_pin>& clocks() const { return clocks_; }
  // Throws std::invalid_argument, which names the design, the wanted thing and the fault; so do the other find functions and
  // check_endpoint.
  [[nodiscard]] const bundle& find(const std::string& bundle_name, bool into, unsigned bits) const;
  void check_endpoint(const std::string& endpoint_name, const std::string& kind, bool into) const;
  [[nodiscard]] const pin& find_side(const std::string& side_name, bool output) const;
  [[nodiscard]] bool has_sides() const { return !sides_.empty(); }
  [[nodiscard]] unsigned find_clock(const std::string& port) const;
  [[nodiscard]] bool has_bundle(const std::string& bundle_name) const;

  // Sets an input that stays the same, in reset too; call before the first edge. A design without this input is left alone.
  void strap(const std::string& strap_name, std::uint64_t value) const;
  void clock(unsigned n, bool v) const { clocks_[n].at->set(v); }
  // Sets the resets that belong to no clock, or to all; the second form the resets of one clock.
  void reset(bool active) const {
    for (const reset_pin& r : resets_) r.at->set(active != r.low);
  }
  void reset(bool active, unsigned of_clock) const {
    for (const reset_pin& r : resets_) {
      if (r.clock == static_cast<int>(of_clock)) r.at->set(active != r.low);
    }
  }
  [[nodiscard]] bool has_reset_of(unsigned of_clock) const;
  // Returns whether there is an idle pin: high while nothing changes before a stream moves. idle() is false without one.
  [[nodiscard]] bool has_idle() const { return idle_ != nullptr; }
  [[nodiscard]] bool idle() const { return idle_ && idle_->get(); }

 protected:
  // Returns the pin named "port", "port[7]" or "port[7:4]".
  [[nodiscard]] const pin* find_pin(const std::string& text);
  void add_clock(const char* p, double period, double phase) { clocks_.push_back({find_pin(p), period, phase}); }
  void add_reset(const char* p, bool low, int of_clock) { resets_.push_back({find_pin(p), low, of_clock}); }
  void set_idle(const char* p) { idle_ = find_pin(p); }
  void let_fall(const char* valid);
  void add_strap(const char* strap_name, const char* p) { straps_.push_back({strap_name, find_pin(p)}); }
  void add_side(const char* side_name, const char* p) { sides_.push_back({side_name, find_pin(p)}); }
  void add_endpoint(const char* kind, const char* endpoint_name, bool into) {
    endpoints_.push_back({kind, endpoint_name, into});
  }
  // Adds a bundle; the names of pins of `form` are not looked at.
  void add_bundle(bundle form, const char* bundle_name, const char* valid, const char* ready,
                  std::initializer_list<const char*> data, const char* credit);

  std::deque<pin> pins_;
  std::string why_;
  std::uint64_t time_ = 0;

 private:
  struct named_pin {
    std::string name;
    const pin* at;
  };
  struct reset_pin {
    const pin* at;
    bool low;
    int clock;  // -1 = of none
  };
  std::deque<pin> slices_;
  std::deque<bundle> bundles_;
  std::vector<endpoint_pins> endpoints_;
  std::vector<named_pin> straps_;
  std::vector<named_pin> sides_;
  std::vector<reset_pin> resets_;
  std::vector<clock_pin> clocks_;
  const pin* idle_ = nullptr;
};

using design_factory = std::unique_ptr<design> (*)(unsigned random_reset);

}  // namespace hcasim::rtl
