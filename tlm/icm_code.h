// The integrity code of a 32-bit word. Plain arithmetic.
//
// parity: a bit for each byte notices an odd number of wrong bits. secded: seven bits (Hsiao); each bit of the word changes
// another three of them. One wrong bit is corrected, two are noticed. A word of zeros has a code of zeros: memory that was
// never written is sound.
#pragma once

#include <cstdint>

namespace hcasim {

// The code of each 32-bit word of contexts and tables: none, a parity bit for each byte, or single error correction with double
// error detection.
enum class icm_check : std::uint8_t { none, parity, secded };

enum class word_state : std::uint8_t { good, corrected, damaged };

std::uint8_t code_of(icm_check check, std::uint32_t word);
// Checks a word against its code, as read together; corrects a correctable error.
word_state mend(icm_check check, std::uint32_t& word, std::uint8_t code);

}  // namespace hcasim
