#include "tlm/cells.h"

#include <cstring>

namespace hcasim {

bool cells::read(std::span<std::byte> entry) {
  switch (spoil(entry)) {
    case word_state::corrected:
      ++corrected_;
      return true;
    case word_state::damaged:
      ++detected_;
      return false;
    case word_state::good:
      break;
  }
  if (is_sound(protection_.kind, entry, protection_.mtu_shift)) return true;
  ++unbelievable_;
  return false;
}

word_state cells::spoil(std::span<std::byte> entry) {
  const bit_faults::spot wrong = faults_.next(entry.size() / sizeof(std::uint32_t));
  std::byte* const at = entry.data() + wrong.word * sizeof(std::uint32_t);
  std::uint32_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const std::uint8_t code = code_of(protection_.check, word);
  word ^= wrong.bits;
  const word_state found = mend(protection_.check, word, code);
  std::memcpy(at, &word, sizeof word);
  return found;
}

void cells::list(statistics& s) {
  s.add("cell_corrected", "1", "entries found with a wrong bit that their code put right", corrected_);
  s.add("cell_detected", "1", "entries found with wrong bits that their code refused", detected_);
  s.add("cell_unbelievable", "1", "entries found with wrong bits that make no entry that can be", unbelievable_);
}

}  // namespace hcasim
