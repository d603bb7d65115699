// Writes the signals of all units into a waveform file, 1 ps resolution; common to the formats (vcd.h, fst.h).
//
// Changes come in any order of time, since a unit may run ahead of the kernel. They are kept in batches, sorted, and written
// once the kernel has passed them. Changes of one signal at the same time count as one, the last; an unchanged value is not
// written. A signal is x until its unit has set it first; signals of one bit are 0. The same run gives the same bytes.
//
// Its own thread writes, one batch behind the simulation; results of a writer are valid after finish().
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testbenches/program/recording/batch_thread.h"
#include "tlm/base/unit.h"

namespace hcasim {

class operation_probes;

// One watched signal, as the waveform viewer sees it.
// Names of single values.
using value_names = std::vector<std::pair<std::uint64_t, std::string>>;

struct wave_signal {
  std::string scope;  // hierarchical name of the unit
  std::string name;   // cleaned for VCD
  unsigned width;
  std::vector<std::string> labels;
  std::shared_ptr<const value_names> names{};  // instead of labels; null = none
  std::string range{};                         // range in a file read: "[7:4]"; empty = [width - 1:0], none for one bit
  bool event = false;                          // a moment without a value: each change is a trigger
};
// Returns the name with its range, as waveform files hold it.
std::string ranged_name(const wave_signal& s);

// The window that is written: from <= time < until. At `from` stand the values that the signals have then.
struct wave_window {
  ps from{0};
  ps until = never;
};

enum class wave_format { vcd, fst };

class wave_writer : public probe_sink {
 public:
  wave_writer(const wave_writer&) = delete;
  wave_writer& operator=(const wave_writer&) = delete;

  // Watches `p` as signal `name` of `scope`; call before the first change.
  void add(const std::string& scope, const probe_entry& entry);
  void write_header();

  void change(std::uint32_t signal, std::uint64_t value, ps at) override {
    pending_.push_back({at, value, signal});
    if (pending_.size() >= batch_) [[unlikely]] {
      flush(now());
    }
  }
  // Lets first_change() begin at `from`. Only the first call counts.
  void look_from(ps from) { look_from_ = std::min(look_from_, from); }
  // Writes the rest and the end time. The probes must not change any more. Throws input_error when writing failed.
  void finish(ps end);

  [[nodiscard]] const std::vector<wave_signal>& signals() const { return signals_; }
  // Returns the time of the first change of a unit named `unit`, since look_from() or in the file; never = none.
  [[nodiscard]] ps first_change(std::string_view unit) const;
  [[nodiscard]] std::uint64_t changes() const { return changes_; }  // written
  // Returns the simulated time at which the limit was reached; never = it was not.
  [[nodiscard]] ps stopped_at() const { return stopped_at_; }

 protected:
  // `limit`: stop before the file grows larger (bytes); 0 = no limit.
  wave_writer(std::uint64_t limit, const wave_window& window);

  // Writes the format: times come in ascending order; `begin` makes all signals unknown at this time.
  virtual void begin(ps at) = 0;
  virtual void stamp(ps at) = 0;
  virtual void emit(std::uint32_t signal, std::uint64_t value) = 0;
  virtual bool full(std::uint64_t limit) = 0;
  virtual void close(ps end) = 0;
  // Destructors of formats call this first: nothing is written any more.
  void stop_thread() { thread_.stop(); }

 private:
  struct item {
    ps at;
    std::uint64_t value;
    std::uint32_t signal;
  };
  struct state {
    std::uint64_t shown = 0;
    std::uint64_t next = 0;
    bool known = false;    // false = still x
    bool touched = false;  // has a next value in the current time step
    std::uint8_t width = 1;
  };

  // Hands all pending changes to the thread, which writes the ones before `until` and keeps the rest.
  void flush(ps until);
  void write_batch();
  void sort_held();
  bool sort_by_buckets(ps low, std::uint64_t span);
  void write_step(ps at);
  void remember_step();
  void open_window();
  [[nodiscard]] bool looks_at(ps at) const;

  std::uint64_t limit_;
  wave_window window_;
  std::vector<wave_signal> signals_;
  std::vector<item> pending_;
  std::size_t batch_;
  ps look_from_ = never;

  batch_thread thread_{[this] { write_batch(); }};  // owns all members below while it has a batch
  std::vector<item> batch_items_;
  ps until_{0};
  std::vector<item> held_;
  std::vector<item> sorted_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> spare_keys_;
  std::vector<std::uint32_t> starts_;
  ps floor_{0};  // everything before this has been written
  std::vector<state> states_;
  std::vector<ps> first_;  // first change of each signal
  ps looked_from_ = never;
  std::vector<std::uint32_t> touched_;
  std::uint64_t changes_ = 0;
  ps last_{0};  // last time stamp written
  ps stopped_at_ = never;
  bool open_;  // the window has begun
};

// Throws input_error when the file cannot be written.
std::unique_ptr<wave_writer> make_wave_writer(wave_format format, const std::filesystem::path& file, const std::string& version,
                                              std::uint64_t limit, const wave_window& window);

// Attaches the signals of the units, and for each unit the number of its latest operation. Chosen are those whose full name
// `unit.signal` matches one of the patterns, once all units exist. No patterns: all signals of units, and the operation at
// requester and responder. A pattern without wildcards also matches a unit with all it holds; the name of the top module may be
// left out.
class wave_recorder : public sc_core::sc_module {
 public:
  wave_recorder(std::unique_ptr<wave_writer> writer, std::vector<std::string> patterns);
  ~wave_recorder() override;

  [[nodiscard]] wave_writer& writer() { return *writer_; }
  // Returns the recorded signals; those of operations name the operations of the run.
  [[nodiscard]] std::vector<wave_signal> named_signals() const;

 private:
  // Throws input_error when a pattern matches nothing.
  void end_of_elaboration() override;

  std::unique_ptr<wave_writer> writer_;
  std::vector<std::string> patterns_;
  std::unique_ptr<operation_probes> operations_;
};

// Returns whether the pattern matches `full`, a signal's name with its scope.
bool wave_pattern_matches(const std::string& pattern, std::string_view full);

}  // namespace hcasim
