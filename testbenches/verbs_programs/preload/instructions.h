// Lengths of instructions, and the places in code that read the time-stamp counter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hcasim::preload {

// Returns the bytes of the instruction at `code` in 64-bit mode; 0 = not known, or longer than the code.
std::size_t instruction_length(std::span<const std::uint8_t> code);

// Returns whether an instruction begins at `place` when the first one begins at 0.
bool begins_at(std::span<const std::uint8_t> code, std::size_t place);

// Returns the place of the last bytes that read like RDTSC or RDTSCP; code.size() = none.
std::size_t last_counter_read(std::span<const std::uint8_t> code);

}  // namespace hcasim::preload
