// States of a QP's send side, and the events that change them. Positions in its queue (cursor, failed), PSNs and counters are
// no part of the state, since any state may have them.
#pragma once

#include "tlm/base/state_table.h"

namespace hcasim {

// unread: the settings are to be read from the context before the first packet. error_unread, error: work is flushed with
// WR_FLUSH_ERR, in error_unread once the settings, with the CQ, were read.
enum class send_qp_life : std::uint8_t { unread, sending, error_unread, error };

// numbered: its PSNs are known, and go on when it leaves SQE. repeating: it went back since the last progress. resting: an RNR
// NAK's timer runs. landing: a response found no page, and is asked for again. paging: gathers wait for pages. resumed: one of
// them has its page; sending goes on when the gather ends. looping: the send loop runs. stopping: a stop is owed an answer.
// stopped: the stop was answered.
enum class send_qp_mark : std::uint8_t { numbered, repeating, resting, landing, paging, resumed, looping, stopping, stopped };

enum class send_qp_event : std::uint8_t {
  start,          // a new life of the QP
  context_read,   // to send a message
  settings_read,  // to flush
  progress,       // something was acknowledged
  go_back,
  rnr_nak,
  rnr_over,
  response_faults,       // no page for a response
  response_answered,     // the page of a response is there, or will not be
  gather_faults,         // no page for a gather
  gather_answered,       // the page of one gather, while others wait
  last_gather_answered,  // and none waits now
  gather_ends,           // a gather that had waited, when none waits
  fails,                 // an error found here
  told_failed,           // by the responder, or by a command
  resume,                // SQE -> RTS
  loop_begins,
  loop_ends,
  stop_later,  // coroutines use it
  stop_now,
  left,  // by the last coroutine
};

namespace send_qp_table_rows {

using enum send_qp_life;
using enum send_qp_mark;
using e = send_qp_event;
using row = state_row<send_qp_life, send_qp_mark, send_qp_event>;

// The marks of running coroutines of the QP: none of them outlasts a life.
inline constexpr enum_set<send_qp_mark> in_use = {resting, landing, paging, resumed, looping, stopping};
inline constexpr enum_set<send_qp_mark> asked_to_stop = {stopping, stopped};
inline constexpr enum_set<send_qp_mark> held = {resting, landing, paging, stopping, stopped};
inline constexpr enum_set<send_qp_life> any_life = {unread, sending, error_unread, error};

inline constexpr row rows[] = {
    {.event = e::start, .in = {unread}, .without = in_use, .clears = {stopped, numbered, repeating}},
    {.event = e::start,
     .in = {sending, error_unread, error},
     .becomes = unread,
     .needs = {stopped},
     .without = in_use,
     .clears = {stopped, numbered, repeating}},
    {.event = e::context_read, .in = {unread, sending}, .becomes = sending, .without = held, .sets = {numbered}},
    {.event = e::settings_read, .in = {error_unread, error}, .becomes = error},
    {.event = e::progress, .in = any_life, .clears = {repeating}},
    {.event = e::go_back, .in = {sending}, .without = asked_to_stop, .sets = {repeating}},
    {.event = e::rnr_nak, .in = {sending}, .without = asked_to_stop, .sets = {resting}},
    {.event = e::rnr_over, .in = {sending, error}, .without = {stopped}, .clears = {resting}},
    {.event = e::response_faults, .in = {sending}, .without = {landing, stopping, stopped}, .sets = {landing}},
    {.event = e::response_answered, .in = {sending, error}, .needs = {landing}, .without = {stopped}, .clears = {landing}},
    {.event = e::gather_faults, .in = {unread, sending}, .needs = {numbered}, .without = asked_to_stop, .sets = {paging}},
    {.event = e::gather_answered, .in = any_life, .needs = {paging}, .without = {stopped}, .sets = {resumed}},
    {.event = e::last_gather_answered,
     .in = any_life,
     .needs = {paging},
     .without = {stopped},
     .sets = {resumed},
     .clears = {paging}},
    {.event = e::gather_ends, .in = any_life, .needs = {resumed}, .without = {paging, stopped}, .clears = {resumed}},
    {.event = e::fails, .in = {unread}, .becomes = error_unread, .without = asked_to_stop},
    {.event = e::fails, .in = {sending}, .becomes = error, .without = asked_to_stop},
    {.event = e::told_failed, .in = {unread, error_unread}, .becomes = error_unread},
    {.event = e::told_failed, .in = {sending, error}, .becomes = error},
    {.event = e::resume,
     .in = {error_unread, error},
     .becomes = unread,
     .without = {resting, landing, repeating, stopping, stopped}},
    {.event = e::loop_begins,
     .in = {unread, sending},
     .without = {resting, landing, paging, looping, stopping, stopped},
     .sets = {looping}},
    {.event = e::loop_ends, .in = any_life, .needs = {looping}, .clears = {looping}},
    {.event = e::stop_later, .in = any_life, .without = {stopping}, .sets = {stopping}, .clears = {stopped}},
    {.event = e::stop_now, .in = any_life, .without = in_use, .sets = {stopped}},
    {.event = e::left,
     .in = any_life,
     .needs = {stopping},
     .without = {resting, landing, paging, resumed, looping},
     .sets = {stopped},
     .clears = {stopping}},
};

}  // namespace send_qp_table_rows

inline constexpr auto send_qp_table = make_state_table(
    state_names<4, 9, 21>{
        .record = "send_qp",
        .lives = {"unread", "sending", "error_unread", "error"},
        .marks = {"numbered", "repeating", "resting", "landing", "paging", "resumed", "looping", "stopping", "stopped"},
        .events = {"start",         "context_read",    "settings_read",
                   "progress",      "go_back",         "rnr_nak",
                   "rnr_over",      "response_faults", "response_answered",
                   "gather_faults", "gather_answered", "last_gather_answered",
                   "gather_ends",   "fails",           "told_failed",
                   "resume",        "loop_begins",     "loop_ends",
                   "stop_later",    "stop_now",        "left"}},
    send_qp_table_rows::rows);

using send_qp_state = decltype(send_qp_table)::state;

inline bool in_error(send_qp_state s) {
  return s.life >= send_qp_life::error_unread;
}
inline bool asked_to_stop(send_qp_state s) {
  return s.any(send_qp_table_rows::asked_to_stop);
}
// Returns whether the QP is neither in error nor asked to stop.
inline bool is_live(send_qp_state s) {
  return !in_error(s) && !asked_to_stop(s);
}
// Returns whether the next packet may go.
inline bool may_send(send_qp_state s) {
  return !in_error(s) && !s.any(send_qp_table_rows::held);
}

}  // namespace hcasim
