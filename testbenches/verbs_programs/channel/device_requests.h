// Contexts and protection domains.
#pragma once

#include <cstdint>

#include "testbenches/verbs_programs/channel/request_ids.h"

namespace hcasim::channel {

// Three descriptors come with the request. The first two are the write end and the read end of a pipe, which holds a token for
// each asynchronous event. The third is the file that stands for the context.
struct open_device {
  static constexpr request_id number = request_id::open_device;
  struct answer {
    handle object;
    std::uint32_t completion_vectors;
    std::uint32_t ethernet;  // the port shows itself as RoCE
    std::uint32_t ports;
  };
};
struct close_device {
  static constexpr request_id number = request_id::close_device;
  using answer = nothing;
  handle context;
};
// Imports an object of another opening, in the same process. With a pipe as above, and a descriptor of that opening's file.
struct import_device {
  static constexpr request_id number = request_id::import_device;
  using answer = open_device::answer;
};
struct import_pd {
  static constexpr request_id number = request_id::import_pd;
  using answer = made;
  handle context;
  std::uint32_t pd;  // number_of its handle
};
struct import_mr {
  static constexpr request_id number = request_id::import_mr;
  struct answer {
    handle object;
    std::uint32_t lkey, rkey;
    std::uint64_t length;
  };
  handle pd;
  std::uint32_t mr;
};
struct import_dm {
  static constexpr request_id number = request_id::import_dm;
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
  std::int32_t max_mcast_grp, max_mcast_qp_attach, max_total_mcast_qp_attach;
  std::int32_t max_srq, max_srq_wr, max_srq_sge, max_qp_rd_atom, max_qp_init_rd_atom, phys_port_cnt;
  std::uint64_t max_dm_size;
};
inline constexpr std::uint64_t clock_khz = 1'000'000;
// The answer lies in `data`.
struct query_device {
  static constexpr request_id number = request_id::query_device;
  using answer = nothing;
  handle context;
};
struct query_port {
  static constexpr request_id number = request_id::query_port;
  struct answer {
    std::uint32_t state, max_mtu, active_mtu, lid, width, speed, ethernet, gids;
  };
  handle context;
  std::uint32_t port;
};
struct query_gid {
  static constexpr request_id number = request_id::query_gid;
  struct answer {
    std::uint8_t gid[16];
    std::uint32_t type;  // enum ibv_gid_type
  };
  handle context;
  std::uint32_t port, index;
};
struct query_clock {
  static constexpr request_id number = request_id::query_clock;
  struct answer {
    std::uint64_t ticks;
  };
  handle context;
};
struct alloc_pd {
  static constexpr request_id number = request_id::alloc_pd;
  using answer = made;
  handle context;
};
struct dealloc_pd {
  static constexpr request_id number = request_id::dealloc_pd;
  using answer = nothing;
  handle pd;
};

}  // namespace hcasim::channel
