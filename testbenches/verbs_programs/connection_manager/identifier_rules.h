// The life of an identifier of the connection manager, from its address to its end. First come the steps of RDMA CM, then the
// states of IBTA 12.9 (REQ, REP, RTU, REJ, DREQ, DREP) and of the service lookup (SIDR). Plain C++.
#pragma once

#include <cstdint>
#include <optional>

#include "tlm/base/state_table.h"

namespace hcasim::applications::cm {

enum class id_life : std::uint8_t {
  idle,
  bound,
  finding_address,
  address_found,
  finding_route,
  route_found,
  listening,
  request_sent,
  request_received,
  reply_sent,
  reply_received,
  connected,
  disconnect_sent,
  disconnect_received,
  answered,  // a datagram service: both sides know each other's queue pair
  over,
};
enum class id_mark : std::uint8_t { datagram };
enum class id_event : std::uint8_t {
  bind,
  find_address,
  address_is_found,
  address_is_missing,
  find_route,
  route_is_found,
  listen,
  send_request,
  receive_request,
  send_reply,
  receive_reply,
  send_ready,
  receive_ready,
  send_rejection,
  receive_rejection,
  give_up,
  send_disconnect,
  receive_disconnect,
  send_disconnect_reply,
  receive_disconnect_reply,
  send_answer,
  receive_answer,
};

using id_state = life_state<id_life, id_mark>;

// Messages between two managers.
enum class message_kind : std::uint8_t {
  request,           // REQ
  reply,             // REP
  ready,             // RTU
  rejection,         // REJ
  disconnect,        // DREQ
  disconnect_reply,  // DREP
  lookup,            // SIDR_REQ
  answer,            // SIDR_REP
};
enum rejection_reason : std::uint16_t { timed_out = 4, invalid_service = 8, by_consumer = 28, vendor_option = 35 };
enum answer_status : std::uint16_t { service_found = 0, service_unsupported = 1, service_rejected = 2 };

[[nodiscard]] bool possible(id_state s, id_event e);
// Returns the state after `e`. Throws std::logic_error if `e` is not possible in `s`.
[[nodiscard]] id_state step(id_state s, id_event e);

// The message to the peer when the identifier is destroyed.
struct farewell {
  message_kind kind;
  std::uint16_t reason = 0;
};
[[nodiscard]] std::optional<farewell> farewell_of(id_state s);

// Tells whether the identifier has asked for a connection, or has been asked.
[[nodiscard]] bool has_begun(id_state s);

}  // namespace hcasim::applications::cm
