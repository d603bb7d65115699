// A Chrome trace (JSON) while it grows: a thread of its own writes the text, one batch of spans behind the simulation, so that
// memory does not grow with the run. The text is a function of what was put in, whenever the thread came to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "testbenches/program/recording/batch_thread.h"
#include "tlm/base/kernel.h"

namespace hcasim {

// A unit's requests, one lane beside the other where they overlap.
struct span_track {
  std::string unit;  // node0.hca.requester
};
struct span_name {
  std::string text;
  std::string_view a;  // what the numbers are called; empty = none
  std::string_view b;
};
struct span {
  ps begin;
  ps end;
  std::uint64_t a;
  std::uint64_t b;
  std::uint64_t operation;  // as in tlm/operation.h; 0 = of none
  std::uint32_t name;
  std::uint32_t arrow;  // the packet's number; 0 = none
  std::uint16_t track;
  bool arrives;  // the arrow ends here
};

class span_file {
 public:
  // Throws input_error when the file cannot be written.
  span_file(const std::filesystem::path& path, const std::string& version);
  ~span_file();
  span_file(const span_file&) = delete;
  span_file& operator=(const span_file&) = delete;

  // Before the first span.
  void define(const std::vector<span_track>& tracks, const std::vector<span_name>& names);
  // A span of the track begins, not before the kernel's now; put() brings it when it has ended. For the track's counter.
  void begins(std::uint16_t track, ps at) { begins_.push_back({at, track}); }
  void put(const span& s) {
    ended_.push_back(s);
    if (ended_.size() >= batch) [[unlikely]] {
      flush(now());
    }
  }
  // Every span has been put. Throws input_error when writing failed.
  void finish();

 private:
  static constexpr std::size_t batch = 1 << 13;
  struct mark {
    ps at;
    std::uint16_t track;
  };
  struct name_text {
    std::string head;  // of a slice's arguments, up to the first number
    std::string middle;
    bool a;
    bool b;
  };
  // Spans that do not overlap.
  struct lane {
    std::string number;                     // in the file, with that of the node
    std::vector<std::pair<ps, ps>> recent;  // in the order of time
    ps floor{0};                            // nothing is placed before it any more
  };
  struct track_state {
    std::string pid;
    std::string unit;
    std::vector<lane> lanes;
    std::vector<ps> begins;  // not yet counted
    std::vector<ps> ends;
    std::uint64_t open = 0;
    std::uint64_t shown = 0;
    std::string counter;  // text before the time, and behind it
    std::string counter_value;
  };

  void flush(ps until);
  void write_batch();
  void write_span(const span& s);
  void count(track_state& t, ps until);
  // The first lane with room for it.
  const std::string& lane_of(const span& s);
  static bool place(lane& l, const span& s);
  void name_tracks();
  void begin_event();

  // Text goes through one buffer; room for an event is made before it.
  void make_room() {
    if (used_ + most_event > buffer_.size()) drain();
  }
  void drain();
  void text(std::string_view s);
  void number(std::uint64_t v);
  void hex(std::uint64_t v);
  void time(ps t);

  static constexpr std::size_t most_event = 1 << 12;
  std::FILE* file_;
  std::string path_;
  int error_ = 0;  // the errno of the first write that failed
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  bool first_ = true;  // no event has been written
  std::vector<track_state> tracks_;
  std::vector<std::string> nodes_;
  std::vector<name_text> names_;
  ps floor_{0};  // counted up to here

  std::vector<span> ended_;
  std::vector<mark> begins_;
  ps until_{0};
  std::vector<span> batch_ended_;
  std::vector<mark> batch_begins_;
  batch_thread thread_{[this] { write_batch(); }};  // all above but ended_ and begins_ is its own while it has a batch
};

}  // namespace hcasim
