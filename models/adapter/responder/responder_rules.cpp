#include "models/adapter/responder/responder_rules.h"

#include "tlm/wqe.h"

namespace hcasim {

request_kind kind_of(std::uint8_t opcode) {
  switch (opcode & ~wire::transport_mask) {
    case wire::send_first:
    case wire::send_middle:
    case wire::send_last:
    case wire::send_last_imm:
    case wire::send_last_inv:
    case wire::send_only:
    case wire::send_only_imm:
    case wire::send_only_inv:
      return request_kind::send;
    case wire::write_first:
    case wire::write_middle:
    case wire::write_last:
    case wire::write_last_imm:
    case wire::write_only:
    case wire::write_only_imm:
      return request_kind::write;
    case wire::read_request:
      return request_kind::read;
    case wire::compare_swap:
    case wire::fetch_add:
      return request_kind::atomic;
    default:
      return request_kind::other;
  }
}

bool of_transport(std::uint8_t opcode, std::uint8_t transport) {
  switch (opcode & wire::transport_mask) {
    case wire::rc:
      return transport == HCA_TRANSPORT_RC;
    case wire::uc:
      return transport == HCA_TRANSPORT_UC;
    case wire::ud:
      return transport == HCA_TRANSPORT_UD;
    case wire::xrc:
      return transport == HCA_TRANSPORT_XRC_TGT;  // [H7]
    default:
      return false;
  }
}

bool in_sequence(std::uint8_t inbound, std::uint8_t opcode) {
  const request_kind kind = kind_of(opcode);
  if (kind == request_kind::other) return false;
  const bool first = wire::shape_of(opcode).first;
  if (inbound == HCA_INBOUND_NONE) return first;
  return !first && kind == kind_of(inbound);
}

std::uint32_t right_of(request_kind kind) {
  switch (kind) {
    case request_kind::write:
      return HCA_ACCESS_REMOTE_WRITE;
    case request_kind::read:
      return HCA_ACCESS_REMOTE_READ;
    case request_kind::atomic:
      return HCA_ACCESS_REMOTE_ATOMIC;
    default:
      return 0;
  }
}

bool length_ok(const packet& p, unsigned mtu_shift, std::uint32_t remaining) {
  const std::uint32_t mtu = 1U << mtu_shift;
  const packet_header& h = p.header;
  const wire::shape& s = h.shape();
  switch (kind_of(h.opcode)) {
    case request_kind::read:
      return h.dma_length <= max_message;
    case request_kind::atomic:
      return true;
    case request_kind::send:
      return s.last ? p.payload <= mtu && (s.first || p.payload != 0) : p.payload == mtu;
    case request_kind::write:
      if (s.first && h.dma_length > max_message) return false;
      return s.last ? p.payload <= mtu && p.payload == remaining && (s.first || p.payload != 0)
                    : p.payload == mtu && remaining > mtu;
    default:
      return false;
  }
}

std::uint8_t response_opcode(std::uint32_t index, std::uint32_t count) {
  if (count == 1) return wire::read_only;
  if (index == 0) return wire::read_first;
  return index + 1 == count ? wire::read_last : wire::read_middle;
}

bool repeats(const executed_fetch& e, const packet_header& h, unsigned mtu_shift) {
  if (h.opcode != e.opcode || h.rkey != e.key || h.srqn != e.srqn) return false;
  if (!is_read(h)) return h.psn == e.psn && h.va == e.va;
  const std::int32_t index = psn_distance(e.psn, h.psn);
  if (index < 0 || static_cast<std::uint32_t>(index) >= packets_of(e.length, mtu_shift)) return false;
  const auto offset = static_cast<std::uint32_t>(index) << mtu_shift;
  return h.va == e.va + offset && h.dma_length <= e.length - offset && (h.dma_length != 0 || e.length == 0);
}

bool takes_receive(std::uint8_t opcode) {
  const wire::shape& s = wire::shape_of(opcode);
  return kind_of(opcode) == request_kind::send ? s.first : s.immediate;
}

}  // namespace hcasim
