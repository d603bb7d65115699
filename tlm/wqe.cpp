#include "tlm/wqe.h"

#include <algorithm>
#include <cstring>

namespace hcasim {
namespace {

constexpr unsigned known_flags = HCA_WQE_SIGNALED | HCA_WQE_FENCE | HCA_WQE_SOLICITED | HCA_WQE_INLINE | HCA_WQE_DATAGRAM |
                                 HCA_WQE_GLOBAL | HCA_WQE_XRC | HCA_WQE_WIDE;

// Calls `use(chunk)` for each inline chunk; false = the chunks leave the WQE. `wide`: a chunk may cross blocks.
template <class F>
bool for_each_chunk(std::span<const std::byte> wqe, std::size_t at, bool wide, F use) {
  while (at + HCA_INLINE_HEADER <= wqe.size()) {
    std::uint32_t length = 0;
    std::memcpy(&length, wqe.data() + at, sizeof length);
    if (length == 0) return true;
    at += HCA_INLINE_HEADER;
    const std::size_t end = wide ? wqe.size() : (at / HCA_WQE_BLOCK + 1) * HCA_WQE_BLOCK;
    if (at % HCA_WQE_BLOCK == 0 || length > end - at) return false;
    use(wqe.subspan(at, length));
    at = (at + length + HCA_INLINE_HEADER - 1) / HCA_INLINE_HEADER * HCA_INLINE_HEADER;
  }
  return true;
}

}  // namespace

wqe_fault parse_wqe(std::span<const std::byte> bytes, wqe_view& out) {
  out = {};
  if (bytes.size() < HCA_WQE_BLOCK) return wqe_fault::size;
  std::memcpy(&out.control, bytes.data(), sizeof out.control);
  const hca_wqe_control& c = out.control;
  if (c.blocks == 0 || c.blocks > HCA_WQE_MAX_BLOCKS || std::size_t{c.blocks} * HCA_WQE_BLOCK > bytes.size()) {
    return wqe_fault::size;
  }
  if (c.opcode >= wqe_opcode_names.size()) return wqe_fault::opcode;
  if ((c.flags & ~known_flags) != 0 || c.reserved != 0) return wqe_fault::reserved;
  const std::span<const std::byte> wqe = bytes.first(std::size_t{c.blocks} * HCA_WQE_BLOCK);
  std::size_t at = sizeof(hca_wqe_control);
  if (out.is_datagram()) {
    if (c.opcode != HCA_WQE_SEND && c.opcode != HCA_WQE_SEND_IMM) return wqe_fault::opcode;
    std::memcpy(&out.datagram, wqe.data() + at, sizeof out.datagram);
    at += sizeof out.datagram;
    if (c.flags & HCA_WQE_GLOBAL) {
      out.gid = reinterpret_cast<const hca_gid*>(wqe.data() + at);
      at += sizeof(hca_gid);
    } else if ((out.datagram.flow | out.datagram.hop_limit) != 0) {
      return wqe_fault::reserved;
    }
    if (out.datagram.flow >> 28 != 0) return wqe_fault::reserved;
    if (c.flags & HCA_WQE_WIDE) {
      for (; at < HCA_WQE_BLOCK; ++at) {
        if (wqe[at] != std::byte{0}) return wqe_fault::reserved;
      }
    }
  } else if (c.flags & (HCA_WQE_GLOBAL | HCA_WQE_WIDE)) {
    return wqe_fault::reserved;
  }
  if (out.is_xrc()) {
    hca_wqe_xrc xrc;
    if (out.is_local() || out.is_datagram()) return wqe_fault::opcode;
    std::memcpy(&xrc, wqe.data() + at, sizeof xrc);
    if ((xrc.reserved[0] | xrc.reserved[1] | xrc.reserved[2]) != 0 || xrc.srqn >> 24 != 0) return wqe_fault::reserved;
    out.srqn = xrc.srqn;
    at += sizeof xrc;
  }
  if (out.has_remote()) {
    std::memcpy(&out.remote, wqe.data() + at, sizeof out.remote);
    if (out.remote.reserved != 0) return wqe_fault::reserved;
    at += sizeof out.remote;
  }
  if (out.is_atomic()) {
    std::memcpy(&out.atomic, wqe.data() + at, sizeof out.atomic);
    at += sizeof out.atomic;
  }
  if (c.flags & HCA_WQE_INLINE) {
    if (c.segments != 0 || out.fetches()) return wqe_fault::inline_data;
    out.inline_area = wqe.subspan(at);
    if (!for_each_chunk(wqe, at, out.is_wide(), [&out](std::span<const std::byte> chunk) { out.length += chunk.size(); })) {
      return wqe_fault::inline_data;
    }
    return wqe_fault::none;
  }
  if (at + std::size_t{c.segments} * sizeof(hca_wqe_data) > wqe.size()) return wqe_fault::segments;
  out.gather = {reinterpret_cast<const hca_wqe_data*>(wqe.data() + at), c.segments};
  for (const hca_wqe_data& s : out.gather) out.length += s.length;
  if (out.length > max_message) return wqe_fault::segments;
  if (out.is_atomic() && out.length != 8) return wqe_fault::atomic_length;
  return wqe_fault::none;
}

void copy_inline(const wqe_view& w, std::uint64_t offset, std::span<std::byte> to) {
  // The inline area ends with the WQE, so block boundaries count from the WQE's start.
  const std::size_t size = std::size_t{w.control.blocks} * HCA_WQE_BLOCK;
  const std::size_t at = size - w.inline_area.size();
  const std::span<const std::byte> wqe(w.inline_area.data() - at, size);
  std::uint64_t skip = offset;
  for_each_chunk(wqe, at, w.is_wide(), [&](std::span<const std::byte> chunk) {
    if (skip >= chunk.size()) {
      skip -= chunk.size();
      return;
    }
    chunk = chunk.subspan(static_cast<std::size_t>(skip));
    skip = 0;
    const std::size_t n = std::min(chunk.size(), to.size());
    if (n != 0) std::memcpy(to.data(), chunk.data(), n);
    to = to.subspan(n);
  });
}

}  // namespace hcasim
