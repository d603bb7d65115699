// Any bytes as a work queue element: the view and the inline copy stay inside them, and the lengths agree.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tlm/wqe.h"

namespace {

void expect(bool ok) {
  if (!ok) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hcasim;
  // A heap block of exactly the given bytes, so that the address sanitizer sees the first byte outside.
  const std::size_t blocks = std::min<std::size_t>(size / HCA_WQE_BLOCK, HCA_WQE_MAX_BLOCKS);
  std::vector<std::byte> wqe(blocks * HCA_WQE_BLOCK);
  if (!wqe.empty()) std::memcpy(wqe.data(), data, wqe.size());

  wqe_view view;
  if (parse_wqe(wqe, view) != wqe_fault::none) return 0;
  expect(view.control.blocks <= blocks);
  expect(view.length <= max_message);
  const auto inside = [&](const void* p, std::size_t n) {
    const auto* at = static_cast<const std::byte*>(p);
    return n == 0 || (at >= wqe.data() && at + n <= wqe.data() + wqe.size());
  };
  expect(inside(view.gather.data(), view.gather.size_bytes()));
  expect(inside(view.inline_area.data(), view.inline_area.size()));
  if (view.inline_area.empty()) return 0;

  // Inline data in one piece is the same as in two.
  expect(view.length <= wqe.size());
  std::vector<std::byte> whole(view.length);
  std::vector<std::byte> parts(view.length);
  copy_inline(view, 0, whole);
  const std::size_t cut = view.length == 0 ? 0 : data[size - 1] % view.length;
  copy_inline(view, 0, std::span(parts).first(cut));
  copy_inline(view, cut, std::span(parts).subspan(cut));
  expect(whole == parts);
  return 0;
}
