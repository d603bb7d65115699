// Extended verbs (US 7,290,038): one R_Key over a set of buffers that grows and shrinks. The key stays the same from x_register
// until the last buffer is gone, the space is torn down, or the QP it is tied to is destroyed.   [S1 - S13]
//
//   x_register          buffers -> key, VA range, handle of the buffers
//   x_reregister_add    key + more buffers -> same key, new range, handle of the added buffers
//   x_deregister_part   by handle, or by VA range -> same key, what remains; length 0: the key is retired
//   x_exchange          one handle leaves and buffers come, in one step: an access sees both changes or none. With the VA and
//                       the length of what leaves the VAs get other pages; no window may be bound to the space then (EBUSY)
//   x_teardown          everything goes, the key is retired
//   x_mr                what a window is bound to
//
// The buffers of one call become one stretch of VAs, in their order: all but the first start, and all but the last end, on a
// page boundary (buffers that touch each other count as one). A buffer's VA lies at the same place of its page as the buffer.
// A space may hold memory of the process and of the kernel side by side.   [S3]
//
// Results: 0, or an errno value with nothing changed. EINVAL: overlap, misalignment, a range that is not wholly mapped or is
// cut where it may not be. ENOENT: no such key or handle. EBUSY: windows are bound. EFAULT, ENOMEM: the buffers could not be
// pinned. Removed pages are unpinned when the adapter has said that nothing uses them any more.
#pragma once

#include <span>

#include "models/driver/verbs/verbs.h"

namespace hcasim::verbs {

struct x_buffer {
  std::uint64_t addr;  // in the process, or, of the kernel's or a driver's memory, the physical address
  std::uint64_t length;
  bool physical = false;  // the caller keeps it where it is, and answers for what is there
};

struct x_result {
  std::uint32_t key = 0;
  std::uint32_t handle = 0;  // of the buffers just added; 0 after a removal
  std::uint64_t start = 0;   // first VA of the space
  std::uint64_t length = 0;  // bytes mapped
  std::uint64_t end = 0;     // one past the last VA
  std::uint64_t added = 0;   // VA of the buffers just added
  std::uint32_t segments = 0;
};

inline constexpr std::uint64_t x_any_va = ~0ULL;  // the adapter chooses

enum x_flags : unsigned {
  X_EXTEND = 0,
  X_REMAP = 1 << 0,         // move the whole space to new VAs at every change; the old VAs die   [S5]
  X_PAGE_ALIGNED = 1 << 1,  // refuse buffers that do not begin and end on a page boundary   [S4]
  X_NO_SPLIT = 1 << 2,      // a range must consist of whole segments   [S6]
};

// With a QP only that QP's peer may use the key. Flags given here, and those of the driver's knobs x_policy, x_page_aligned and
// x_split, hold for the space's life; later calls may add to them.
int x_register(cpu& c, ibv_pd* pd, ibv_qp* qp, std::span<const x_buffer> buffers, int access, unsigned flags, x_result* result,
               std::uint64_t va = x_any_va);
int x_reregister_add(cpu& c, ibv_context* context, std::uint32_t key, std::span<const x_buffer> buffers, x_result* result,
                     std::uint64_t va = x_any_va, unsigned flags = X_EXTEND);
int x_deregister_part(cpu& c, ibv_context* context, std::uint32_t key, std::uint32_t handle, x_result* result,
                      unsigned flags = X_EXTEND);
int x_deregister_part(cpu& c, ibv_context* context, std::uint32_t key, std::uint64_t va, std::uint64_t length, x_result* result,
                      unsigned flags = X_EXTEND);
int x_exchange(cpu& c, ibv_context* context, std::uint32_t key, std::uint32_t leaving, std::span<const x_buffer> buffers,
               x_result* result, std::uint64_t va = x_any_va, unsigned flags = X_EXTEND);
int x_teardown(cpu& c, ibv_context* context, std::uint32_t key);

// The space as what ibv_bind_mw and IBV_WR_BIND_MW bind a window to; from its first VA to its last, holes included. It lives as
// long as the key. nullptr and ENOENT: no such key.
ibv_mr* x_mr(ibv_context* context, std::uint32_t key);

}  // namespace hcasim::verbs
