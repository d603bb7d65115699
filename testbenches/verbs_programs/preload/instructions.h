// Instructions of x86-64: how long they are, where their operands stand, and the places in code that read the time-stamp
// counter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hcasim::preload {

struct instruction {
  std::size_t length = 0;    // bytes; 0 = not known, or longer than the code
  bool narrow = false;       // numbers of 2 bytes for 4
  bool short_place = false;  // addresses of 4 bytes for 8
  bool repeat = false;       // prefix f3
  bool other_prefix = false;
  bool vector = false;      // VEX or EVEX
  unsigned rex = 0;         // prefix 40 to 4f; 0 = none
  unsigned map = 0;         // of opcodes: 0 of one byte, 1 behind 0f, 2 behind 0f 38, 3 behind 0f 3a
  unsigned opcode = 0;      // in its map
  std::size_t address = 0;  // place of ModRM; 0 = none
  std::size_t number = 0;   // bytes of a number at the end
};

// Decodes the instruction at `code`, and reads no byte behind it but one.
instruction decode(std::span<const std::uint8_t> code);

// Returns whether an instruction begins at `place` when the first one begins at 0.
bool begins_at(std::span<const std::uint8_t> code, std::size_t place);

// Returns the place of the last bytes that read like RDTSC or RDTSCP; code.size() = none.
std::size_t last_counter_read(std::span<const std::uint8_t> code);

}  // namespace hcasim::preload
