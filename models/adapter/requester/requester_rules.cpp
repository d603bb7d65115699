#include "models/adapter/requester/requester_rules.h"

#include <array>

namespace hcasim {

std::uint8_t transport_status(const wqe_view& w, std::uint8_t transport, unsigned mtu_shift) {
  const bool datagram = transport == HCA_TRANSPORT_UD;
  if (w.is_datagram() != (datagram && !w.is_local())) return HCA_WC_LOC_QP_OP_ERR;
  if (w.is_xrc() != (transport == HCA_TRANSPORT_XRC_INI && !w.is_local())) return HCA_WC_LOC_QP_OP_ERR;
  if (transport == HCA_TRANSPORT_UC && (w.fetches() || w.control.opcode == HCA_WQE_SEND_INV)) return HCA_WC_LOC_QP_OP_ERR;
  return datagram && w.length > std::uint64_t{1} << mtu_shift ? HCA_WC_LOC_LEN_ERR : HCA_WC_SUCCESS;
}

std::uint8_t transport_bits(std::uint8_t transport) {
  switch (transport) {
    case HCA_TRANSPORT_UC:
      return wire::uc;
    case HCA_TRANSPORT_UD:
      return wire::ud;
    case HCA_TRANSPORT_XRC_INI:
      return wire::xrc;
    default:
      return wire::rc;
  }
}

std::uint8_t opcode_of(const wqe_view& w, std::uint32_t index, std::uint32_t count) {
  const bool first = index == 0;
  const bool last = index + 1 == count;
  const auto pick = [first, last](std::uint8_t only, std::uint8_t begin, std::uint8_t middle, std::uint8_t end) {
    return first ? (last ? only : begin) : (last ? end : middle);
  };
  switch (w.control.opcode) {
    case HCA_WQE_SEND:
      return pick(wire::send_only, wire::send_first, wire::send_middle, wire::send_last);
    case HCA_WQE_SEND_IMM:
      return pick(wire::send_only_imm, wire::send_first, wire::send_middle, wire::send_last_imm);
    case HCA_WQE_SEND_INV:
      return pick(wire::send_only_inv, wire::send_first, wire::send_middle, wire::send_last_inv);
    case HCA_WQE_WRITE:
      return pick(wire::write_only, wire::write_first, wire::write_middle, wire::write_last);
    case HCA_WQE_WRITE_IMM:
      return pick(wire::write_only_imm, wire::write_first, wire::write_middle, wire::write_last_imm);
    case HCA_WQE_READ:
      return wire::read_request;
    case HCA_WQE_COMPARE_SWAP:
      return wire::compare_swap;
    default:
      return wire::fetch_add;
  }
}

bool answers_read(std::uint8_t opcode, std::uint32_t index, std::uint32_t count) {
  const bool last = index + 1 == count;
  switch (opcode) {
    case wire::read_first:
      return !last;
    case wire::read_middle:
      return !last && index != 0;
    case wire::read_last:
      return last && index != 0;
    case wire::read_only:
      return last;
    default:
      return false;
  }
}

ps ack_timeout(unsigned code) {
  return code == 0 ? never : ps(4'096'000LL << code);
}

ps rnr_delay(unsigned code) {
  static constexpr std::array<std::int64_t, 32> hundredths_of_ms = {
      65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
      256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return ps(hundredths_of_ms[code & 31] * 10'000'000);
}

response_meaning meaning_of(std::uint8_t syndrome) {
  switch (syndrome & 0xe0) {
    case 0x00:
      return {};
    case wire::rnr_nak:
      return {.kind = response_kind::rnr, .timer = static_cast<std::uint8_t>(syndrome & 0x1f)};
    default:
      break;
  }
  switch (syndrome) {
    case wire::nak_sequence:
      return {.kind = response_kind::sequence};
    case wire::nak_invalid_request:
      return {.kind = response_kind::fatal, .status = HCA_WC_REM_INV_REQ_ERR};
    case wire::nak_remote_access:
      return {.kind = response_kind::fatal, .status = HCA_WC_REM_ACCESS_ERR};
    case wire::nak_remote_operation:
      return {.kind = response_kind::fatal, .status = HCA_WC_REM_OP_ERR};
    default:
      return {.kind = response_kind::fatal, .status = HCA_WC_BAD_RESP_ERR};
  }
}

}  // namespace hcasim
