#include "tlm/cells.h"

#include <cstring>

namespace hcasim {

bool cells::read(std::span<std::byte> entry) {
  if (!entries_.due()) return true;
  const bit_faults::spot wrong = entries_.next(entry.size() / sizeof(std::uint32_t));
  std::byte* const at = entry.data() + wrong.word * sizeof(std::uint32_t);
  std::uint32_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const word_state found = spoil(word, wrong.bits);
  std::memcpy(at, &word, sizeof word);
  if (found != word_state::good) return count(found);
  if (is_sound(protection_.kind, entry, protection_.mtu_shift)) return true;
  ++unbelievable_;
  return false;
}

bool cells::read_tag(std::uint32_t& tag) {
  return !tags_.due() || count(spoil(tag, tags_.next(1).bits));
}

word_state cells::spoil(std::uint32_t& word, std::uint32_t bits) const {
  const std::uint8_t code = code_of(protection_.check, word);
  word ^= bits;
  return mend(protection_.check, word, code);
}

bool cells::count(word_state found) {
  corrected_ += found == word_state::corrected ? 1 : 0;
  detected_ += found == word_state::damaged ? 1 : 0;
  return found != word_state::damaged;
}

void cells::list(statistics& s) {
  s.add("cell_corrected", "1", "entries and tags found with a wrong bit that their code put right", corrected_);
  s.add("cell_detected", "1", "entries and tags found with wrong bits that their code refused", detected_);
  s.add("cell_unbelievable", "1", "entries found with wrong bits that make no entry that can be", unbelievable_);
}

}  // namespace hcasim
