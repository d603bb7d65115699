#include "models/adapter/doorbell/doorbell_rules.h"

#include <cstring>

namespace hcasim::doorbell_rules {

area area_of(std::uint64_t offset, std::uint64_t bytes) {
  const auto inside = [&](std::uint64_t base, std::uint64_t size) {
    return offset >= base && offset - base < size && bytes <= size - (offset - base);
  };
  if (inside(HCA_BAR_CONTROL, 4096)) return area::control;
  if (inside(HCA_BAR_MSIX, HCA_MSIX_VECTORS * sizeof(hca_msix_entry))) return area::msix;
  if (inside(HCA_BAR_DM, HCA_DM_WINDOW)) return area::device_memory;
  if (inside(HCA_BAR_UAR, std::uint64_t{HCA_UAR_PAGE} * HCA_UAR_COUNT)) return area::uar;
  return area::none;
}

meaning decode(std::uint32_t offset, std::uint64_t bytes) {
  if (offset >= HCA_UAR_BF) {
    const std::uint32_t in_buffer = (offset - HCA_UAR_BF) % HCA_BF_BYTES;
    const bool fits = offset < HCA_UAR_BF + HCA_BF_BUFFERS * HCA_BF_BYTES && in_buffer + bytes <= HCA_BF_BYTES;
    return {fits && in_buffer == 0 && bytes >= HCA_WQE_BLOCK ? target::blueflame : target::none, bell::send};
  }
  if (bytes != sizeof(hca_doorbell)) return {};
  switch (offset) {
    case HCA_UAR_SQ:
      return {target::bell, bell::send};
    case HCA_UAR_RQ:
      return {target::bell, bell::receive};
    case HCA_UAR_CQ:
      return {target::bell, bell::completion};
    case HCA_UAR_EQ:
      return {target::bell, bell::event};
    default:
      return {};
  }
}

blueflame decode_blueflame(const std::byte* data, std::uint64_t n) {
  hca_wqe_control control;
  std::memcpy(&control, data, sizeof control);
  blueflame b;
  b.qpn = control.qpn;
  b.plausible = control.qpn != 0 && control.qpn <= number_mask;
  b.bytes = std::uint32_t{control.blocks} * HCA_WQE_BLOCK;
  b.value = (std::uint32_t{control.index} + control.blocks) & 0xffff;
  b.whole = b.plausible && control.blocks >= 1 && control.blocks <= HCA_WQE_MAX_BLOCKS && n >= b.bytes;
  return b;
}

uar_write::uar_write(std::uint32_t at, const std::byte* from, std::uint64_t n, std::uint64_t of)
    : offset(at), data(from), bytes(n), operation(of), is(decode(at, n)) {
  if (is.what == target::bell) std::memcpy(&rung, data, sizeof rung);
  if (is.what == target::blueflame) wqe = decode_blueflame(data, n);
}

std::uint32_t number_of(const uar_write& w) {
  if (w.is.what == target::blueflame) return w.wqe.plausible ? w.wqe.qpn : 0;
  if (w.is.what == target::none || w.is.kind == bell::event) return 0;
  if (w.is.kind == bell::completion) return w.rung.number & number_mask;
  return w.rung.number <= number_mask ? w.rung.number : 0;
}

}  // namespace hcasim::doorbell_rules
