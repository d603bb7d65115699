// The search for the shortest stream that fails for the same reason as another, and what a failed comparison leaves. It leaves
// out parts until nothing can be left out, its time is over, or SIGINT or SIGTERM comes; the shortest stream so far is kept.
#pragma once

#include <chrono>
#include <string>

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {

// How long the reader of an isolated run waits for it.
struct patience {
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  int stop = -1;  // a descriptor that becomes readable when there is none left; -1 = no such

  // All that comes from `from`; false = there was no more patience.
  bool read_all(int from, std::string& text) const;
};
report run_isolated(const std::string& unit, const item_stream& stream, const options& o, const patience& p);

inline constexpr double search_seconds = 60;

struct shortened {
  item_stream stream;
  std::string cut_short;  // why the search ended before its end; empty = it did not
};
shortened shortest(const std::string& unit, item_stream failing, options o, double seconds = search_seconds);

// The files that a failed comparison leaves in a folder: the shortest stream that still fails for the same reason, and if the
// design can write one, a waveform of the microseconds before it does.
struct evidence {
  std::string stream_file;  // empty = it did not fail again
  std::string vcd_file;     // with both sides in it; empty = the design was built without waveforms
  std::size_t items = 0;
  std::string cut_short;  // the search
  report again;
};
evidence keep_evidence(const std::string& unit, const item_stream& failing, const report& r, options o,
                       const std::string& folder, double seconds = search_seconds);
// "searching ...", before it begins.
std::string search_text(std::size_t items, double seconds);

}  // namespace hcasim::lockstep
