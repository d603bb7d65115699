// States of a QP's send queue, and the events that change them. Beside the state stand the indices of its ring, the WQEs that
// are fetched and the counters of what is outstanding, which any state may have; the guard against the re-entry of `issue` is
// no part of it either.
#pragma once

#include "tlm/base/state_table.h"

namespace hcasim {

// unread: where its ring begins is to be read from the context.
enum class queue_life : std::uint8_t { unread, known };

// scheduled: it waits for a turn or has one; a ring that is stopped or paused meanwhile keeps its place. changing: the WQE in
// front is at window_unit. changed: it has come back. paused: the QP is in SQD, and no WQE is begun. draining: of those that
// were begun before, some are not complete. stopping: a stop is owed an answer. stopped: it was given.
enum class queue_mark : std::uint8_t { scheduled, changing, changed, paused, draining, stopping, stopped };

enum class queue_event : std::uint8_t {
  start,         // a new life of the QP
  rung,          // or more is to be fetched: it wants a turn
  context_read,  // in its first turn
  turn_ends,
  change_begins,
  change_ends,
  change_issued,  // to the requester, which completes it
  pause,          // RTS -> SQD
  drain_begins,   // something is left to complete
  drained,        // nothing is
  go_on,          // SQD -> RTS, or into error
  stop_later,     // coroutines use it
  stop_now,
  left,  // by the last coroutine
};

namespace queue_table_rows {

using enum queue_life;
using enum queue_mark;
using e = queue_event;
using row = state_row<queue_life, queue_mark, queue_event>;

inline constexpr enum_set<queue_mark> asked_to_stop = {stopping, stopped};
inline constexpr enum_set<queue_mark> held = {changing, paused, stopping, stopped};
inline constexpr enum_set<queue_life> any_life = {unread, known};

// A new life keeps its place in line only.
inline constexpr enum_set<queue_mark> of_one_life = {changed, paused, draining, stopped};

inline constexpr row rows[] = {
    {.event = e::start, .in = {unread}, .without = {changing, stopping}, .clears = of_one_life},
    {.event = e::start,
     .in = {known},
     .becomes = unread,
     .needs = {stopped},
     .without = {changing, stopping},
     .clears = of_one_life},
    {.event = e::rung, .in = any_life, .without = {scheduled, paused, stopping, stopped}, .sets = {scheduled}},
    {.event = e::context_read, .in = {unread}, .becomes = known, .needs = {scheduled}, .without = asked_to_stop},
    {.event = e::turn_ends, .in = any_life, .needs = {scheduled}, .clears = {scheduled}},
    {.event = e::change_begins, .in = {known}, .without = {changing, changed, paused, stopping, stopped}, .sets = {changing}},
    {.event = e::change_ends,
     .in = {known},
     .needs = {changing},
     .without = {stopped},
     .sets = {changed},
     .clears = {changing}},
    {.event = e::change_issued, .in = {known}, .needs = {changed}, .without = asked_to_stop, .clears = {changed}},
    {.event = e::pause, .in = any_life, .without = {paused, stopping, stopped}, .sets = {paused}},
    {.event = e::drain_begins, .in = {known}, .needs = {paused}, .without = {draining, stopping, stopped}, .sets = {draining}},
    {.event = e::drained,
     .in = {known},
     .needs = {paused, draining},
     .without = {changing, changed, stopping, stopped},
     .clears = {draining}},
    {.event = e::go_on, .in = any_life, .needs = {paused}, .without = asked_to_stop, .clears = {paused, draining}},
    {.event = e::stop_later, .in = any_life, .without = {stopping}, .sets = {stopping}, .clears = {stopped}},
    {.event = e::stop_now, .in = any_life, .without = {changing, stopping}, .sets = {stopped}},
    {.event = e::left, .in = any_life, .needs = {stopping}, .without = {changing}, .sets = {stopped}, .clears = {stopping}},
};

}  // namespace queue_table_rows

inline constexpr auto queue_table = make_state_table(
    state_names<2, 7, 14>{
        .record = "queue",
        .lives = {"unread", "known"},
        .marks = {"scheduled", "changing", "changed", "paused", "draining", "stopping", "stopped"},
        .events = {"start", "rung", "context_read", "turn_ends", "change_begins", "change_ends", "change_issued", "pause",
                   "drain_begins", "drained", "go_on", "stop_later", "stop_now", "left"}},
    queue_table_rows::rows);

using queue_status = decltype(queue_table)::state;

inline bool asked_to_stop(queue_status s) {
  return s.any(queue_table_rows::asked_to_stop);
}
// The next WQE may be looked at: one that was begun, in SQD too.
inline bool may_issue(queue_status s) {
  return !s.any(queue_table_rows::held) || (s.has(queue_mark::changed) && !asked_to_stop(s));
}
// WQEs may be fetched.
inline bool may_fetch(queue_status s) {
  return !s.any({queue_mark::paused, queue_mark::stopping, queue_mark::stopped});
}

}  // namespace hcasim
