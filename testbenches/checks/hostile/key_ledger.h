// Which keys let a peer do what, and when: kept by the software that gives them, beside the account of bytes. Two keys may
// reach the same bytes, and the bytes do not tell which of them was used.
#pragma once

#include <cstdint>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim::kit {

class key_ledger {
 public:
  // Rights are those of verbs (IBV_ACCESS_REMOTE_...).
  struct grant {
    std::uint32_t key;  // as it is written, with all its 32 bits
    unsigned access;
    std::uint64_t va;
    std::uint64_t bytes;
    bool may_go = false;  // a peer may invalidate it
  };
  struct use {
    std::uint32_t key;
    unsigned needs;
    std::uint64_t va;
    std::uint64_t bytes;
    ps begun;  // at the adapter
    ps ended;  // its bytes are shown, or placed
  };

  // From the order that gives it on. Which key it is, software may be told later than a peer can guess.
  // `done`: when the order had completed.
  void give(const grant& g, ps from, ps done);
  // All that the key gave; at `until` taking it away has completed.
  void take(std::uint32_t key, ps until);
  // It had been given by then, and has not been taken.
  [[nodiscard]] bool holds(std::uint32_t key, ps at) const;
  // A peer may invalidate it, and no other one of its entry had been given later by then, as far as is remembered.
  [[nodiscard]] bool may_go(std::uint32_t key, ps at) const;
  // A peer has invalidated it by a packet that came at `at`: it holds no more from some later time on, which is not known.
  void invalidated(std::uint32_t key, ps at);
  // Bytes were shown or placed by one of these; which one is not known.
  void note(const std::vector<use>& any, std::uint64_t bytes);

  // Bytes of uses that no key allowed at any time between their begin and their end.
  [[nodiscard]] std::uint64_t misused() const;

 private:
  static constexpr std::size_t remembered = 128;  // and all that hold
  struct entry {
    grant given;
    ps from;
    ps done;
    ps until;
    bool gone;

    [[nodiscard]] bool allows(const use& u) const {
      const grant& g = given;
      return g.key == u.key && (u.needs & ~g.access) == 0 && from <= u.ended && until >= u.begun && u.va >= g.va &&
             u.va - g.va <= g.bytes && u.bytes <= g.bytes - (u.va - g.va);
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
