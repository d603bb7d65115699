// Regions, windows and device memory.
#pragma once

#include <cstdint>

#include "testbenches/verbs_programs/channel/request_ids.h"

namespace hcasim::channel {

struct reg_mr {
  static constexpr request_id number = request_id::reg_mr;
  using answer = key_answer;
  handle pd;
  std::uint64_t address, length, iova;
  std::uint32_t access;
  std::uint32_t with_iova;
};
struct rereg_mr {
  static constexpr request_id number = request_id::rereg_mr;
  struct answer {
    std::int32_t result;  // enum ibv_rereg_mr_err_code
    std::uint32_t lkey, rkey;
  };
  handle mr, pd;
  std::uint64_t address, length;
  std::uint32_t flags, access;
};
struct dereg_mr {
  static constexpr request_id number = request_id::dereg_mr;
  using answer = nothing;
  handle mr;
};
struct alloc_null_mr {
  static constexpr request_id number = request_id::alloc_null_mr;
  using answer = key_answer;
  handle pd;
};
struct segment {
  std::uint64_t address;
  std::uint32_t length;
  std::uint32_t lkey;
};
struct advise_mr {  // segments in `data`
  static constexpr request_id number = request_id::advise_mr;
  using answer = nothing;
  handle pd;
  std::uint32_t advice, flags, count;
};
struct alloc_mw {
  static constexpr request_id number = request_id::alloc_mw;
  using answer = key_answer;
  handle pd;
  std::uint32_t type;
};
struct dealloc_mw {
  static constexpr request_id number = request_id::dealloc_mw;
  using answer = nothing;
  handle mw;
};
// The keys come from the program's structs: an adapter gets them from there, and a program may compose them.
struct bind_info {
  handle mr;
  std::uint64_t address, length;
  std::uint32_t access, lkey, window_rkey;
};
struct bind_mw {
  static constexpr request_id number = request_id::bind_mw;
  using answer = key_answer;
  handle qp, mw;
  bind_info bind;
  std::uint64_t wr_id;
  std::uint32_t send_flags;
};
struct alloc_dm {
  static constexpr request_id number = request_id::alloc_dm;
  using answer = made;
  handle context;
  std::uint64_t length;
};
struct free_dm {
  static constexpr request_id number = request_id::free_dm;
  using answer = nothing;
  handle dm;
};
struct copy_dm {
  static constexpr request_id number = request_id::copy_dm;
  using answer = nothing;
  handle dm;
  std::uint64_t offset, address, length;
  std::uint32_t to_device;
};
struct reg_dm_mr {
  static constexpr request_id number = request_id::reg_dm_mr;
  using answer = key_answer;
  handle pd, dm;
  std::uint64_t offset, length;
  std::uint32_t access;
};

}  // namespace hcasim::channel
