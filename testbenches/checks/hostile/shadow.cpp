#include "testbenches/checks/hostile/shadow.h"

#include <algorithm>

#include "testbenches/kit/forger.h"

namespace hcasim::kit {
namespace {

std::uint64_t mixed(std::uint64_t va) {
  va *= 0x9e3779b97f4a7c15;
  va ^= va >> 29;
  return va * 0xbf58476d1ce4e5b9;
}

}  // namespace

shadow::shadow(process_context& p, std::uint64_t bytes)
    : p_(p), arena_(p.memory.allocate(bytes)), state_(bytes), monitor_(p.n.host, p.memory, arena_, bytes) {
  std::vector<std::byte> all(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) all[i] = private_byte(arena_ + i);
  p_.memory.write(arena_, all);
}

std::byte shadow::private_byte(std::uint64_t va) {
  return static_cast<std::byte>(0x40 | (mixed(va) >> 58));
}

std::byte shadow::public_byte(std::uint64_t va) {
  return static_cast<std::byte>(mixed(va) >> 50 & 0x3f);
}

void shadow::grant(std::uint64_t va, std::uint64_t bytes, std::uint8_t rights) {
  if (rights == none) return;
  inspect(va, bytes);
  std::vector<std::byte> there(bytes);
  p_.memory.read(va, there);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    std::uint8_t& s = state_[va + i - arena_];
    if ((s & (read | write | anything)) == 0) there[i] = public_byte(va + i);
    s = static_cast<std::uint8_t>(s | rights | ((rights & write) != 0 ? written : 0) |
                                  ((rights & anything) != 0 ? muddled : 0));
  }
  p_.memory.write(va, there);
  const bool reads = (rights & (read | anything)) != 0;
  const bool writes = (rights & (write | anything)) != 0;
  monitor_.allow(va, bytes,
                 static_cast<std::uint8_t>((reads ? grant_monitor::readable : 0) | (writes ? grant_monitor::writable : 0)));
}

void shadow::revoke(std::uint64_t va, std::uint64_t bytes) {
  inspect(va, bytes);
  monitor_.forbid(va, bytes);
  std::vector<std::byte> fresh(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    fresh[i] = private_byte(va + i);
    state_[va + i - arena_] &= written | muddled;
  }
  p_.memory.write(va, fresh);
}

bool shadow::fits(std::uint64_t va, std::byte b, std::uint8_t state) {
  if ((state & anything) != 0) return true;
  if ((state & (read | write)) == 0) return b == private_byte(va);
  return b == public_byte(va) || ((state & write) != 0 && (b & std::byte{0x80}) != std::byte{0});
}

void shadow::inspect(std::uint64_t va, std::uint64_t bytes) {
  std::vector<std::byte> now_there(bytes);
  p_.memory.read(va, now_there);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    if (fits(va + i, now_there[i], state_[va + i - arena_])) continue;
    ++violations_;
    note("byte " + std::to_string(va + i - arena_) + " of the arena has been changed, which no grant allowed");
  }
}

// Memory that was granted then may have been taken away meanwhile; private bytes were never shown.
bool shadow::may_show(std::uint64_t va, std::span<const std::byte> shown) const {
  if (!holds(va, shown.size())) return false;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::uint8_t s = state_[va + i - arena_];
    if ((s & muddled) != 0 || shown[i] == public_byte(va + i)) continue;
    if ((s & written) == 0 || (shown[i] & std::byte{0x80}) == std::byte{0}) return false;
  }
  return true;
}

void shadow::check() {
  inspect(arena_, state_.size());
  std::vector<std::byte> page(grant_monitor::page_bytes);
  for (const std::uint64_t frame : monitor_.written_outside()) {
    p_.n.host.memory_bytes().read(frame * grant_monitor::page_bytes, page);
    const std::uint64_t found = forger::payload_in(page);
    violations_ += found;
    if (found != 0) note("bytes of a hostile payload lie in a page of the driver or of another process");
  }
}

}  // namespace hcasim::kit
