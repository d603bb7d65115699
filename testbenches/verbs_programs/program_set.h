// The programs of a run, for testbenches that run programs: their knobs, their making, and their reports.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "testbenches/program/execution/testbench.h"
#include "testbenches/verbs_programs/simulator/programs.h"

namespace hcasim {

class program_set {
 public:
  program_set();

  void knobs(knob_visitor& k);
  // Settings of time and of connections; the programs are added when they are made.
  applications::programs_config& config() { return config_; }
  // Makes the programs. Throws input_error: there is none (`how`: how to write one), or a program cannot be run.
  applications::programs& make(run_context& context, hcasim::system& s, const char* how);
  // Reports tables and figures after the end of all programs.
  void report(run_context& context, const applications::programs& running) const;

 private:
  static constexpr std::size_t most_programs = 16;

  struct program_knobs {
    std::string run;
    std::string node;
    std::string start = "first_idle";
    std::uint32_t expect = 0;

    void knobs(knob_visitor& k);
  };

  std::array<program_knobs, most_programs> programs_;
  applications::programs_config config_;
};

}  // namespace hcasim
