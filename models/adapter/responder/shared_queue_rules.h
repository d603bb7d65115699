// States of an SRQ, and the events that change them. Its positions and the receives on chip are no part of the state.
#pragma once

#include "tlm/base/state_table.h"

namespace hcasim {

// lost: its context or buffer is unreadable or damaged, and software knows. ended: the number is a QP's now.
enum class shared_queue_life : std::uint8_t { giving, lost, ended };

// taking: a WQE is being taken from its list.
enum class shared_queue_mark : std::uint8_t { taking };

enum class shared_queue_event : std::uint8_t {
  start,  // a new life of the SRQ
  take_begins,
  take_ends,
  breaks,
  end,
};

namespace shared_queue_table_rows {

using enum shared_queue_life;
using enum shared_queue_mark;
using e = shared_queue_event;
using row = state_row<shared_queue_life, shared_queue_mark, shared_queue_event>;

inline constexpr row rows[] = {
    {.event = e::start, .in = {giving, lost, ended}, .becomes = giving, .without = {taking}},
    {.event = e::take_begins, .in = {giving, lost}, .without = {taking}, .sets = {taking}},
    {.event = e::take_ends, .in = {giving, lost}, .needs = {taking}, .clears = {taking}},
    {.event = e::breaks, .in = {giving}, .becomes = lost, .needs = {taking}},
    {.event = e::end, .in = {giving, lost}, .becomes = ended, .without = {taking}},
};

}  // namespace shared_queue_table_rows

inline constexpr auto shared_queue_table =
    make_state_table(state_names<3, 1, 5>{.record = "shared_queue",
                                          .lives = {"giving", "lost", "ended"},
                                          .marks = {"taking"},
                                          .events = {"start", "take_begins", "take_ends", "breaks", "end"}},
                     shared_queue_table_rows::rows);

using shared_queue_state = decltype(shared_queue_table)::state;

}  // namespace hcasim
