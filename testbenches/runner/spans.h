// The way of every request through the units as a Chrome trace (JSON, for ui.perfetto.dev or chrome://tracing): one process per
// node, tracks for each unit (as many as its requests overlap), a slice for each request from its arrival to its answer, arrows
// along packets, and a counter of requests in progress for each unit.
//
// Listens on the sockets between the units, so it knows of a unit what crosses its border: a hit is a slice of the look-up's
// length, a miss one that reaches to the answer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/base/kernel.h"

namespace hcasim {

struct span_window {
  ps from{0};
  ps until = never;
  std::size_t limit = 1'000'000;  // spans
};

class span_recorder : public sc_core::sc_module {
 public:
  explicit span_recorder(const span_window& window);
  ~span_recorder() override;

  // Throws input_error when the file cannot be written. `end`: of the run; what is unanswered ends there.
  void write(const std::filesystem::path& file, const std::string& version, ps end);
  [[nodiscard]] std::size_t spans() const { return count_; }
  // When the limit was reached; never: it was not.
  [[nodiscard]] ps stopped_at() const { return stopped_at_; }

 private:
  template <class P>
  class tap;
  struct span {
    ps begin;
    ps end;  // never: unanswered
    std::uint64_t a;
    std::uint64_t b;
    std::uint32_t track;
    std::uint32_t name;
    std::uint32_t arrow;  // the packet's number; 0: none
    bool arrives;         // the arrow ends here
  };
  struct name_entry {
    std::string text;
    std::string_view a;  // what the numbers are called; empty: none
    std::string_view b;
  };

  void end_of_elaboration() override;
  template <class P>
  void listen();
  std::uint32_t track(const std::string& name);
  // Index + 1 of the span, 0 when it is not recorded.
  std::uint32_t open(const span& s);
  void close(std::uint32_t index, ps t) { at(index - 1).end = t; }
  [[nodiscard]] span& at(std::size_t index) { return blocks_[index / block_spans][index % block_spans]; }
  [[nodiscard]] const span& at(std::size_t index) const { return blocks_[index / block_spans][index % block_spans]; }
  // The events of one track, as they are in the file; `pid`: of its node.
  [[nodiscard]] std::vector<std::string> track_text(std::uint32_t track, std::uint64_t pid,
                                                    const std::vector<std::uint32_t>& list,
                                                    const std::vector<std::string>& texts) const;

  span_window window_;
  ps stopped_at_ = never;
  std::vector<std::shared_ptr<void>> taps_;
  std::vector<std::string> tracks_;
  std::vector<name_entry> names_;
  static constexpr std::size_t block_spans = 1 << 14;
  std::vector<std::unique_ptr<span[]>> blocks_;
  std::size_t count_ = 0;
  std::unordered_map<const void*, std::uint32_t> flights_;  // packets on their way: number
  std::uint32_t packets_ = 0;
};

}  // namespace hcasim
