#include "tlm/cells.h"

#include <cstring>

namespace hcasim {

void cells::ask(std::size_t kind, const fault_request& r) {
  asked_.at(kind) += r.count;
  draw_ = r.draw;
}

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
  constexpr std::size_t word_bits = 32;
  const bool twice = asked_[0] == 0;
  --asked_[twice ? 1 : 0];
  const std::uint64_t bit = draw_ % (entry.size() * 8);
  draw_ = draw_ * 6364136223846793005ULL + 1442695040888963407ULL;
  std::byte* const at = entry.data() + bit / word_bits * sizeof(std::uint32_t);
  std::uint32_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const std::uint8_t code = code_of(protection_.check, word);
  word ^= 1U << (bit % word_bits);
  if (twice) word ^= 1U << ((bit + 7) % word_bits);
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
