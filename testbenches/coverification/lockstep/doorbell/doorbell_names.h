// The QPNs and CQNs of the doorbell unit's streams, which lie anywhere. Twenty-four pairs of QPs have QPNs that differ in one
// bit, each bit once.
#pragma once

#include <cstdint>
#include <vector>

namespace hcasim::lockstep {

// Returns the address of a QP's record, aligned or not. 0 = the QP is in reset, and nothing is recovered.
inline std::uint64_t record_of(std::uint32_t number) {
  return number % 31 == 30 ? 0 : number * 0x9e3779b97f4a7c15U;
}
inline constexpr std::uint32_t qp_without_record = 30;
// Returns true if the QP's record cannot be read.
inline bool record_fails(std::uint32_t number) {
  return number % 29 == 28;
}
// Returns where the indices of a QP begin: those of every second one soon wrap around.
inline std::uint16_t first_index(std::uint32_t number) {
  return number % 2 ? 0xff00 : 0;
}

class doorbell_names {
 public:
  // Names so many QPs.
  explicit doorbell_names(std::uint32_t qps) {
    for (std::uint32_t q = 0; q <= qps; ++q) names_.push_back(q == 1 ? 0xffffff : q * 0x9e3779U & 0xffffff);
    for (std::uint32_t q = first_twin; twins_.size() < twins; ++q) {
      if (!safe(q)) continue;
      names_[q] = twin(static_cast<std::uint32_t>(twins_.size()));
      twins_.push_back(q);
    }
  }
  // Returns true if a dropped doorbell of the QP is recovered. Other QPs are rung only when no doorbell can be dropped.
  static bool safe(std::uint32_t number) { return number % 31 != 30 && number % 29 != 28; }

  [[nodiscard]] std::uint32_t of_qp(std::uint32_t number) const { return names_[number]; }
  // Returns the number of a CQ or EQ. The first two differ in one bit, which changes from flood to flood.
  [[nodiscard]] std::uint32_t of_queue(std::uint32_t number) const {
    return number < 2 ? twin(twin_of(queue_bit_, number)) : names_[number + 1];
  }
  void next_queues() { queue_bit_ = (queue_bit_ + step) % bits; }
  // Finds the next two QPs whose names differ in one bit.
  void next_pair(std::uint32_t (&pair)[2]) {
    qp_bit_ = (qp_bit_ + step) % bits;
    for (std::uint32_t i = 0; i < 2; ++i) pair[i] = twins_[twin_of(qp_bit_, i)];
  }
  // Returns the QP whose record moves to an address of one bit; it keeps the address.
  [[nodiscard]] std::uint32_t at_address(std::uint32_t bit) const { return twins_[bit % twins_.size()]; }
  // Finds the pair of a turn: each bit has its turn.
  void pair_of(std::uint32_t turn, std::uint32_t (&pair)[2]) const {
    for (std::uint32_t i = 0; i < 2; ++i) pair[i] = twins_[twin_of((bits - 1 + turn * step) % bits, i)];
  }

 private:
  static constexpr std::uint32_t bits = 24, step = 7;
  static constexpr std::uint32_t twins = bits + bits / 2, first_twin = 20;
  // Returns a name of one bit, or of two bits that are twelve apart.
  static std::uint32_t twin(std::uint32_t n) { return n < bits ? 1U << n : 0x1001U << (n - bits); }
  static std::uint32_t twin_of(std::uint32_t bit, std::uint32_t i) {
    return i == 0 ? (bit + bits / 2) % bits : bits + bit % (bits / 2);
  }

  std::vector<std::uint32_t> names_;  // QPNs
  std::vector<std::uint32_t> twins_;  // QPs, by the number of their name
  std::uint32_t qp_bit_ = 9, queue_bit_ = 9;
};

}  // namespace hcasim::lockstep
