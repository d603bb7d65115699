#include "models/adapter/page_walker/translation_cache.h"

#include <algorithm>
#include <bit>

namespace hcasim {

translation_cache::translation_cache(std::uint32_t sets, std::uint32_t ways, std::uint32_t words, replacement_policy policy,
                                     std::uint64_t seed)
    : sets_(sets),
      ways_(ways),
      words_(words),
      mask_(std::has_single_bit(sets) ? sets - 1 : 0),
      list_mask_(std::bit_ceil(std::clamp(sets, 16U, 1U << 16)) - 1),
      signatures_(std::size_t{sets} * ways),
      cells_(std::size_t{sets} * ways),
      data_(std::size_t{sets} * ways * words),
      lists_(std::size_t{list_mask_} + 1),
      unlocked_(ways),
      policy_(make_replacement(policy, sets, ways, seed)) {}

std::uint32_t translation_cache::find_cell(const key& k, std::uint32_t set) const {
  const std::uint32_t base = set * ways_;
  const std::uint32_t signature = signature_of(k);
  for (std::uint32_t w = 0; w < ways_; ++w) {
    if (signatures_[base + w] == signature && cells_[base + w].k == k) return base + w;
  }
  return nowhere;
}

std::uint32_t translation_cache::empty_cell(std::uint32_t set) const {
  const std::uint32_t base = set * ways_;
  for (std::uint32_t w = 0; w < ways_; ++w) {
    if (signatures_[base + w] == 0) return base + w;
  }
  return nowhere;
}

std::uint64_t* translation_cache::find(const key& k) {
  if (sets_ == 0) return nullptr;
  const std::uint32_t set = set_of(k);
  const std::uint32_t at = find_cell(k, set);
  if (at == nowhere) return nullptr;
  policy_->used(set, at - set * ways_);
  return &data_[std::size_t{at} * words_];
}

bool translation_cache::put(const key& k, const std::uint64_t* words, std::uint64_t first, std::uint64_t last) {
  if (sets_ == 0) return false;
  const std::uint32_t set = set_of(k);
  std::uint32_t at = find_cell(k, set);
  if (at == nowhere) at = empty_cell(set);
  bool evicted = false;
  if (at == nowhere) {
    at = set * ways_ + policy_->victim(set, unlocked_.data());
    evicted = true;
  }
  if (cells_[at].k.tag_plus_1 != 0) remove(at);
  cells_[at] = {k, first, last, 0, 0};
  signatures_[at] = signature_of(k);
  link(at);
  std::copy_n(words, words_, &data_[std::size_t{at} * words_]);
  policy_->used(set, at - set * ways_);
  return evicted;
}

void translation_cache::forget(const key& k) {
  const std::uint32_t at = sets_ == 0 ? nowhere : find_cell(k, set_of(k));
  if (at != nowhere) remove(at);
}

void translation_cache::rename(const key& k, std::uint32_t tag) {
  const std::uint32_t at = sets_ == 0 ? nowhere : find_cell(k, set_of(k));
  if (at == nowhere) return;
  const cell was = cells_[at];
  const std::uint64_t* const words = &data_[std::size_t{at} * words_];
  const std::vector<std::uint64_t> copy(words, words + words_);
  remove(at);
  put({std::uint64_t{tag} + 1, k.table, k.number}, copy.data(), was.first, was.last);
}

std::uint32_t translation_cache::drop(std::uint32_t tag, std::uint64_t first, std::uint64_t last) {
  if (sets_ == 0) return 0;
  std::uint32_t dropped = 0;
  for (std::uint32_t at = list_of(std::uint64_t{tag} + 1); at != 0;) {
    const cell& c = cells_[at - 1];
    const std::uint32_t next = c.next_plus_1;
    if (c.k.tag_plus_1 == std::uint64_t{tag} + 1 && overlap(c.first, c.last, first, last)) {
      remove(at - 1);
      ++dropped;
    }
    at = next;
  }
  return dropped;
}

void translation_cache::link(std::uint32_t at) {
  std::uint32_t& head = list_of(cells_[at].k.tag_plus_1);
  cells_[at].next_plus_1 = head;
  if (head != 0) cells_[head - 1].previous_plus_1 = at + 1;
  head = at + 1;
  ++used_;
}

void translation_cache::remove(std::uint32_t at) {
  const cell& c = cells_[at];
  if (c.next_plus_1 != 0) cells_[c.next_plus_1 - 1].previous_plus_1 = c.previous_plus_1;
  if (c.previous_plus_1 != 0) {
    cells_[c.previous_plus_1 - 1].next_plus_1 = c.next_plus_1;
  } else {
    list_of(c.k.tag_plus_1) = c.next_plus_1;
  }
  cells_[at] = {};
  signatures_[at] = 0;
  --used_;
}

}  // namespace hcasim
