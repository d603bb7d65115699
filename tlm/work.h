// Work on its way through the send side, and what is reported at its end.
//
// doorbell_ring: doorbell unit -> send_queue (SQ), responder (RQ), completion (CQ, EQ). Answered at once.
// work_request:  send_queue -> requester, in SQ order per QP. Answered when the WQE is complete: acknowledged, failed or
//                flushed; the requester has then posted its CQE, if it has one. The bytes stay until then.
// wqe_refetch:   requester -> send_queue: the bytes of a WQE that has left the chip are needed. Answered when they are here
// again, or
//                `failed`: they cannot be read, or host memory has others now.
// report:        requester, responder, command unit -> completion. Answered when it is on its way to host memory in order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "firmware/abi/cqe.h"
#include "firmware/abi/registers.h"
#include "firmware/abi/wqe.h"
#include "tlm/socket.h"

namespace hcasim {

enum class bell : std::uint8_t { send, receive, completion, event };

struct doorbell_ring : transaction {
  bell kind = bell::send;
  std::uint32_t number = 0;
  std::uint32_t value = 0;
  std::uint32_t blueflame_bytes = 0;  // send: the WQE came with the doorbell
  std::array<std::byte, HCA_WQE_BLOCK * HCA_WQE_MAX_BLOCKS> blueflame;
};

// Reasons for a WQE on the chip to wait: requests of its QP under way, a fence, READs under way, a LOCAL_INV behind others.
enum class issue_block : std::uint8_t { none, depth, fence, read_depth, local_fence };

struct work_request : transaction {
  std::uint32_t qpn = 0;
  std::uint16_t index = 0;  // first SQ block
  std::uint8_t blocks = 0;
  std::uint8_t status = 0;               // enum hca_wc_status: why it cannot be executed, or in the answer its end
  std::uint8_t vendor_error = 0;         // window_fault of a BIND, LOCAL_INV or FAST_REG
  bool changed = false;                  // the work request has made its change of protection
  bool on_chip = true;                   // the WQE cache still has the bytes
  issue_block held = issue_block::none;  // what held it back last
  ps fetched{0};                         // when it was on the chip and in its turn
  alignas(16) std::array<std::byte, HCA_WQE_BLOCK * HCA_WQE_MAX_BLOCKS> bytes;

  [[nodiscard]] const hca_wqe_control& control() const { return *reinterpret_cast<const hca_wqe_control*>(bytes.data()); }
};

struct wqe_refetch : transaction {
  work_request* work = nullptr;
  bool failed = false;
};

struct report : transaction {
  bool event = false;  // an EQE of `type`; otherwise a CQE
  std::uint32_t cqn = 0;
  std::uint32_t type = 0;  // enum hca_event
  std::uint32_t number = 0;
  std::uint64_t va = 0;  // this and the next three: of a page fault, as in the EQE
  std::uint32_t length = 0;
  std::uint32_t flags = 0;
  std::uint32_t qpn = 0;
  hca_cqe cqe{};  // owner is filled in by the completion unit
};

}  // namespace hcasim
