// Address translation services on the link, as the PCI Express specification lays them out. An entry of 8 bytes holds an
// address; its low bits tell the size of the range around the address.
#pragma once

#include <bit>
#include <cstdint>

namespace hcasim {

enum ats_entry_bits : std::uint64_t { ats_read = 1 << 0, ats_write = 1 << 1, ats_size = 1 << 11 };
// Codes of a translation request: the device means to read only.
enum ats_request_bits : std::uint8_t { ats_no_write = 1 };
// Codes of a page request: the wanted rights, and the end of its group.
enum ats_page_request : std::uint8_t { ats_page_read = 1, ats_page_write = 2, ats_page_last = 4 };
enum class ats_response : std::uint8_t { success = 0, invalid_request = 1, failure = 15 };

inline constexpr unsigned ats_tags = 32;     // invalidations that a device has to take at once
inline constexpr unsigned ats_groups = 512;  // groups of page requests

// The entry of [address, address + 2^shift); shift from 12 on. With more than 12 the lowest address bit that is zero, from bit
// 12 on, says where the address begins.
constexpr std::uint64_t ats_entry(std::uint64_t address, unsigned shift, std::uint64_t rights = 0) {
  const std::uint64_t base = address >> shift << shift;
  if (shift <= 12) return base | rights;
  const std::uint64_t ones = (std::uint64_t{1} << (shift - 1)) - (std::uint64_t{1} << 12);
  return base | ones | ats_size | rights;
}
constexpr unsigned ats_shift(std::uint64_t entry) {
  return entry & ats_size ? 13 + static_cast<unsigned>(std::countr_one(entry >> 12)) : 12;
}
constexpr std::uint64_t ats_base(std::uint64_t entry) {
  return entry >> ats_shift(entry) << ats_shift(entry);
}

static_assert(ats_entry(0x12345678, 12, ats_read) == 0x12345001);
static_assert(ats_shift(ats_entry(0x40000000, 21)) == 21 && ats_base(ats_entry(0x40212345, 21)) == 0x40200000);
static_assert(ats_shift(ats_entry(0, 13)) == 13 && ats_base(ats_entry(0x6000, 13)) == 0x6000);

}  // namespace hcasim
