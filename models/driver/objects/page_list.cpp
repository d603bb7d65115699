#include "models/driver/objects/page_list.h"

#include <algorithm>

namespace hcasim::driver {

void append_chunks(std::span<const virtual_memory::frame_run> runs, std::uint64_t max_segment, std::vector<hca_chunk>& out) {
  for (auto [physical, left] : runs) {
    if (!out.empty() && out.back().address + out.back().length == physical && out.back().length < max_segment) {
      const std::uint64_t n = std::min(left, max_segment - out.back().length);
      out.back().length += n;
      physical += n;
      left -= n;
    }
    while (left > 0) {
      const std::uint64_t n = std::min(left, max_segment);
      out.push_back({physical, n});
      physical += n;
      left -= n;
    }
  }
}

unsigned uniform_shift(std::span<const virtual_memory::frame_run> runs, std::uint32_t shifts) {
  std::uint64_t boundaries = 0;  // every bit that must be zero below the page size
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    boundaries |= runs[i].physical;
    if (i + 1 < runs.size()) boundaries |= runs[i].bytes;
    total += runs[i].bytes;
  }
  unsigned best = host_page_shift;
  for (unsigned s = host_page_shift + 1; s < 32; ++s) {
    if (!(shifts >> s & 1)) continue;
    if ((1ULL << s) > total || (boundaries & ((1ULL << s) - 1))) break;
    best = s;
  }
  return best;
}

std::vector<std::uint64_t> uniform_pages(std::span<const virtual_memory::frame_run> runs, unsigned shift) {
  std::vector<std::uint64_t> pages;
  for (const auto& run : runs) {
    for (std::uint64_t at = 0; at < run.bytes; at += 1ULL << shift) pages.push_back(run.physical + at);
  }
  return pages;
}

}  // namespace hcasim::driver
