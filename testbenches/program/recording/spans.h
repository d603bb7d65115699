// The way of every request through the units as a Chrome trace (JSON, for ui.perfetto.dev or chrome://tracing). One process for
// each node, tracks for each unit (as many as its requests overlap), a slice for each request from arrival to response. Arrows
// follow packets; a counter for each unit shows requests in progress.
//
// Monitors the sockets between the units, and so sees only transfers across a unit's border. A hit is a slice of the lookup's
// length, a miss a slice until the response.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "testbenches/program/recording/span_file.h"
#include "tlm/base/kernel.h"
#include "tlm/checker/pointer_map.h"

namespace hcasim {

struct span_window {
  ps from{0};
  ps until = never;
  std::size_t limit = 1'000'000;  // spans
};

class span_recorder : public sc_core::sc_module {
 public:
  // Throws input_error when the file cannot be written.
  span_recorder(const span_window& window, const std::filesystem::path& file, const std::string& version);
  ~span_recorder() override;

  // Ends unanswered spans at `end`, the end of the run. Throws input_error when writing failed.
  void finish(ps end);
  [[nodiscard]] std::size_t spans() const { return count_; }
  // Returns the time at which the limit was reached; never = it was not.
  [[nodiscard]] ps stopped_at() const { return stopped_at_; }

 private:
  class any_tap {
   public:
    virtual ~any_tap() = default;
    virtual void finish(ps end) = 0;
  };
  template <class P>
  class tap;

  void end_of_elaboration() override;
  template <class P>
  void listen();
  std::uint16_t track(const std::string& unit);
  // Returns false when the span is not recorded.
  bool open(const span& s);
  void close(span& s, ps t);

  span_window window_;
  ps stopped_at_ = never;
  std::vector<std::unique_ptr<any_tap>> taps_;
  std::vector<span_track> tracks_;
  std::vector<span_name> names_;
  std::size_t count_ = 0;
  pointer_map<std::uint32_t> flights_;  // packets on their way: number
  std::uint32_t packets_ = 0;
  span_file file_;
};

}  // namespace hcasim
