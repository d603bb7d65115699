// States of an SRQ, and the events that change them. Its positions and the receives on chip are no part of the state.
#pragma once

#include "tlm/base/state_table.h"

namespace hcasim {

// lost: its context or buffer is unreadable or damaged, and software knows.
enum class shared_queue_life : std::uint8_t { giving, lost };

// taking: a WQE is being taken from its list. stopping: a stop is owed an answer. stopped: the stop was answered.
enum class shared_queue_mark : std::uint8_t { taking, stopping, stopped };

enum class shared_queue_event : std::uint8_t {
  start,  // a new life of the SRQ
  take_begins,
  take_ends,
  breaks,
  stop_later,  // a coroutine uses it
  stop_now,
  left,  // by the last coroutine
};

namespace shared_queue_table_rows {

using enum shared_queue_life;
using enum shared_queue_mark;
using e = shared_queue_event;
using row = state_row<shared_queue_life, shared_queue_mark, shared_queue_event>;

inline constexpr enum_set<shared_queue_mark> in_use = {taking, stopping};
inline constexpr enum_set<shared_queue_mark> asked_to_stop = {stopping, stopped};
inline constexpr enum_set<shared_queue_life> any_life = {giving, lost};

inline constexpr row rows[] = {
    {.event = e::start, .in = {giving}, .without = in_use, .clears = {stopped}},
    {.event = e::start, .in = {lost}, .becomes = giving, .needs = {stopped}, .without = in_use, .clears = {stopped}},
    {.event = e::take_begins, .in = any_life, .without = {taking, stopping, stopped}, .sets = {taking}},
    {.event = e::take_ends, .in = any_life, .needs = {taking}, .clears = {taking}},
    {.event = e::breaks, .in = {giving}, .becomes = lost, .needs = {taking}},
    {.event = e::stop_later, .in = any_life, .without = {stopping}, .sets = {stopping}, .clears = {stopped}},
    {.event = e::stop_now, .in = any_life, .without = in_use, .sets = {stopped}},
    {.event = e::left, .in = any_life, .needs = {stopping}, .without = {taking}, .sets = {stopped}, .clears = {stopping}},
};

}  // namespace shared_queue_table_rows

inline constexpr auto shared_queue_table = make_state_table(
    state_names<2, 3, 7>{.record = "shared_queue",
                         .lives = {"giving", "lost"},
                         .marks = {"taking", "stopping", "stopped"},
                         .events = {"start", "take_begins", "take_ends", "breaks", "stop_later", "stop_now", "left"}},
    shared_queue_table_rows::rows);

using shared_queue_state = decltype(shared_queue_table)::state;

inline bool asked_to_stop(shared_queue_state s) {
  return s.any(shared_queue_table_rows::asked_to_stop);
}

}  // namespace hcasim
