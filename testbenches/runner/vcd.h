// Writes the signals of all units into a VCD file (IEEE 1364 value change dump), 1 ps resolution.
//
// Changes come in any order of time (a unit may run ahead of the kernel); they are kept in batches, sorted, and written once
// the kernel has passed them. Changes of one signal at the same time count as one, the last; a value that does not change is
// not written. A signal is x until its unit has set it first. The same run gives the same bytes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "models/base/unit.h"

namespace hcasim {

// One watched signal, as the waveform viewer sees it.
struct vcd_signal {
  std::string scope;  // hierarchical name of the unit
  std::string name;   // cleaned for VCD
  unsigned width;
  std::vector<std::string> labels;
};

class vcd_writer : public probe_sink {
 public:
  // Throws input_error when the file cannot be written. `limit`: stop before the file grows larger (bytes); 0: no limit.
  vcd_writer(const std::filesystem::path& file, std::string version, std::uint64_t limit = 0);
  ~vcd_writer() override;
  vcd_writer(const vcd_writer&) = delete;
  vcd_writer& operator=(const vcd_writer&) = delete;

  // Before the first change: watches `p` as signal `name` of `scope`.
  void add(const std::string& scope, const probe_entry& entry);
  void write_header();

  void change(std::uint32_t signal, std::uint64_t value, ps at) override {
    pending_.push_back({at, value, signal});
    if (pending_.size() >= batch_) [[unlikely]] {
      flush(now());
    }
  }
  // Writes what is left and the end time. The probes must not change any more.
  void finish(ps end);

  [[nodiscard]] const std::vector<vcd_signal>& signals() const { return signals_; }
  // When a signal of a unit named `unit` was first set; never: none was.
  [[nodiscard]] ps first_change(std::string_view unit) const;
  [[nodiscard]] std::uint64_t changes() const { return changes_; }  // written
  [[nodiscard]] std::uint64_t bytes() const { return written_ + used_; }
  // The simulated time at which the limit was reached; never: it was not.
  [[nodiscard]] ps stopped_at() const { return stopped_at_; }

 private:
  struct item {
    ps at;
    std::uint64_t value;
    std::uint32_t signal;
  };
  struct state {
    std::uint64_t shown = 0;
    std::uint64_t next = 0;
    bool known = false;    // false: still x
    bool touched = false;  // has a next value in the current time step
    std::uint8_t width = 1;
    std::uint8_t id_length = 0;
    char id[6] = {};
  };

  // Writes every change before `until`, in order of time.
  void flush(ps until);
  void sort_pending();
  void write_step(ps at);
  void stamp(ps at);
  void emit(state& s);
  void text(std::string_view s);
  void drain();
  char* room(std::size_t n) {
    if (buffer_.size() - used_ < n) drain();
    return buffer_.data() + used_;
  }

  std::FILE* file_;
  std::string path_;
  std::string version_;
  std::uint64_t limit_;
  std::vector<vcd_signal> signals_;
  std::vector<state> states_;
  std::vector<ps> first_;  // of each signal
  std::vector<item> pending_;
  std::vector<item> spare_;
  std::vector<std::uint32_t> touched_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::uint64_t written_ = 0;
  std::size_t batch_;
  std::uint64_t changes_ = 0;
  ps floor_{0};  // everything before this has been written
  ps last_{0};   // last time stamp written
  ps stopped_at_ = never;
  std::int64_t stamp_high_ = -1;  // leading digits of the last time stamp, and their text
  std::size_t stamp_length_ = 0;
  char stamp_text_[20] = {};
  bool failed_ = false;
};

// Attaches the signals whose full name `unit.signal` matches one of the patterns, once all units exist. A pattern without
// wildcards also matches a unit with all it holds; the name of the top module may be left out.
class vcd_recorder : public sc_core::sc_module {
 public:
  vcd_recorder(const std::filesystem::path& file, std::vector<std::string> patterns, const std::string& version,
               std::uint64_t limit);

  [[nodiscard]] vcd_writer& writer() { return writer_; }

 private:
  // Throws input_error when a pattern matches nothing.
  void end_of_elaboration() override;

  vcd_writer writer_;
  std::vector<std::string> patterns_;
};

}  // namespace hcasim
