// The rights of each key over time, kept by the software that grants keys, in addition to the account of bytes. Two keys may
// reach the same bytes, and the bytes do not tell which key was used.
#pragma once

#include <cstdint>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim::kit {

class key_ledger {
 public:
  // A grant; its rights are IBV_ACCESS_REMOTE_... of verbs.
  struct grant {
    std::uint32_t key;  // with all its 32 bits
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

  // Enters a grant, valid from the time of the order. Software may learn the key later than a peer can guess it. `done`: the
  // order's completion.
  void give(const grant& g, ps from, ps done);
  // Ends all grants of the key; `until`: completion of the revocation.
  void take(std::uint32_t key, ps until);
  // Returns whether the key was granted by then, and has not been taken.
  [[nodiscard]] bool holds(std::uint32_t key, ps at) const;
  // Returns whether a peer may invalidate the key, and no other key of its entry was granted later by then, as far as
  // remembered.
  [[nodiscard]] bool may_go(std::uint32_t key, ps at) const;
  // Notes an invalidation by a peer's packet that came at `at`: the key ends at some later, unknown time.
  void invalidated(std::uint32_t key, ps at);
  // Notes bytes shown or placed by one of these uses; which one is unknown.
  void note(const std::vector<use>& any, std::uint64_t bytes);

  // Returns the bytes of uses that no key allowed at any time between their begin and their end.
  [[nodiscard]] std::uint64_t misused() const;

 private:
  static constexpr std::size_t remembered = 128;  // in addition to all that hold
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
  std::vector<entry> entries_;  // in the order of the grants
  struct doubt {
    std::vector<use> any;
    std::uint64_t bytes;
  };
  [[nodiscard]] bool allowed(const std::vector<use>& any) const;

  std::vector<doubt> doubts_;
};

}  // namespace hcasim::kit
