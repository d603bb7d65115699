// Which keys let a peer read what, and when: kept by the software that gives them, beside the account of bytes. Two keys may
// reach the same bytes, and the bytes do not tell which of them was used.
#pragma once

#include <cstdint>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim::kit {

class key_ledger {
 public:
  struct use {
    std::uint32_t key;  // as it is written, with all its 32 bits
    std::uint64_t va;
    std::uint64_t bytes;
    ps begun;     // at the adapter
    ps answered;  // with data
  };

  // From the order that gives it on. Which key it is, software may be told later than a peer can guess.
  void give(std::uint32_t key, std::uint64_t va, std::uint64_t bytes, ps from);
  // All that the key gave; at `until` taking it away has completed.
  void take(std::uint32_t key, ps until);
  // Bytes were shown to one of these, nobody knows which.
  void note(const std::vector<use>& any, std::uint64_t bytes);

  // Bytes shown by uses that no key allowed at any time between their begin and their answer.
  [[nodiscard]] std::uint64_t wrongly_shown() const;

 private:
  static constexpr std::size_t remembered = 128;  // and all that hold
  struct entry {
    std::uint32_t key;
    std::uint64_t va;
    std::uint64_t bytes;
    ps from;
    ps until;

    [[nodiscard]] bool allows(const use& u) const {
      return key == u.key && from <= u.answered && until >= u.begun && u.va >= va && u.va - va <= bytes &&
             u.bytes <= bytes - (u.va - va);
    }
  };
  std::vector<entry> entries_;  // in the order in which they were given
  struct doubt {
    std::vector<use> any;
    std::uint64_t bytes;
  };
  [[nodiscard]] bool allowed(const std::vector<use>& any) const;

  std::vector<doubt> doubts_;
};

}  // namespace hcasim::kit
