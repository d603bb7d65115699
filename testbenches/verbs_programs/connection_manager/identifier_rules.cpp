#include "testbenches/verbs_programs/connection_manager/identifier_rules.h"

namespace hcasim::applications::cm {
namespace {

using enum id_life;
using row = state_row<id_life, id_mark, id_event>;
constexpr enum_set<id_mark> datagrams{id_mark::datagram};

constexpr state_names<16, 1, 22> names{
    "identifier",
    {"idle", "bound", "finding_address", "address_found", "finding_route", "route_found", "listening", "request_sent",
     "request_received", "reply_sent", "reply_received", "connected", "disconnect_sent", "disconnect_received", "answered",
     "over"},
    {"datagram"},
    {"bind",           "find address",    "address is found", "address is missing", "find route",
     "route is found", "listen",          "send REQ",         "receive REQ",        "send REP",
     "receive REP",    "send RTU",        "receive RTU",      "send REJ",           "receive REJ",
     "give up",        "send DREQ",       "receive DREQ",     "send DREP",          "receive DREP",
     "send SIDR_REP",  "receive SIDR_REP"}};

constexpr row rows[] = {
    {id_event::bind, {idle}, bound},
    {id_event::find_address, {bound}, finding_address},
    {id_event::address_is_found, {finding_address}, address_found},
    {id_event::address_is_missing, {finding_address}, bound},
    {id_event::find_route, {address_found}, finding_route},
    {id_event::route_is_found, {finding_route}, route_found},
    {id_event::listen, {bound}, listening},
    {id_event::send_request, {route_found}, request_sent},
    {id_event::receive_request, {idle}, request_received},
    {.event = id_event::send_reply, .in = {request_received}, .becomes = reply_sent, .without = datagrams},
    {.event = id_event::receive_reply, .in = {request_sent}, .becomes = reply_received, .without = datagrams},
    {id_event::send_ready, {reply_received}, connected},
    {id_event::receive_ready, {reply_sent}, connected},
    {id_event::send_rejection, {request_received, reply_received}, over},
    {id_event::receive_rejection, {request_sent, request_received, reply_sent, reply_received, connected}, over},
    {id_event::give_up, {request_sent}, over},
    {id_event::send_disconnect, {connected}, disconnect_sent},
    {id_event::receive_disconnect, {reply_sent, connected, disconnect_sent}, disconnect_received},
    {id_event::send_disconnect_reply, {disconnect_received}, over},
    {id_event::receive_disconnect_reply, {disconnect_sent}, over},
    {.event = id_event::send_answer, .in = {request_received}, .becomes = answered, .needs = datagrams},
    {.event = id_event::receive_answer, .in = {request_sent}, .becomes = answered, .needs = datagrams},
};
constexpr auto table = make_state_table(names, rows);

}  // namespace

bool possible(id_state s, id_event e) {
  return table.possible(s, e);
}

id_state step(id_state s, id_event e) {
  return table.step(s, e);
}

std::optional<farewell> farewell_of(id_state s) {
  const bool datagram = s.has(id_mark::datagram);
  switch (s.life) {
    case request_sent:
      if (datagram) return std::nullopt;
      return farewell{message_kind::rejection, timed_out};
    case request_received:
      if (datagram) return farewell{message_kind::answer, service_rejected};
      return farewell{message_kind::rejection, by_consumer};
    case reply_sent:
    case reply_received:
      return farewell{message_kind::rejection, by_consumer};
    case connected:
      return farewell{message_kind::disconnect};
    case disconnect_received:
      return farewell{message_kind::disconnect_reply};
    default:
      return std::nullopt;
  }
}

bool has_begun(id_state s) {
  return s.life >= request_sent;
}

}  // namespace hcasim::applications::cm
