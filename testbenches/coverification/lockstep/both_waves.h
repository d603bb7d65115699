// The actions of both sides, in one waveform with the inside of the RTL. Scopes lockstep.model and lockstep.rtl show the latest
// offered and answered item and the first words of the answer. They also show the signals of the model and of the RTL's shell.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "testbenches/coverification/lockstep/lockstep.h"
#include "tlm/base/probe.h"

namespace hcasim::lockstep {

class both_waves final : public probe_sink {
 public:
  both_waves();
  both_waves(const both_waves&) = delete;
  both_waves& operator=(const both_waves&) = delete;
  // Names the units to watch, before the simulation. The watch begins with the simulation, after all other watchers. Null = the
  // side does not run.
  void watch(const std::array<const unit*, sides>& units);
  void offered(side s, std::uint64_t number, ps at) { change(first_of_[s], number, at); }
  void answered(side s, std::uint64_t number, const comparison::answer& a, ps at);
  void change(std::uint32_t signal, std::uint64_t value, ps at) override { changes_.push_back({at, signal, value}); }
  // Adds the signals to the RTL's closed waveform after the simulation, from the waveform's first time on.
  void merge_into(const std::string& vcd_file);

 private:
  static constexpr std::uint32_t answer_words = 3;
  struct shown {
    std::string name;
    unsigned width;
    side of;
  };
  struct one {
    ps at;
    std::uint32_t signal;
    std::uint64_t value;
  };
  void begin();
  [[nodiscard]] std::string header() const;
  [[nodiscard]] std::string line(const one& c) const;

  std::array<const unit*, sides> units_{};
  std::vector<shown> signals_;
  std::uint32_t first_of_[sides] = {};
  std::vector<one> changes_;
};

}  // namespace hcasim::lockstep
