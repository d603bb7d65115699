// States of a QP's receive side, and the events that change them. The message in progress (kept by the context), positions
// (last_ticket, receives on chip) and counters are no part of the state. Any state may have them.
#pragma once

#include "tlm/base/state_table.h"

namespace hcasim {

// failing: a response to a READ failed; the context gets the error before the QP is flushed.
enum class receive_qp_life : std::uint8_t { receiving, failing, error };

// answering: owed answers leave in their turn. lost: its context is unreadable or damaged, and software knows. told_last:
// software knows that the SRQ gives no more WQEs. stopping: a stop is owed an answer. stopped: the stop was answered.
enum class receive_qp_mark : std::uint8_t { answering, lost, told_last, stopping, stopped };

enum class receive_qp_event : std::uint8_t {
  start,             // a new life of the QP
  response_fails,    // of a READ: its key became invalid
  context_in_error,  // an error found here is in the context
  context_lost,      // the context cannot be read, or believed
  told_failed,       // by the requester, or by a command
  last_wqe,
  answers_begin,  // a READ is owed
  answers_end,
  stop_later,  // coroutines use it
  stop_now,
  left,  // by the last coroutine
};

namespace receive_qp_table_rows {

using enum receive_qp_life;
using enum receive_qp_mark;
using e = receive_qp_event;
using row = state_row<receive_qp_life, receive_qp_mark, receive_qp_event>;

// The marks of running coroutines of the QP: none of them outlasts a life.
inline constexpr enum_set<receive_qp_mark> in_use = {answering, stopping};
inline constexpr enum_set<receive_qp_mark> asked_to_stop = {stopping, stopped};
inline constexpr enum_set<receive_qp_life> any_life = {receiving, failing, error};

inline constexpr row rows[] = {
    {.event = e::start, .in = {receiving}, .without = in_use, .clears = {stopped}},
    {.event = e::start,
     .in = {failing, error},
     .becomes = receiving,
     .needs = {stopped},
     .without = in_use,
     .clears = {stopped, lost, told_last}},
    {.event = e::response_fails, .in = {receiving, failing}, .becomes = failing, .without = {stopped}},
    {.event = e::response_fails, .in = {error}, .without = {stopped}},
    {.event = e::context_in_error, .in = any_life, .becomes = error, .without = {stopped}},
    {.event = e::context_lost, .in = any_life, .becomes = error, .without = {lost, stopped}, .sets = {lost}},
    {.event = e::told_failed, .in = any_life, .becomes = error, .without = asked_to_stop},
    {.event = e::last_wqe, .in = {failing, error}, .without = {told_last}, .sets = {told_last}},
    {.event = e::answers_begin, .in = any_life, .without = {answering, stopped}, .sets = {answering}},
    {.event = e::answers_end, .in = any_life, .needs = {answering}, .clears = {answering}},
    {.event = e::stop_later, .in = any_life, .without = {stopping}, .sets = {stopping}, .clears = {stopped}},
    {.event = e::stop_now, .in = any_life, .without = in_use, .sets = {stopped}},
    {.event = e::left, .in = any_life, .needs = {stopping}, .without = {answering}, .sets = {stopped}, .clears = {stopping}},
};

}  // namespace receive_qp_table_rows

inline constexpr auto receive_qp_table = make_state_table(
    state_names<3, 5, 11>{.record = "receive_qp",
                          .lives = {"receiving", "failing", "error"},
                          .marks = {"answering", "lost", "told_last", "stopping", "stopped"},
                          .events = {"start", "response_fails", "context_in_error", "context_lost", "told_failed", "last_wqe",
                                     "answers_begin", "answers_end", "stop_later", "stop_now", "left"}},
    receive_qp_table_rows::rows);

using receive_qp_state = decltype(receive_qp_table)::state;

inline bool in_error(receive_qp_state s) {
  return s.life != receive_qp_life::receiving;
}
inline bool asked_to_stop(receive_qp_state s) {
  return s.any(receive_qp_table_rows::asked_to_stop);
}
// Returns whether the QP is neither in error nor asked to stop.
inline bool is_live(receive_qp_state s) {
  return !in_error(s) && !asked_to_stop(s);
}

}  // namespace hcasim
