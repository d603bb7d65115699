// Programs on machines of other kinds: behind an IOMMU, with ATS, as RTL, with the smallest caches, on a lossy link. Devices
// are lost in the middle. HCASIM_FULL runs each program on each machine.
#include <algorithm>
#include <cstdlib>

#include "testbenches/verbs_programs/testing/run_programs.h"

namespace hcasim::applications {
namespace {

struct machine {
  const char* name;
  std::string options;
};

void PrintTo(const machine& m, std::ostream* to) {  // NOLINT(readability-identifier-naming): GoogleTest's
  *to << m.name;
}

const std::vector<machine>& machines() {
  static const std::string iommu = "--set 'node*.iommu.enabled=true' ";
  static const std::string ats = iommu + "--set 'node*.hca.atc.enabled=true' ";
  static const std::string rtl = [] {
    std::string all;
    for (const char* unit : {"doorbell", "key_check", "mrc_cache", "qpc_cache", "page_walker"})
      all += fmt::format("--set 'node*.hca.{}.implementation=rtl' ", unit);
    return all;
  }();
  static const std::vector<machine> list{
      {"behind_an_iommu", iommu + "--set 'node*.iommu.entries=8'"},
      {"with_ats", ats + "--set 'node*.hca.atc.entries=16'"},
      {"paging_by_the_iommu", ats + "--set 'node*.driver.on_demand=iommu'"},
      {"as_rtl", rtl},
      {"as_rtl_behind_an_iommu", rtl + iommu},
      {"with_the_smallest_caches",
       "--set 'node*.hca.mrc_cache.sets=1' --set 'node*.hca.mrc_cache.ways=1' --set 'node*.hca.qpc_cache.sets=1' "
       "--set 'node*.hca.page_walker.leaf_sets=1'"},
      {"on_a_lossy_link", "--set link.loss=0.02"},
  };
  return list;
}

struct pair_of_programs {
  const char* program;
  const char* server;
  const char* client;
  bool reliable = true;
};
constexpr pair_of_programs all_programs[] = {
    {"ib_write_bw", "ib_write_bw -n 200", "ib_write_bw -n 200 node0"},
    {"ib_read_lat", "ib_read_lat -n 100", "ib_read_lat -n 100 node0"},
    {"ib_send_bw", "ib_send_bw -n 200 --use-srq", "ib_send_bw -n 200 --use-srq node0"},
    {"ib_atomic_lat", "ib_atomic_lat -n 50", "ib_atomic_lat -n 50 node0"},
    {"ib_write_bw", "ib_write_bw -c XRC -n 100", "ib_write_bw -c XRC -n 100 node0"},
    {"rping", "rping -s -C 5 -v", "rping -c -a node0 -C 5 -v"},
    {"ibv_rc_pingpong", "ibv_rc_pingpong -o -n 50", "ibv_rc_pingpong -o -n 50 node0"},
    {"ibv_srq_pingpong", "ibv_srq_pingpong -e -n 50", "ibv_srq_pingpong -e -n 50 node0"},
    {"ibv_ud_pingpong", "ibv_ud_pingpong -n 50", "ibv_ud_pingpong -n 50 node0", false},
};

bool full() {
  return std::getenv("HCASIM_FULL") != nullptr;
}

class programs_on : public ::testing::TestWithParam<machine> {};

TEST_P(programs_on, do_as_on_the_plain_one) {
  const machine& m = GetParam();
  const bool lossy = m.options.find("loss") != std::string::npos;
  const auto same = [&](const machine& other) { return other.name == m.name; };
  const auto turn = static_cast<std::size_t>(std::find_if(machines().begin(), machines().end(), same) - machines().begin());
  const scratch folder;
  std::size_t ran = 0;
  for (std::size_t i = 0; i < std::size(all_programs); ++i) {
    const pair_of_programs& p = all_programs[i];
    // In short, each machine has three programs, and each program some machine.
    const bool chosen = full() || i % 3 == turn % 3;
    if (!chosen || (lossy && !p.reliable) || !obstacle(p.program).empty()) continue;
    const outcome o = exec(folder / "a", fmt::format("-- {} -- {}", p.server, p.client), m.options + " --force");
    EXPECT_EQ(o.status, 0) << p.client << "\n" << o.text;
    ++ran;
  }
  if (ran == 0) GTEST_SKIP() << "none of the programs is here";
}

INSTANTIATE_TEST_SUITE_P(all, programs_on, ::testing::ValuesIn(machines()),
                         [](const auto& i) { return std::string(i.param.name); });

// Returns the run of a pair whose device on `node` is lost after 1 ms.
outcome run_with_loss(const std::string& folder, const std::string& server, const std::string& client, int node) {
  return exec(folder, fmt::format("-- {} -- {}", server, client),
              fmt::format("--set 'faults=[{{at: 1 ms, where: node{}.pcie, what: function_reset}}]'", node));
}

TEST(a_lost_device, ends_a_program_that_polls) {
  if (const std::string why = obstacle("ib_write_bw"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  for (const int node : {0, 1}) {
    const std::string to = folder / std::to_string(node);
    const outcome o = run_with_loss(to, "ib_write_bw -n 3000", "ib_write_bw -n 3000 node0", node);
    EXPECT_EQ(o.status, 1) << o.text;
    EXPECT_NE(o.text.find("ended with status"), std::string::npos) << o.text;
  }
}

// Its driver looks at it although nothing else is left to happen. The connection manager tells the program, and then the peer.
TEST(a_lost_device, ends_a_program_that_sleeps) {
  if (const std::string why = obstacle("rping"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  for (const int node : {0, 1}) {
    if (node == 1 && !full()) continue;  // ten seconds of the machine, in which the outside might wake a program
    const std::string to = folder / std::to_string(node);
    const outcome o = run_with_loss(to, "rping -s -C 50 -v", "rping -c -a node0 -C 50 -v", node);
    EXPECT_EQ(o.status, 1) << o.text;
    const auto said = [&](int program) { return file_content(fmt::format("{}/program{}.txt", to, program)); };
    EXPECT_NE(said(node).find("device removal"), std::string::npos) << said(node);
    EXPECT_NE(said(1 - node).find("DISCONNECT EVENT"), std::string::npos) << said(1 - node);
  }
}

}  // namespace
}  // namespace hcasim::applications
