// The result of a protection check. Plain C++, shared by the rules and the protocol that carries the verdict.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hcasim {

// In the order of the checks; the counters and the waveform use it.
enum class verdict : std::uint8_t {
  granted,
  bad_index,
  bad_key,
  bad_state,
  bad_association,
  bad_rights,
  bad_bounds,
  table_error,
  page_fault  // no result of a check: the key is good, but a page of an on-demand region is missing (memory_access)
};
inline constexpr std::size_t verdicts = 8;  // results of the checks
inline constexpr const char* verdict_names[verdicts] = {"granted",         "bad_index",  "bad_key",    "bad_state",
                                                        "bad_association", "bad_rights", "bad_bounds", "table_error"};

// The part of a region or of a queue's buffer that the page walker needs.
struct translation {
  std::uint32_t index = 0;  // tags the caches: enum hca_table_tag | key index or queue number
  std::uint8_t levels = 0;  // 0: DMA address = VA
  std::uint8_t page_shift = 12;
  bool null = false;       // null region: no DMA, reads give 0
  bool indirect = false;   // a list of pieces of other regions (key_op::element)
  bool on_demand = false;  // an entry that is not present is a page fault
  std::uint64_t table = 0;
  std::uint64_t table_va = 0;
};

}  // namespace hcasim
