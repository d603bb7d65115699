// The way of every request through the units as a Chrome trace (JSON, for ui.perfetto.dev or chrome://tracing): one process per
// node, tracks for each unit (as many as its requests overlap), a slice for each request from its arrival to its answer, arrows
// along packets, and a counter of requests in progress for each unit.
//
// Listens on the sockets between the units, so it knows of a unit what crosses its border: a hit is a slice of the look-up's
// length, a miss one that reaches to the answer.
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

  // `end`: of the run; what is unanswered ends there. Throws input_error when writing failed.
  void finish(ps end);
  [[nodiscard]] std::size_t spans() const { return count_; }
  // When the limit was reached; never: it was not.
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
  // False = it is not recorded.
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
