// Finds the memory operand of an instruction, for the instructions of loops over memory.
#pragma once

#include <cstdint>

#include "testbenches/verbs_programs/channel/machine.h"

namespace hcasim::preload {

struct operand {
  enum class kind : std::uint8_t { none, memory, unknown };
  kind what = kind::none;
  std::uint64_t address = 0;
};

// Returns the memory operand of the instruction at `code`, by the registers before the instruction. The stack of push, pop,
// call and return is no operand. The result is unknown for an instruction that is none of the usual ones in such loops, and on
// other processors than x86-64.
operand operand_of(const std::uint8_t* code, const machine::registers& registers);

}  // namespace hcasim::preload
