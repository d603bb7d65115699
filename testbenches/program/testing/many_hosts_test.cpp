// Many hosts in one run.
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

class many_hosts : public test_in_own_folder {
 protected:
  // Returns the most memory that a run of so many hosts has taken, MiB.
  static double memory_of(int hosts) {
    std::ofstream("t.yaml") << fmt::format(
        "testbench: traffic\ntopology: switch\ntraffic:\n  groups: {{all: 0-{}}}\n"
        "  flows:\n    f: {{from: all, to: all, pattern: ring, write: 1, size: 64 B, rate: 1e5}}\n"
        "  warm_up: 1 us\n  measure: 20 us\n",
        hosts - 1);
    const outcome o = run_program(places::program, "run t.yaml --no-trace --force -o out");
    EXPECT_EQ(o.status, 0) << o.text;
    std::ifstream in("out/host.json");
    return nlohmann::json::parse(in)["peak_memory_mib"];
  }
};

// An adapter's tables and a host's memory are made when they are used.
TEST_F(many_hosts, take_three_mib_each_at_the_most) {
  const double few = memory_of(16);
  const double many = memory_of(272);
  EXPECT_LT((many - few) / 256, 3.0) << few << " MiB of 16 hosts, " << many << " of 272";
}

}  // namespace
}  // namespace hcasim
