// What a program can ask: one struct a request, with its number and the struct that answers it. Objects are handles, 0 is none.
// Enumerators and bits are those of <infiniband/verbs.h>; `user` comes back with events and means nothing to the simulator.
#pragma once

#include <cstdint>

namespace hcasim::channel {

enum class what : std::uint32_t {
  // time, threads, memory
  clock,
  sleep,
  wait_descriptors,
  wait_others,
  spin,
  thread_ends,
  lose_memory,
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
  count,
};

using handle = std::uint64_t;
// The upper bits of a handle count the slots of its kind, and are what others name the object by; the lower ones tell its lives
// apart.
inline constexpr unsigned life_bits = 24;
inline std::uint32_t number_of(handle h) {
  return static_cast<std::uint32_t>(h >> life_bits);
}

struct nothing {};
struct made {
  handle object;
};
struct key_answer {
  handle object;
  std::uint32_t lkey;
  std::uint32_t rkey;
};
struct events_answer {  // of an object that is gone: how many of its events the program was given
  std::uint32_t completion;
  std::uint32_t async;
};

// ---- time, threads, memory

struct clock {
  static constexpr what number = what::clock;
  using answer = nothing;
};
struct sleep {
  static constexpr what number = what::sleep;
  using answer = nothing;
  std::uint64_t time;  // ps
};
// The descriptors lie in the socket that the thread connected with, in the order of `data`: one std::uint32_t of poll bits
// each.
inline constexpr std::uint64_t forever = ~std::uint64_t{0};
inline constexpr std::uint32_t most_descriptors = 64;
struct wait_descriptors {
  static constexpr what number = what::wait_descriptors;
  struct answer {
    std::uint32_t ready;  // 0: the time is over
  };
  std::uint32_t count;
  std::uint64_t timeout;  // ps
};
// Until another thread of the program or its family has run. `again`: it has looked since the last time, and found nothing:
// that it ran is nothing to others who wait.
struct wait_others {
  static constexpr what number = what::wait_others;
  struct answer {
    std::uint32_t ran;  // 0: the time is over
  };
  std::uint64_t timeout;  // ps
  std::uint32_t again;
};
// The thread turns in a loop that changes nothing (`proven`), or seems to.
struct spin {
  static constexpr what number = what::spin;
  using answer = nothing;
  std::uint32_t proven;
};
struct thread_ends {
  static constexpr what number = what::thread_ends;
  using answer = nothing;
};
struct lose_memory {
  static constexpr what number = what::lose_memory;
  using answer = nothing;
  std::uint64_t address;
  std::uint64_t length;
};

// ---- device

// With the write end of the pipe whose tokens say that an asynchronous event is there, and the file that stands for the
// context.
struct open_device {
  static constexpr what number = what::open_device;
  struct answer {
    handle object;
    std::uint32_t completion_vectors;
  };
};
struct close_device {
  static constexpr what number = what::close_device;
  using answer = nothing;
  handle context;
};
// What another opening has made, in the same process. With a pipe as above, and a descriptor of that opening's file.
struct import_device {
  static constexpr what number = what::import_device;
  using answer = open_device::answer;
};
struct import_pd {
  static constexpr what number = what::import_pd;
  using answer = made;
  handle context;
  std::uint32_t pd;  // number_of its handle
};
struct import_mr {
  static constexpr what number = what::import_mr;
  struct answer {
    handle object;
    std::uint32_t lkey, rkey;
    std::uint64_t length;
  };
  handle pd;
  std::uint32_t mr;
};
struct import_dm {
  static constexpr what number = what::import_dm;
  using answer = made;
  handle context;
  std::uint32_t dm;
};
struct device_attributes {
  char fw_ver[64];
  std::uint64_t node_guid;
  std::uint64_t max_mr_size;
  std::uint64_t page_size_cap;
  std::uint32_t vendor_id, vendor_part_id, hw_ver, device_cap_flags, atomic_cap, odp_general_caps;
  std::int32_t max_qp, max_qp_wr, max_sge, max_cq, max_cqe, max_mr, max_mw, max_pd, max_ah;
  std::int32_t max_srq, max_srq_wr, max_srq_sge, max_qp_rd_atom, max_qp_init_rd_atom, phys_port_cnt;
  std::uint64_t max_dm_size;
};
// The answer lies in `data`.
struct query_device {
  static constexpr what number = what::query_device;
  using answer = nothing;
  handle context;
};
struct query_port {
  static constexpr what number = what::query_port;
  struct answer {
    std::uint32_t state, max_mtu, active_mtu, lid, width, speed;
    std::uint64_t gid_prefix, guid;
  };
  handle context;
  std::uint32_t port;
};
struct alloc_pd {
  static constexpr what number = what::alloc_pd;
  using answer = made;
  handle context;
};
struct dealloc_pd {
  static constexpr what number = what::dealloc_pd;
  using answer = nothing;
  handle pd;
};

// ---- memory

struct reg_mr {
  static constexpr what number = what::reg_mr;
  using answer = key_answer;
  handle pd;
  std::uint64_t address, length, iova;
  std::uint32_t access;
  std::uint32_t with_iova;
};
struct rereg_mr {
  static constexpr what number = what::rereg_mr;
  struct answer {
    std::int32_t result;  // enum ibv_rereg_mr_err_code
    std::uint32_t lkey, rkey;
  };
  handle mr, pd;
  std::uint64_t address, length;
  std::uint32_t flags, access;
};
struct dereg_mr {
  static constexpr what number = what::dereg_mr;
  using answer = nothing;
  handle mr;
};
struct alloc_null_mr {
  static constexpr what number = what::alloc_null_mr;
  using answer = key_answer;
  handle pd;
};
struct segment {
  std::uint64_t address;
  std::uint32_t length;
  std::uint32_t lkey;
};
struct advise_mr {  // segments in `data`
  static constexpr what number = what::advise_mr;
  using answer = nothing;
  handle pd;
  std::uint32_t advice, flags, count;
};
struct alloc_mw {
  static constexpr what number = what::alloc_mw;
  using answer = key_answer;
  handle pd;
  std::uint32_t type;
};
struct dealloc_mw {
  static constexpr what number = what::dealloc_mw;
  using answer = nothing;
  handle mw;
};
struct bind_info {
  handle mr;
  std::uint64_t address, length;
  std::uint32_t access;
};
struct bind_mw {
  static constexpr what number = what::bind_mw;
  using answer = key_answer;
  handle qp, mw;
  bind_info bind;
  std::uint64_t wr_id;
  std::uint32_t send_flags;
};
struct alloc_dm {
  static constexpr what number = what::alloc_dm;
  using answer = made;
  handle context;
  std::uint64_t length;
};
struct free_dm {
  static constexpr what number = what::free_dm;
  using answer = nothing;
  handle dm;
};
struct copy_dm {
  static constexpr what number = what::copy_dm;
  using answer = nothing;
  handle dm;
  std::uint64_t offset, address, length;
  std::uint32_t to_device;
};
struct reg_dm_mr {
  static constexpr what number = what::reg_dm_mr;
  using answer = key_answer;
  handle pd, dm;
  std::uint64_t offset, length;
  std::uint32_t access;
};

// ---- completions and events

// With the write end of the channel's pipe.
struct create_channel {
  static constexpr what number = what::create_channel;
  using answer = made;
  handle context;
};
struct destroy_channel {
  static constexpr what number = what::destroy_channel;
  using answer = nothing;
  handle channel;
};
struct create_cq {
  static constexpr what number = what::create_cq;
  struct answer {
    handle object;
    std::int32_t cqe;
  };
  handle context, channel;
  std::uint64_t user;
  std::int32_t cqe, vector;
};
struct destroy_cq {
  static constexpr what number = what::destroy_cq;
  using answer = events_answer;
  handle cq;
};
struct resize_cq {
  static constexpr what number = what::resize_cq;
  struct answer {
    std::int32_t cqe;
  };
  handle cq;
  std::int32_t cqe;
};
struct modify_cq {
  static constexpr what number = what::modify_cq;
  using answer = nothing;
  handle cq;
  std::uint16_t count, period;
};
struct completion {  // as struct ibv_wc
  std::uint64_t wr_id;
  std::uint32_t status, opcode, vendor_err, byte_len, immediate, qp_num, src_qp, wc_flags;
  std::uint16_t pkey_index, slid;
  std::uint8_t sl, dlid_path_bits;
};
struct poll_cq {  // completions in `data`
  static constexpr what number = what::poll_cq;
  struct answer {
    std::uint32_t found;
  };
  handle cq;
  std::uint32_t entries;
};
struct notify_cq {
  static constexpr what number = what::notify_cq;
  using answer = nothing;
  handle cq;
  std::uint32_t solicited;
};
struct take_cq_event {
  static constexpr what number = what::take_cq_event;
  struct answer {
    std::uint64_t user;  // 0: there is none
  };
  handle channel;
};
struct take_async_event {
  static constexpr what number = what::take_async_event;
  struct answer {
    std::uint32_t found, type;
    std::uint64_t user;  // of the CQ, QP or SRQ
  };
  handle context;
};

// ---- queues

struct capacities {
  std::uint32_t send_wr, recv_wr, send_sge, recv_sge, inline_data;
};
struct create_qp {
  static constexpr what number = what::create_qp;
  struct answer {
    handle object;
    std::uint32_t qp_num;
    capacities cap;
  };
  handle pd, send_cq, recv_cq, srq;
  std::uint64_t user;
  capacities cap;
  std::uint32_t type, signal_all;
};
struct qp_attributes {
  std::uint32_t state, current_state, path_mtu, qkey, rq_psn, sq_psn, dest_qp_num, access;
  capacities cap;
  std::uint16_t dlid, pkey_index;
  std::uint8_t sl, port, sqd_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic, min_rnr_timer, timeout, retry_cnt,
      rnr_retry, ah_port;
};
struct modify_qp {
  static constexpr what number = what::modify_qp;
  using answer = nothing;
  handle qp;
  std::uint32_t mask;
  qp_attributes attributes;
};
struct query_qp {
  static constexpr what number = what::query_qp;
  struct answer {
    qp_attributes attributes;
    std::uint32_t signal_all;
  };
  handle qp;
};
struct destroy_qp {
  static constexpr what number = what::destroy_qp;
  using answer = events_answer;
  handle qp;
};
// In `data`: each request, its segments behind it.
struct send_request {
  std::uint64_t wr_id;
  std::uint32_t opcode, flags, immediate, segments;
  std::uint64_t remote_address, compare_add, swap;
  std::uint32_t rkey, remote_qpn, remote_qkey, bind_rkey;
  handle ah, mw;
  bind_info bind;
};
struct receive_request {
  std::uint64_t wr_id;
  std::uint32_t segments;
};
struct posted {
  std::uint32_t requests;  // how many were taken, from the first on
};
struct post_send {
  static constexpr what number = what::post_send;
  using answer = posted;
  handle qp;
  std::uint32_t count;
};
struct post_recv {
  static constexpr what number = what::post_recv;
  using answer = posted;
  handle qp;
  std::uint32_t count;
};
struct create_srq {
  static constexpr what number = what::create_srq;
  struct answer {
    handle object;
    std::uint32_t max_wr, max_sge;
  };
  handle pd;
  std::uint64_t user;
  std::uint32_t max_wr, max_sge;
};
struct modify_srq {
  static constexpr what number = what::modify_srq;
  using answer = nothing;
  handle srq;
  std::uint32_t mask, max_wr, limit;
};
struct query_srq {
  static constexpr what number = what::query_srq;
  struct answer {
    std::uint32_t max_wr, max_sge, limit;
  };
  handle srq;
};
struct destroy_srq {
  static constexpr what number = what::destroy_srq;
  using answer = events_answer;
  handle srq;
};
struct post_srq_recv {
  static constexpr what number = what::post_srq_recv;
  using answer = posted;
  handle srq;
  std::uint32_t count;
};
struct create_ah {
  static constexpr what number = what::create_ah;
  using answer = made;
  handle pd;
  std::uint16_t dlid;
  std::uint8_t sl, port;
};
struct destroy_ah {
  static constexpr what number = what::destroy_ah;
  using answer = nothing;
  handle ah;
};

}  // namespace hcasim::channel
