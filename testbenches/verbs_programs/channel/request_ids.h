// The requests by number, and their common parts. Objects are handles; 0 = none.
#pragma once

#include <cstdint>

namespace hcasim::channel {

enum class request_id : std::uint32_t {
  // time, threads, memory
  clock,
  sleep,
  wait_descriptors,
  wait_others,
  spin,
  thread_ends,
  lose_memory,
  protect_memory,
  // verbs
  open_device,
  close_device,
  query_device,
  query_port,
  alloc_pd,
  dealloc_pd,
  reg_mr,
  rereg_mr,
  dereg_mr,
  alloc_null_mr,
  advise_mr,
  alloc_mw,
  dealloc_mw,
  bind_mw,
  alloc_dm,
  free_dm,
  copy_dm,
  reg_dm_mr,
  create_channel,
  destroy_channel,
  create_cq,
  destroy_cq,
  modify_cq,
  poll_cq,
  notify_cq,
  take_cq_event,
  take_async_event,
  create_qp,
  modify_qp,
  query_qp,
  destroy_qp,
  post_send,
  post_recv,
  create_srq,
  modify_srq,
  query_srq,
  destroy_srq,
  post_srq_recv,
  create_ah,
  destroy_ah,
  resize_cq,
  import_device,
  import_pd,
  import_mr,
  import_dm,
  open_connections,
  close_connections,
  manage_connections,
  query_clock,
  join_group,
  leave_group,
  open_xrcd,
  close_xrcd,
  open_qp,
  open_timer,
  close_timer,
  set_timer,
  read_timer,
  query_usage,
  query_gid,
  count,
};

using handle = std::uint64_t;
// The upper bits of a handle number the slots of its kind, and are the object's number for others. The lower bits tell apart
// the objects that had the slot one after another.
inline constexpr unsigned life_bits = 24;
inline std::uint32_t number_of(handle h) {
  return static_cast<std::uint32_t>(h >> life_bits);
}

// No object has this name.
inline constexpr handle no_object = ~handle{0};

struct nothing {};
struct made {
  handle object;
};
struct key_answer {
  handle object;
  std::uint32_t lkey;
  std::uint32_t rkey;
};
struct events_answer {  // events of a destroyed object that the program has taken
  std::uint32_t completion;
  std::uint32_t async;
};

}  // namespace hcasim::channel
