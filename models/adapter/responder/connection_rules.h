// States of a QP's receive side, and the events that change them. The record of an SRQ is one too. Beside the state stand the
// message in progress, which the context keeps, positions (last_ticket, receives on chip) and counters, which any state may
// have; guards against the re-entry of coroutines are no part of it either.
#pragma once

#include "tlm/base/state_table.h"

namespace hcasim {

// failing: a response to a READ could not be had; the context is to say so before the QP is flushed.
enum class connection_life : std::uint8_t { receiving, failing, error };

// answering: what is owed leaves in its turn. taking: of an SRQ, a WQE is being taken from its list. told_last: software knows
// that the SRQ gives it no more. stopping: a stop is owed an answer. stopped: it was given.
enum class connection_mark : std::uint8_t { answering, taking, told_last, stopping, stopped };

enum class connection_event : std::uint8_t {
  start,             // a new life of the QP
  response_fails,    // of a READ: its key went away
  context_in_error,  // an error found here is in the context
  told_failed,       // by the requester, or by a command
  last_wqe,
  answers_begin,  // a READ is owed
  answers_end,
  take_begins,
  take_ends,
  stop_later,  // coroutines use it
  stop_now,
  left,  // by the last coroutine
};

namespace connection_table_rows {

using enum connection_life;
using enum connection_mark;
using e = connection_event;
using row = state_row<connection_life, connection_mark, connection_event>;

// The marks that hold a coroutine of the connection: none of them outlasts a life.
inline constexpr enum_set<connection_mark> in_use = {answering, taking, stopping};
inline constexpr enum_set<connection_mark> asked_to_stop = {stopping, stopped};
inline constexpr enum_set<connection_life> any_life = {receiving, failing, error};

inline constexpr row rows[] = {
    {.event = e::start, .in = {receiving}, .without = in_use, .clears = {stopped}},
    {.event = e::start,
     .in = {failing, error},
     .becomes = receiving,
     .needs = {stopped},
     .without = in_use,
     .clears = {stopped, told_last}},
    {.event = e::response_fails, .in = {receiving, failing}, .becomes = failing, .without = {taking, stopped}},
    {.event = e::response_fails, .in = {error}, .without = {taking, stopped}},
    {.event = e::context_in_error, .in = any_life, .becomes = error, .without = {taking, stopped}},
    {.event = e::told_failed, .in = any_life, .becomes = error, .without = {taking, stopping, stopped}},
    {.event = e::last_wqe, .in = {failing, error}, .without = {told_last}, .sets = {told_last}},
    {.event = e::answers_begin, .in = any_life, .without = {answering, taking, stopped}, .sets = {answering}},
    {.event = e::answers_end, .in = any_life, .needs = {answering}, .clears = {answering}},
    {.event = e::take_begins, .in = {receiving}, .without = {answering, taking, stopping, stopped}, .sets = {taking}},
    {.event = e::take_ends, .in = {receiving}, .needs = {taking}, .clears = {taking}},
    {.event = e::stop_later, .in = any_life, .without = {stopping}, .sets = {stopping}, .clears = {stopped}},
    {.event = e::stop_now, .in = any_life, .without = in_use, .sets = {stopped}},
    {.event = e::left,
     .in = any_life,
     .needs = {stopping},
     .without = {answering, taking},
     .sets = {stopped},
     .clears = {stopping}},
};

}  // namespace connection_table_rows

inline constexpr auto connection_table = make_state_table(
    state_names<3, 5, 12>{.record = "connection",
                          .lives = {"receiving", "failing", "error"},
                          .marks = {"answering", "taking", "told_last", "stopping", "stopped"},
                          .events = {"start", "response_fails", "context_in_error", "told_failed", "last_wqe", "answers_begin",
                                     "answers_end", "take_begins", "take_ends", "stop_later", "stop_now", "left"}},
    connection_table_rows::rows);

using connection_state = decltype(connection_table)::state;

inline bool in_error(connection_state s) {
  return s.life != connection_life::receiving;
}
inline bool asked_to_stop(connection_state s) {
  return s.any(connection_table_rows::asked_to_stop);
}
// Neither in error nor asked to stop.
inline bool is_live(connection_state s) {
  return !in_error(s) && !asked_to_stop(s);
}

}  // namespace hcasim
