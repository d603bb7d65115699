// Completion queues, their channels, and events.
#pragma once

#include <cstdint>

#include "testbenches/verbs_programs/channel/request_ids.h"

namespace hcasim::channel {

// With both ends of the channel's pipe, the write end first.
struct create_channel {
  static constexpr request_id number = request_id::create_channel;
  using answer = made;
  handle context;
};
struct destroy_channel {
  static constexpr request_id number = request_id::destroy_channel;
  using answer = nothing;
  handle channel;
};
struct create_cq {
  static constexpr request_id number = request_id::create_cq;
  struct answer {
    handle object;
    std::int32_t cqe;
  };
  handle context, channel;
  std::uint64_t user;
  std::int32_t cqe, vector;
};
struct destroy_cq {
  static constexpr request_id number = request_id::destroy_cq;
  using answer = events_answer;
  handle cq;
};
struct resize_cq {
  static constexpr request_id number = request_id::resize_cq;
  struct answer {
    std::int32_t cqe;
  };
  handle cq;
  std::int32_t cqe;
};
struct modify_cq {
  static constexpr request_id number = request_id::modify_cq;
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
struct poll_cq {  // completions in `data`, behind them the time of each by the adapter's clock
  static constexpr request_id number = request_id::poll_cq;
  struct answer {
    std::uint32_t found;
  };
  handle cq;
  std::uint32_t entries;
};
struct notify_cq {
  static constexpr request_id number = request_id::notify_cq;
  using answer = nothing;
  handle cq;
  std::uint32_t solicited;
};
struct take_cq_event {
  static constexpr request_id number = request_id::take_cq_event;
  struct answer {
    std::uint64_t user;  // 0 = there is none
  };
  handle channel;
};
struct take_async_event {
  static constexpr request_id number = request_id::take_async_event;
  struct answer {
    std::uint32_t found, type;
    std::uint64_t user;  // of the CQ, QP or SRQ
  };
  handle context;
};

}  // namespace hcasim::channel
