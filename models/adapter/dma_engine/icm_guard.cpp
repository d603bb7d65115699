#include "models/adapter/dma_engine/icm_guard.h"

#include <cstring>
#include <string>

#include "firmware/abi/command.h"
#include "tlm/icm_sound.h"

namespace hcasim {
namespace {

constexpr std::size_t word = sizeof(std::uint32_t);
// Two wrong bits: neither code takes the word for right or for correctable.
constexpr std::uint8_t ruin = 3;

}  // namespace

void icm_guard::set_area(icm_entry kind, std::uint64_t base, std::uint64_t bytes) {
  if (kind != icm_entry::none) areas_[static_cast<std::size_t>(kind)] = {base, bytes};
}

std::uint64_t icm_guard::page_at(icm_entry kind, std::uint64_t address) const {
  const auto k = static_cast<std::size_t>(kind);
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < k; ++i) before += ceil_div(areas_[i].bytes, std::uint64_t{1} << HCA_ICM_PAGE_SHIFT);
  return before + ((address - areas_[k].base) >> HCA_ICM_PAGE_SHIFT);
}

void icm_guard::make_code(const dma_request& r, std::vector<std::uint8_t>& code) const {
  code.assign(r.bytes / word, 0);
  if (r.op != dma_op::write) return;
  for (std::size_t i = 0; i < code.size(); ++i) {
    std::uint32_t w = 0;
    std::memcpy(&w, r.data + i * word, word);
    code[i] = code_of(config_.check, w);
    if (r.ruined) code[i] ^= ruin;
  }
}

bool icm_guard::mend_words(const dma_request& r, const std::vector<std::uint8_t>& code, counts& of) const {
  bool good = true;
  for (std::size_t i = 0; i < code.size(); ++i) {
    std::uint32_t w = 0;
    std::memcpy(&w, r.data + i * word, word);
    const word_state s = mend(config_.check, w, code[i]);
    if (s == word_state::good) continue;
    good &= s == word_state::corrected;
    of.corrected += s == word_state::corrected;
    std::memcpy(r.data + i * word, &w, word);
  }
  return good;
}

bool icm_guard::believes(icm_entry kind, const dma_request& r, const std::vector<std::uint8_t>& code) {
  counts& of = counts_[static_cast<std::size_t>(kind)];
  if (has_code() && !mend_words(r, code, of)) {
    ++of.detected;
    return false;
  }
  if (is_sound(kind, {r.data, r.bytes}, mtu_shift_)) return true;
  ++of.unbelievable;
  return false;
}

void icm_guard::list(statistics& s) const {
  for (std::size_t i = 0; i < icm_entries; ++i) {
    const std::string kind = icm_entry_names[i];
    s.add("icm_corrected_" + kind, "1", "32-bit words of " + kind + " entries that their code put right", counts_[i].corrected);
    s.add("icm_detected_" + kind, "1", "reads of " + kind + " entries that their code refused", counts_[i].detected);
    s.add("icm_unbelievable_" + kind, "1", "reads that found no " + kind + " entry that can be", counts_[i].unbelievable);
  }
}

}  // namespace hcasim
