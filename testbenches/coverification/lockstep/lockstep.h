// Lockstep: a model and RTL of one unit get the same stream of requests. Each side has its own environment, and both
// environments answer alike. The answers are compared one by one, and so are the times from offer to answer.
//
// A stream is a list of items, whose words have a meaning for the unit's bench. A stream comes from a constrained random
// generator, from a file, or from a recorder at the unit's boundary in a system run. Items are offered in order, and each side
// keeps its own time. An item goes when its `gap` is over, fewer than `window` are unanswered, and no earlier item is in its
// way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "testbenches/coverification/lockstep/bounds.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/kernel.h"
#include "tlm/base/statistics.h"
#include "tlm/rtl/shell.h"

namespace hcasim::lockstep {

inline constexpr std::size_t item_words = 10;
using item = std::array<std::uint64_t, item_words>;
using item_stream = std::vector<item>;

// single: one request at a time. full: as many as go, no stalls, no misses. random: random gaps, misses and stalls.
enum class mode : std::uint8_t { single, full, random };
inline constexpr const char* mode_names[] = {"single", "full", "random"};

struct options {
  lockstep::mode how = mode::random;
  std::uint64_t seed = 1;
  std::uint64_t requests = 100'000;
  double stall = 0.1;  // of every stream in every cycle, mode random
  // Mode random: storms of long stalls, crowded tables and odd values, with which latencies drift apart. Mode full: floods,
  // which overflow the doorbell unit's FIFO, and offer another unit one request more than the unit holds.
  bool storms = false;
  bool events = false;                   // mode random: events outweigh requests (constraints.h)
  unsigned fault = 0;                    // seeded fault of the RTL; needs the design with faults
  bool instrumented = false;             // the design with waveforms, assertions and faults
  bool covered = false;                  // the design with coverage, waveforms and assertions
  rtl::design_factory design = nullptr;  // a user's RTL in place of the project's own
  bool check_x = false;
  bool steps = true;  // of the RTL, if its design has them
  bool model = true;  // sides that run
  bool rtl = true;
  std::string vcd;  // of the RTL's inside, and of both sides; or .fst
  ps vcd_from{0};
  std::string coverage_file;     // of the stream, and of the RTL if the design is covered
  std::optional<bounds> limits;  // none = the unit's bounds
  unsigned seconds = 0;          // of the processor, after which an isolated run is ended; 0 = never
};

// Returns the file of the merged waveform, from which an FST is made.
inline std::string vcd_of(const options& o) {
  return o.vcd.ends_with(".fst") ? o.vcd + ".vcd" : o.vcd;
}

// A kind of stream, with 1 / `part` of the number of random requests.
struct stream_kind {
  const char* name;
  mode how;
  bool storms;
  std::uint64_t part;
  bool events = false;
};
inline constexpr stream_kind default_streams[] = {{"single", mode::single, false, 10},
                                                  {"full", mode::full, false, 10},
                                                  {"floods", mode::full, true, 10},
                                                  {"events", mode::random, false, 10, true},
                                                  {"random", mode::random, false, 1}};
// Returns the kinds of streams of a unit. `storms`: those in place of the last stream, and none of events.
std::vector<stream_kind> streams_for(const std::string& unit, bool storms);
// Returns the options of a stream; `storms`: storms in place of the last stream.
options with_stream(options o, const stream_kind& k, std::uint64_t requests, bool storms);
inline const char* stream_name(const options& o) {
  return o.how == mode::single ? "single"
         : o.how == mode::full ? (o.storms ? "floods" : "full")
         : o.storms            ? "storms"
         : o.events            ? "events"
                               : "random";
}

// Counted by name; all must have been hit.
using coverage = std::map<std::string, std::uint64_t>;

struct report {
  std::uint64_t requests = 0;          // answered by both
  std::uint64_t differences = 0;       // in an answer, or an answer that one side never gave
  std::uint64_t first_difference = 0;  // item
  std::string problem;                 // the first difference, or the broken protocol
  ps problem_at{0};
  double model_cycles = 0;  // until the last answer
  double rtl_cycles = 0;
  double mean_latency = 0;    // of the model, cycles
  double mean_error = 0;      // |rtl - model|, cycles
  double relative_error = 0;  // mean_error over mean_latency
  double p99_error = 0;
  double max_error = 0;
  std::uint64_t exact = 0;                       // requests with the same latency, or that raced
  std::uint64_t races = 0;                       // requests with more than one right answer
  std::uint64_t worst = 0;                       // item with the largest error
  std::map<std::int64_t, std::uint64_t> errors;  // rtl - model in cycles, clamped to +-64
  lockstep::coverage covered;
  std::uint64_t model_accesses = 0;  // to memory
  std::uint64_t rtl_accesses = 0;
  std::string way;     // how the RTL was evaluated (rtl::shell::way); empty = there is none
  double seconds = 0;  // of the host
  double stalls = 0;   // cycles that streams of the RTL waited

  [[nodiscard]] bool ok() const { return differences == 0 && problem.empty(); }
  [[nodiscard]] double throughput_error() const { return model_cycles > 0 ? (rtl_cycles - model_cycles) / model_cycles : 0; }
};

// Allowed difference of accesses to memory in random streams, where the cycle decides which requests miss. One at a time and in
// full pipelines there is no difference: accesses to an address are in the same order with the same bytes.
inline constexpr double traffic_share = 0.03;
inline constexpr double count_share = 0.1;  // of statistics: longer waits mean more merges
inline constexpr std::uint64_t traffic_least = 32;

enum side : unsigned { model_side, rtl_side, sides };

class both_waves;

// Collects the answers of both sides.
class comparison {
 public:
  using answer = std::array<std::uint64_t, 8>;

  comparison(const item_stream& stream, const clock_domain& clock, bool both, mode how = mode::random, bool storms = false)
      : clock_(clock), both_(both), how_(how), storms_(storms), entries_(stream.size()) {}

  void offered(side s, std::uint64_t number);
  // Notes an answer. `race`: the request met an event without a defined order. The caller has found the answer among the
  // allowed ones, and the other side may have another of these at another time. `meets`: number of other requests under way,
  // where latencies are equal otherwise. RTL gives one answer a cycle, so the answer may be up to `meets` cycles later or
  // earlier.
  void answered(side s, std::uint64_t number, const answer& a, ps offered, ps at, bool race = false, unsigned meets = 0);
  // Notes an access to memory. `bytes`: the bytes written.
  void moved(side s, std::uint64_t address, bool write, const std::byte* bytes = nullptr, std::size_t n = 0) {
    note(s, memory_, {address, write ? hash_of(bytes, n) : 0});
  }
  // Notes a message of the unit to another unit, which is not an answer. `queue`: the queue of the message.
  void sent(side s, std::uint64_t queue, const std::byte* bytes, std::size_t n) { note(s, sent_, {queue, hash_of(bytes, n)}); }
  // Notes, after the run, the counters that both units have by one name. They are not compared with storms, in which full
  // queues drop and merge in the RTL alone.
  void counted(const unit& model, const unit& rtl);
  void problem(const std::string& what, std::uint64_t number);
  // Reports RTL that broke a protocol, hangs, or ended the run, at its oldest item without an answer. `what`: the text of the
  // shell, with time and cycle.
  void broke(const std::string& what);
  [[nodiscard]] bool failed() const { return !report_.problem.empty(); }
  // Ends the comparison after the run. An item without an answer is a difference.
  report finish();
  lockstep::coverage& covered() { return report_.covered; }
  void show(both_waves* w) { waves_ = w; }
  // The fields of an answer, for messages. If the first fields differ, the others mean nothing.
  struct field {
    std::string name;
    std::string value;
  };
  std::function<std::vector<field>(std::uint64_t number, const answer&)> describe;
  // Called with each answer of the RTL, or of the only side.
  std::function<void(std::uint64_t number, const answer&)> on_answer;

 private:
  struct entry {
    answer first{};
    ps latency{0};
    std::uint8_t seen = 0;  // sides, as bits
    bool race = false;
    std::uint16_t meets = 0;
  };
  struct access {
    std::uint64_t address;
    std::uint64_t bytes;  // hash of the bytes written; 0 = a read
    bool operator==(const access&) const = default;
  };
  struct traffic {
    const char* what;
    const char* write;
    const char* otherwise;  // the difference, if both sides write
    std::uint64_t count[sides] = {};
    std::vector<access> all[sides];  // not of random streams
  };
  struct count {
    std::string name;
    std::uint64_t of[sides];
  };
  [[nodiscard]] std::string difference(std::uint64_t number, const answer& of_model, const answer& of_rtl) const;
  void fail(const std::string& text, std::uint64_t number);
  static std::uint64_t hash_of(const std::byte* bytes, std::size_t n);
  void note(side s, traffic& t, const access& a);
  // Tells whether two counts of a random stream are close enough: the cycle decides there which entries come and go.
  [[nodiscard]] static bool near(std::uint64_t model, std::uint64_t rtl, double share);
  [[nodiscard]] std::string traffic_problem(traffic& t) const;
  [[nodiscard]] std::string count_problem() const;

  const clock_domain clock_;
  bool both_;
  mode how_;
  bool storms_;
  traffic memory_{"access to memory", "a write to", " with other bytes", {}, {}};
  traffic sent_{"messages passed on", "a message for", " with other bytes or in another cycle", {}, {}};
  std::vector<count> counts_;
  std::vector<entry> entries_;
  report report_;
  histogram absolute_;
  both_waves* waves_ = nullptr;
  double model_latency_ = 0;
  double worst_ = 0;
  ps last_[sides]{};
};

// The traits of one unit for lockstep.
class bench {
 public:
  virtual ~bench() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual item_stream generate(const options& o) const = 0;
  // Builds the sides, which start by themselves with the simulation.
  virtual void elaborate(const item_stream& stream, const options& o, comparison& c) = 0;
  // Returns the number of seeded faults of the RTL. 0 = there is no such design either.
  [[nodiscard]] virtual unsigned faults() const = 0;
  // Returns the two units. Their statistics of equal names are compared. Null = the side does not run.
  [[nodiscard]] virtual std::array<const unit*, sides> units() const = 0;
  // Adds to the report after the run.
  virtual void finish(const options&, report&) {}
  // Returns the bounds on times, with the stalls of the default streams.
  [[nodiscard]] virtual bounds limits() const { return {}; }
  // Declares all coverage points, so that a point without a hit shows.
  virtual void declare(coverage& c) const = 0;
};

// Returns the names of all benches: doorbell, key_check, context_cache, qpc_cache, page_walker.
std::vector<std::string> bench_names();
// Returns the benches with RTL of their own. qpc_cache is context_cache with other parameters.
std::vector<std::string> rtl_names();
// Returns the RTL of a bench.
std::string rtl_of(const std::string& bench);
std::unique_ptr<bench> make_bench(const std::string& name);

// Runs a stream in this process, which must not have simulated before.
report run(const std::string& unit, const item_stream& stream, const options& o);
// Runs a stream in a child process, any number of times.
report run_isolated(const std::string& unit, const item_stream& stream, const options& o);
// Returns a problem without its item, time and numbers, which is equal for two runs that fail alike. Quoted parts are names and
// stay. Brackets, such as an entry's fields, are left out.
std::string reason_of(const std::string& problem);

void write_stream(const std::string& file, const std::string& unit, const item_stream& s, const options& o);
// Throws std::runtime_error that names file and line.
item_stream read_stream(const std::string& file, std::string& unit, options& o);

}  // namespace hcasim::lockstep
