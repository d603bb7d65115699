// The search for the shortest stream that fails for the same reason as another, and the files of a failed comparison. The
// search leaves out parts as long as the stream still fails. It ends early, with the shortest stream so far, when its time is
// over or SIGINT or SIGTERM comes.
#pragma once

#include <chrono>
#include <string>

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {

// The wait of the reader of an isolated run.
struct patience {
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  int stop = -1;  // a descriptor that becomes readable when the wait is to end; -1 = none

  // Reads all text from `from`. False = the wait has ended before.
  bool read_all(int from, std::string& text) const;
};
report run_isolated(const std::string& unit, const item_stream& stream, const options& o, const patience& p);

inline constexpr double search_seconds = 60;

struct shortened {
  item_stream stream;
  std::string cut_short;  // why the search ended early; empty = it did not
};
shortened shortest(const std::string& unit, item_stream failing, options o, double seconds = search_seconds);

// The files of a failed comparison in a folder. One is the shortest stream that still fails for the same reason. The other, if
// the design can write waveforms, shows the microseconds before the failure.
struct evidence {
  std::string stream_file;  // empty = the stream did not fail again
  std::string vcd_file;     // waveform of both sides; empty = the design was built without waveforms
  std::size_t items = 0;
  std::string cut_short;  // the search
  report again;
};
evidence keep_evidence(const std::string& unit, const item_stream& failing, const report& r, options o,
                       const std::string& folder, double seconds = search_seconds);
// Returns the text "searching ..." for the begin of a search.
std::string search_text(std::size_t items, double seconds);

}  // namespace hcasim::lockstep
