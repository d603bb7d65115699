// States of a line of the cache, and the events that change them. The number of its loans is counted beside the state; `held`
// is that count when it is not 0.
#pragma once

#include "tlm/base/state_table.h"

namespace hcasim {

// fetching: its bytes are on their way from ICM. unwanted: and a drop waits for them. dropping: no request gets it any more; it
// goes when those that hold it have given it back. dropping_dirty: and after it was written to ICM. ruined: newer than ICM, and
// its cells went wrong; no request gets it, and ICM will. clean, dirty: as ICM has it, or newer; each request gets it.
enum class line_life : std::uint8_t { empty, fetching, unwanted, dropping, dropping_dirty, ruined, clean, dirty };

enum class line_mark : std::uint8_t { held };

enum class line_event : std::uint8_t {
  fetch_begins,  // into an empty line or a victim, of which a write buffer has a copy
  fetched,
  fetch_fails,
  lent,
  dirtied,     // given back with other bytes
  given_back,  // by the last that held it
  drop_asked,  // and it cannot go at once
  spoils,      // its cells have gone wrong
  loses_its_tag,
  forgotten,
  area_changes,
};

namespace line_table_rows {

using enum line_life;
using enum line_mark;
using e = line_event;
using row = state_row<line_life, line_mark, line_event>;

inline constexpr row rows[] = {
    {.event = e::fetch_begins, .in = {empty, ruined, clean, dirty}, .becomes = fetching, .without = {held}},
    {.event = e::fetched, .in = {fetching}, .becomes = clean, .without = {held}},
    {.event = e::fetched, .in = {unwanted}, .becomes = dropping, .without = {held}},
    {.event = e::fetch_fails, .in = {fetching, unwanted}, .becomes = empty, .without = {held}},
    {.event = e::lent, .in = {dropping, clean, dirty}, .sets = {held}},  // dropping: to those that waited for its bytes
    {.event = e::dirtied, .in = {clean, dirty}, .becomes = dirty, .needs = {held}},
    {.event = e::dirtied, .in = {dropping, dropping_dirty}, .becomes = dropping_dirty, .needs = {held}},
    {.event = e::given_back, .in = {dropping, dropping_dirty, clean, dirty}, .needs = {held}, .clears = {held}},
    {.event = e::drop_asked, .in = {fetching}, .becomes = unwanted, .without = {held}},
    {.event = e::drop_asked, .in = {clean}, .becomes = dropping, .needs = {held}},
    {.event = e::drop_asked, .in = {ruined, dirty}, .becomes = dropping_dirty},
    {.event = e::spoils, .in = {dirty}, .becomes = ruined, .without = {held}},
    {.event = e::loses_its_tag, .in = {clean, dirty}, .becomes = empty, .without = {held}},
    {.event = e::forgotten, .in = {dropping, dropping_dirty, clean}, .becomes = empty, .without = {held}},
    {.event = e::area_changes, .in = {empty, ruined, clean, dirty}, .becomes = empty, .without = {held}},
};

}  // namespace line_table_rows

inline constexpr auto line_table = make_state_table(
    state_names<8, 1, 11>{.record = "line",
                          .lives = {"empty", "fetching", "unwanted", "dropping", "dropping_dirty", "ruined", "clean", "dirty"},
                          .marks = {"held"},
                          .events = {"fetch_begins", "fetched", "fetch_fails", "lent", "dirtied", "given_back", "drop_asked",
                                     "spoils", "loses_its_tag", "forgotten", "area_changes"}},
    line_table_rows::rows);

using line_status = decltype(line_table)::state;

inline line_status status_of(line_life life, std::uint32_t pins) {
  return {.life = life, .marks = enum_set<line_mark>::of(pins != 0 ? 1 : 0)};
}
// Each request gets it.
inline bool may_be_lent(line_life l) {
  return l >= line_life::clean;
}
inline bool may_make_room(line_life l) {
  return l >= line_life::ruined;
}
inline bool under_way(line_life l) {
  return l == line_life::fetching || l == line_life::unwanted;
}
inline bool leaving(line_life l) {
  return l == line_life::dropping || l == line_life::dropping_dirty;
}

}  // namespace hcasim
