// Names and values of waveform files, as other tools write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "testbenches/program/recording/waves.h"

namespace hcasim {

// Sets name and range of `s`, whose width is known, from "n [3:0]", "n[3:0]", "n [2]" or "n"; "m[2]" is an element's name.
void name_signal(wave_signal& s, std::string_view text);

// Maps a digit of nine states (IEEE 1164) to 0, 1, x or z; 0 = no digit.
char four_state(char digit);

// Turns the times of a file into picoseconds.
struct time_scale {
  std::int64_t picoseconds = 1;  // of one unit of the file, unless it is a part of one
  std::int64_t parts = 1;        // units of the file in a picosecond

  // Returns why `time` cannot be represented; empty = it can.
  [[nodiscard]] std::string objection(std::uint64_t time) const;
  [[nodiscard]] ps at(std::uint64_t time) const { return ps(static_cast<std::int64_t>(time) * picoseconds / parts); }
  // Sets the unit to 10^exponent seconds; false = it is none of 1 fs to 100 s.
  bool set(int exponent);
};

}  // namespace hcasim
