// States of a QP's send queue, and the events that change them. The indices of its ring, the fetched WQEs and the counters of
// outstanding work are no part of the state. Any state may have them. The guard against the re-entry of `issue` is none either.
#pragma once

#include "tlm/base/state_table.h"

namespace hcasim {

// unread: the begin of its ring is to be read from the context.
enum class scheduled_qp_life : std::uint8_t { unread, known };

// scheduled: the queue waits for a turn or has one, also while stopped or paused. changing: the WQE
// in front is at window_unit. changed: the WQE has come back. paused: the QP is in SQD, and no WQE is begun. draining: some
// WQEs begun before are not complete. stopping: a stop is owed an answer. stopped: the stop was answered.
enum class scheduled_qp_mark : std::uint8_t { scheduled, changing, changed, paused, draining, stopping, stopped };

enum class scheduled_qp_event : std::uint8_t {
  start,         // a new life of the QP
  rung,          // or more blocks are to be fetched: a turn is due
  context_read,  // in its first turn
  turn_ends,
  change_begins,
  change_ends,
  change_issued,  // to the requester, which completes it
  pause,          // RTS -> SQD
  drain_begins,   // something is left to complete
  drained,        // nothing is
  resume,         // SQD -> RTS, or into error
  stop_later,     // coroutines use it
  stop_now,
  left,  // by the last coroutine
};

namespace scheduled_qp_table_rows {

using enum scheduled_qp_life;
using enum scheduled_qp_mark;
using e = scheduled_qp_event;
using row = state_row<scheduled_qp_life, scheduled_qp_mark, scheduled_qp_event>;

inline constexpr enum_set<scheduled_qp_mark> asked_to_stop = {stopping, stopped};
inline constexpr enum_set<scheduled_qp_mark> held = {changing, paused, stopping, stopped};
inline constexpr enum_set<scheduled_qp_life> any_life = {unread, known};

// A new life keeps only its place among the scheduled queues.
inline constexpr enum_set<scheduled_qp_mark> of_one_life = {changed, paused, draining, stopped};

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
    {.event = e::resume, .in = any_life, .needs = {paused}, .without = asked_to_stop, .clears = {paused, draining}},
    {.event = e::stop_later, .in = any_life, .without = {stopping}, .sets = {stopping}, .clears = {stopped}},
    {.event = e::stop_now, .in = any_life, .without = {changing, stopping}, .sets = {stopped}},
    {.event = e::left, .in = any_life, .needs = {stopping}, .without = {changing}, .sets = {stopped}, .clears = {stopping}},
};

}  // namespace scheduled_qp_table_rows

inline constexpr auto scheduled_qp_table = make_state_table(
    state_names<2, 7, 14>{
        .record = "scheduled_qp",
        .lives = {"unread", "known"},
        .marks = {"scheduled", "changing", "changed", "paused", "draining", "stopping", "stopped"},
        .events = {"start", "rung", "context_read", "turn_ends", "change_begins", "change_ends", "change_issued", "pause",
                   "drain_begins", "drained", "resume", "stop_later", "stop_now", "left"}},
    scheduled_qp_table_rows::rows);

using queue_status = decltype(scheduled_qp_table)::state;

inline bool asked_to_stop(queue_status s) {
  return s.any(scheduled_qp_table_rows::asked_to_stop);
}
// Returns whether the next WQE may be looked at: a begun one in SQD, too.
inline bool may_issue(queue_status s) {
  return !s.any(scheduled_qp_table_rows::held) || (s.has(scheduled_qp_mark::changed) && !asked_to_stop(s));
}
// Returns whether WQEs may be fetched.
inline bool may_fetch(queue_status s) {
  return !s.any({scheduled_qp_mark::paused, scheduled_qp_mark::stopping, scheduled_qp_mark::stopped});
}

}  // namespace hcasim
