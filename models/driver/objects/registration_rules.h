// Rules of registration, decided before anything is pinned.   [B3.1 - B3.6, B.5]
#pragma once

#include <cerrno>
#include <cstdint>

#include "firmware/abi/access.h"
#include "models/driver/device/driver_config.h"
#include "models/driver/objects/page_list.h"

namespace hcasim::driver {

// Returns the rights without unknown optional bits, which are ignored.
inline std::uint32_t known_access(std::uint32_t access) {
  return access & (~static_cast<std::uint32_t>(HCA_ACCESS_OPTIONAL) | HCA_ACCESS_RELAXED_ORDERING);
}

// Returns 0, EINVAL (an unknown mandatory bit; remote write or atomic without local write), EOPNOTSUPP (on demand, flush).
inline int check_access(std::uint32_t access) {
  constexpr std::uint32_t unsupported = HCA_ACCESS_ON_DEMAND | HCA_ACCESS_FLUSH_GLOBAL | HCA_ACCESS_FLUSH_PERSISTENT;
  constexpr std::uint32_t mandatory = (HCA_ACCESS_FLUSH_PERSISTENT << 1) - 1;
  if (known_access(access) & ~(mandatory | HCA_ACCESS_RELAXED_ORDERING)) return EINVAL;
  if ((access & (HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC)) && !(access & HCA_ACCESS_LOCAL_WRITE)) return EINVAL;
  if (access & unsupported) return EOPNOTSUPP;
  return 0;
}

// The R_Key that a registration shows: the key, or 0 where the driver hides a key that no peer may use.   [A4]
inline std::uint32_t shown_rkey(std::uint32_t key, std::uint32_t access, bool hide_without_remote_rights) {
  constexpr std::uint32_t remote = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC;
  return hide_without_remote_rights && !(access & remote) ? 0 : key;
}

// Whether the pages must be writable; a window may grant writing later.   [B3.4]
inline bool needs_writable(std::uint32_t access) {
  return access & (HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_MW_BIND);
}

// [addr, addr + length), rounded to pages, must not wrap.   [B3.3]
inline bool range_wraps(std::uint64_t addr, std::uint64_t length) {
  const std::uint64_t end = addr + length;
  return end < addr || align_up(end, host_page) < end;
}

// The VA must lie where the buffer lies in its page.   [B3.2]
inline bool congruent(std::uint64_t addr, std::uint64_t iova) {
  return ((addr ^ iova) & (host_page - 1)) == 0;
}

// Bytes to pin for a region, or an errno in `error`: a zero-length region pins what the policy says.
struct pin_extent {
  int error = 0;
  std::uint64_t bytes = 0;
};
inline pin_extent bytes_to_pin(std::uint64_t addr, std::uint64_t length, zero_length_policy policy) {
  if (length > 0) return {0, length};
  if (policy == zero_length_policy::accept) return {0, 0};
  if (policy == zero_length_policy::page_count && (addr & (host_page - 1)) != 0) return {0, 1};
  return {EINVAL, 0};
}

}  // namespace hcasim::driver
