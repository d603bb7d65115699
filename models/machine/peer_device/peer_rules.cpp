#include "models/machine/peer_device/peer_rules.h"

#include <algorithm>
#include <cstring>

namespace hcasim {

void sparse_bytes::read(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const std::uint64_t at = offset % block;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(block - at, to.size()));
    const auto it = blocks_.find(offset / block);
    if (it == blocks_.end()) {
      std::memset(to.data(), 0, n);
    } else {
      std::memcpy(to.data(), it->second->data() + at, n);
    }
    to = to.subspan(n);
    offset += n;
  }
}

void sparse_bytes::write(std::uint64_t offset, std::span<const std::byte> from) {
  while (!from.empty()) {
    const std::uint64_t at = offset % block;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(block - at, from.size()));
    auto& bytes = blocks_[offset / block];
    if (!bytes) bytes = std::make_unique<std::array<std::byte, block>>();
    std::memcpy(bytes->data() + at, from.data(), n);
    from = from.subspan(n);
    offset += n;
  }
}

read_pipe::times read_pipe::take(ps t, std::uint64_t bytes) {
  const ps begin = std::max(t, ends_[next_]);
  const ps work = rate_.time_for(bytes);
  const ps end = port_.start(begin + latency_, work) + work;
  ends_[next_] = end;
  slots_.add(1, begin);
  slots_.add(-1, end);
  next_ = next_ + 1 == ends_.size() ? 0 : next_ + 1;
  return {begin, end};
}

}  // namespace hcasim
