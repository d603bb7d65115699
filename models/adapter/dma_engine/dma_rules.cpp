#include "models/adapter/dma_engine/dma_rules.h"

#include <algorithm>

#include "tlm/base/units.h"

namespace hcasim::dma_rules {
namespace {

std::uint64_t in_page(std::uint64_t address, std::uint64_t remaining) {
  return std::min(remaining, page - (address & (page - 1)));
}

}  // namespace

std::uint32_t read_pieces(std::uint64_t address, std::uint64_t bytes, std::uint64_t mrrs) {
  return static_cast<std::uint32_t>(((address & (mrrs - 1)) + bytes + mrrs - 1) / mrrs);
}

std::uint32_t read_burst(std::uint64_t address, std::uint64_t remaining, std::uint64_t mrrs, std::uint64_t tags) {
  const std::uint64_t reach = tags * mrrs - (address & (mrrs - 1));
  return static_cast<std::uint32_t>(std::min(in_page(address, remaining), reach));
}

std::uint32_t write_burst(std::uint64_t address, std::uint64_t remaining, std::uint64_t buffer) {
  return static_cast<std::uint32_t>(std::min(in_page(address, remaining), buffer));
}

double moving_cycles(std::uint32_t bytes, std::uint64_t line, std::uint32_t width) {
  if (width == 0) return 0;
  const std::uint64_t moved = line == 0 ? bytes : (bytes + line - 1) / line * line;
  return static_cast<double>(moved) / width;
}

}  // namespace hcasim::dma_rules
