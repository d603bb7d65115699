// The integrity code of a 32-bit word. Plain arithmetic.
//
// parity: a bit for each byte, so that it notices an odd number of wrong bits in a byte. secded: seven bits, of which each bit
// of the word changes three, another three for each (Hsiao): one wrong bit is known and put right, two are noticed. A word of
// zeros has a code of zeros: memory that was never written is sound.
#pragma once

#include <cstdint>

namespace hcasim {

// The code that the adapter keeps with each 32-bit word of contexts and tables: none, one parity bit for each byte, or one that
// tells which bit of the word is wrong and notices two.
enum class icm_check : std::uint8_t { none, parity, secded };

enum class word_state : std::uint8_t { good, corrected, damaged };

std::uint8_t code_of(icm_check check, std::uint32_t word);
// Checks a word that was read with its code; corrects what can be corrected.
word_state mend(icm_check check, std::uint32_t& word, std::uint8_t code);

}  // namespace hcasim
