// Clients of different servers measure at the same time: no port carries more than its link.
#include "testbenches/verbs_programs/testing/run_programs.h"

namespace hcasim::applications {
namespace {

struct run_of_clients {
  outcome ended;
  double sum = 0;
};

// Servers on node0, a client on each other node.
run_of_clients incast(const std::string& folder, int clients, const std::string& options) {
  std::string words;
  std::string nodes = fmt::format("--set nodes={}", clients + 1);
  for (int i = 0; i < clients; ++i) {
    words += fmt::format("-- ib_write_bw -F -n 200 -p {} ", 18515 + i);
    nodes += fmt::format(" --param program{}.node=0 --param program{}.node={}", i, clients + i, i + 1);
  }
  for (int i = 0; i < clients; ++i) words += fmt::format("-- ib_write_bw -F -n 200 -p {} node0 ", 18515 + i);
  run_of_clients out{exec(folder, words, nodes + " " + options)};
  for (int i = 0; i < clients; ++i) out.sum += figure(folder, fmt::format("program{}.bw_average", clients + i).c_str());
  return out;
}

constexpr double link = 100e9 / 8 / 1048576 * 4096 / 4122;  // MiB/s

TEST(overlap, clients_of_an_incast_share_the_link) {
  if (const std::string why = obstacle("ib_write_bw"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  const run_of_clients run = incast(folder / "a", 3, "");
  ASSERT_EQ(run.ended.status, 0) << run.ended.text;
  EXPECT_LT(run.sum, link);
  EXPECT_GT(run.sum, 0.98 * link);
  EXPECT_GT(figure(folder / "a", "overlap"), 0.98);
  EXPECT_EQ(run.ended.text.find("at no time"), std::string::npos) << run.ended.text;
}

TEST(overlap, a_run_of_clients_one_after_the_other_says_so) {
  if (const std::string why = obstacle("ib_write_bw"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  const run_of_clients run = incast(folder / "a", 2, "--param together=never");
  ASSERT_EQ(run.ended.status, 0) << run.ended.text;
  EXPECT_GT(run.sum, 1.9 * link);
  EXPECT_EQ(figure(folder / "a", "overlap"), 0);
  EXPECT_NE(run.ended.text.find("at no time were all 2 clients active"), std::string::npos) << run.ended.text;
}

TEST(overlap, together_needs_two_clients) {
  if (const std::string why = obstacle("ibv_devices"); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  const outcome run = exec(folder / "a", "--together -- ibv_devices -- ibv_devices node0");
  EXPECT_EQ(run.status, 2);
  EXPECT_NE(run.text.find("fewer than two programs name the node of another one"), std::string::npos) << run.text;
}

}  // namespace
}  // namespace hcasim::applications
