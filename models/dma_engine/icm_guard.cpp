#include "models/dma_engine/icm_guard.h"

#include <cstring>
#include <string>

#include "firmware/abi/sound.h"

namespace hcasim {
namespace {

constexpr std::size_t word = sizeof(std::uint32_t);

// `bytes` from `data` on, if they are one whole entry.
template <class T>
bool sound(bool (*rule)(const T*), const std::byte* data, std::uint32_t bytes) {
  if (bytes != sizeof(T)) return true;
  T entry;
  std::memcpy(&entry, data, sizeof entry);
  return rule(&entry);
}

bool ptes_sound(const std::byte* data, std::uint32_t bytes) {
  for (std::uint32_t at = 0; at + sizeof(hca_pte) <= bytes; at += sizeof(hca_pte)) {
    hca_pte entry = 0;
    std::memcpy(&entry, data + at, sizeof entry);
    if (!hca_pte_sound(entry)) return false;
  }
  return true;
}

}  // namespace

bool icm_guard::is_sound(icm_entry kind, const dma_request& r) const {
  switch (kind) {
    case icm_entry::qpc: {
      hca_qpc q;
      if (r.bytes != sizeof q) return true;
      std::memcpy(&q, r.data, sizeof q);
      return hca_qpc_sound(&q) && q.mtu_shift <= mtu_shift_;
    }
    case icm_entry::cqc:
      return sound(hca_cqc_sound, r.data, r.bytes);
    case icm_entry::mrc:
      return sound(hca_mrc_sound, r.data, r.bytes);
    case icm_entry::pte:
      return ptes_sound(r.data, r.bytes);
    default:
      return true;
  }
}

void icm_guard::set_area(icm_entry kind, std::uint64_t base, std::uint64_t bytes) {
  if (kind != icm_entry::none) areas_[static_cast<std::size_t>(kind)] = {base, bytes};
}

void icm_guard::make_code(const dma_request& r, std::vector<std::uint8_t>& code) const {
  code.assign(r.bytes / word, 0);
  if (r.op != dma_op::write) return;
  for (std::size_t i = 0; i < code.size(); ++i) {
    std::uint32_t w = 0;
    std::memcpy(&w, r.data + i * word, word);
    code[i] = code_of(config_.check, w);
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
  if (is_sound(kind, r)) return true;
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
