// Tests that hold in every system, whatever stands between its adapters and memory. Each runs the system to its end.
#pragma once

#include <gtest/gtest.h>

#include "testbenches/kit/world.h"
#include "testbenches/scenarios/key_lifecycle.h"
#include "testbenches/scenarios/key_storm.h"
#include "testbenches/scenarios/on_demand.h"
#include "testbenches/scenarios/random_traffic.h"

namespace hcasim::kit {

inline void every_byte_arrives(world& w, std::uint64_t operations) {
  random_outcome r;
  random_options o;
  o.operations = operations;
  start_random(w.sys(), o, 7, r);
  run_simulation();
  EXPECT_EQ(r.problem, "");
  EXPECT_TRUE(r.ok);
  EXPECT_EQ(r.received, r.done[2]);
  EXPECT_EQ(w.sys().packets().in_use(), 0U);
  for (const std::uint64_t n : r.done) EXPECT_GT(n, 10U);
}

inline void no_byte_lands_under_a_closed_window(world& w, int type = 1) {
  storm_options o;
  o.changes = 4'000;
  o.type = type;
  storm_outcome r;
  start_storm(w.sys(), o, 3, r);
  run_simulation();
  ASSERT_TRUE(r.ok) << r.problem;
  EXPECT_EQ(r.wrongly_granted, 0u);
  EXPECT_EQ(r.wrongly_denied, 0u);
  EXPECT_EQ(r.late_bytes, 0u);
  EXPECT_GT(r.granted, 500u);
  EXPECT_GT(r.denied, 20u);
}

// Each way takes the right away and gives it back (the peer tries both); where the time goes adds up, and what goes by commands
// costs more than what goes by work requests.
inline void rights_change_in_six_ways(world& w, std::uint32_t keys) {
  lifecycle_options o;
  o.live_keys = {1, keys};
  o.changes = 20;
  o.traffic = 300;
  lifecycle_outcome r;
  start_lifecycle(w.sys(), o, 5, r);
  run_simulation();
  ASSERT_TRUE(r.ok) << r.problem;
  ASSERT_EQ(r.rows.size(), 2 * rights_ways);
  ASSERT_EQ(r.undisturbed.size(), 2U);
  for (const lifecycle_row& row : r.rows) {
    EXPECT_EQ(row.changes, 20U);
    EXPECT_GE(row.grant.latencies.size(), 10U);
    EXPECT_EQ(row.grant.latencies.size(), row.revoke.latencies.size());
    EXPECT_GE(row.traffic.latencies.size(), 300U);
    EXPECT_LE(row.cpu + row.commands + row.unit, row.total) << name_of(row.way);
    const bool by_command =
        row.way == rights_way::reregister || row.way == rights_way::kept_key || row.way == rights_way::register_anew;
    EXPECT_EQ(row.commands > ps(0), by_command) << name_of(row.way);
    EXPECT_EQ(row.unit > ps(0), !by_command) << name_of(row.way);
    EXPECT_GT(row.pcie_bytes, 0);
  }
  EXPECT_LT(r.rows[static_cast<std::size_t>(rights_way::type_2)].total,
            r.rows[static_cast<std::size_t>(rights_way::reregister)].total);
}

inline paging_outcome pages_come_and_go(world& w, std::uint32_t takes = 60) {
  paging_options o;
  o.pages = 48;
  o.takes = takes;
  o.shares = {0.1, 1};
  paging_outcome r;
  start_paging(w.sys(), o, 11, r);
  run_simulation();
  EXPECT_EQ(r.problem, "");
  EXPECT_TRUE(r.ok);
  return r;
}

}  // namespace hcasim::kit
