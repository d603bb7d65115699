// The product of ways of traffic: mixes and ways of a key, memory at both ends, completion queues, translation, RTL, loss.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/combinations.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

using testing::axis;
using testing::combination;

constexpr int messages = 48;

std::string set(const std::string& knobs) {
  return "--set 'traffic.flows.f." + knobs + "'";
}

axis mixes() {
  const std::string region = " " + set("region=4 KiB");
  return {set("write=1") + " " + set("read=1") + " " + set("send=1") + " " + set("fetch_add=1") + region,
          set("write_imm=1") + " " + set("send=1") + " " + set("transport=uc") + region,
          set("send=1") + " " + set("transport=ud"),
          set("send=1") + " " + set("read=1") + " " + set("transport=xrc") + region,
          set("bind_write=1"),
          set("register_write=1"),
          set("fast_write=1"),
          set("extend_write=1"),
          set("exchange_write=1"),
          set("write=1") + " " + set("read=1") + " " + set("windows=type_2") + region,
          set("bind=1") + " " + set("write=1"),
          set("send=1") + " " + set("transport=ud") + " " + set("members=2") + " " + set("global_routes=true"),
          set("send=1") + " " + set("read=1") + " " + set("shared_receives=true") + " " + set("srqs=2") + " " +
              set("global_routes=true") + " " + set("receives=3") + " " + set("rnr_timer=4") + " " + set("timeout=12") +
              region};
}

std::vector<axis> axes() {
  return {mixes(),
          {set("memory=host"), set("memory=on_demand"), set("memory=gpu"), set("memory=device")},
          {set("source_memory=host"), set("source_memory=on_demand"), set("source_memory=gpu"), set("source_memory=device")},
          {"", set("cqs=own"), set("cqs=own") + " " + set("wait=events")},
          {"", "--set node*.iommu.enabled=true", "--set node*.iommu.enabled=true --set node*.hca.atc.enabled=true"},
          {"", "--set node*.hca.key_check.implementation=rtl"},
          {"", "--set link.loss=0.01", "--set link.virtual_lanes=2 " + set("service_level=3")}};
}

// A window needs a pinned region of the host or its GPU. Registration takes any memory, and the other keys host memory.
// Payloads under a key come from the host or a GPU.
bool allowed(const combination& c) {
  constexpr std::size_t bind = 4;
  constexpr std::size_t registered = 5;
  constexpr std::size_t exchange = 8;
  constexpr std::size_t windows = 9;
  constexpr std::size_t own_binds = 10;
  constexpr std::size_t gpu = 2;
  if (c[0] == windows) return c[1] == 0 || c[1] == gpu;
  if (c[0] == own_binds) return c[2] == 0 || c[2] == gpu;
  if (c[0] < bind || c[0] > exchange) return true;
  return (c[2] == 0 || c[2] == gpu) && (c[1] == 0 || c[0] == registered || (c[0] == bind && c[1] == gpu));
}

class traffic_product : public test_in_own_folder {};

TEST_F(traffic_product, every_pair_of_ways_carries_all_messages) {
  std::ofstream("t.yaml") << "testbench: traffic\nnode*.peer0.kind: gpu\ntraffic:\n"
                             "  groups: {clients: 0, servers: 1}\n  flows:\n"
                             "    f: {from: clients, to: servers, size: uniform 1 B to 1 KiB, qps: 2, "
                             "window: 4, messages: "
                          << messages << "}\n  warm_up: 0 us\n  measure: never\n";
  const std::vector<axis> all = axes();
  const auto chosen = testing::combinations(all, allowed);
  EXPECT_GT(chosen.size(), 24U);
  for (const combination& c : chosen) {
    const std::string arguments = testing::text_of(all, c);
    const outcome o = run_program(places::program, "run t.yaml " + arguments + "-o out --force --no-trace");
    EXPECT_EQ(o.status, 0) << arguments << o.text;
    if (o.status != 0) continue;
    const auto tables = nlohmann::json::parse(file_content("out/result.json"))["tables"];
    EXPECT_EQ(tables[1]["title"], "latency");
    EXPECT_EQ(tables[1]["rows"][0][2], messages) << arguments;
  }
}

}  // namespace
}  // namespace hcasim
