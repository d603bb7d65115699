// Processes of their own for pieces of work.
#include "testbenches/program/processes/pool.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include <gtest/gtest.h>

#include "testbenches/program/description/errors.h"
#include "tlm/base/send_signal.h"

namespace hcasim {
namespace {

struct pool_run {
  explicit pool_run(unsigned jobs, std::uint64_t pieces, std::function<std::string(std::uint64_t)> work)
      : pool({.jobs = jobs}, std::move(work)) {
    pool.next = [this, pieces]() -> std::optional<std::uint64_t> {
      if (at == pieces) return std::nullopt;
      return ++at;
    };
    pool.done = [this](piece_outcome o) { ended[o.id] = std::move(o); };
  }
  process_pool pool;
  std::uint64_t at = 0;
  std::map<std::uint64_t, piece_outcome> ended;
};

std::vector<int> child_processes() {
  std::ifstream in("/proc/thread-self/children");
  return {std::istream_iterator<int>(in), {}};
}

std::size_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(process_pool, every_piece_ends_with_its_message_and_its_time) {
  const std::string large(3 << 20, 'x');  // more than a pipe holds
  pool_run r(3, 10, [&](std::uint64_t id) { return large + std::to_string(id); });
  EXPECT_TRUE(r.pool.run());
  ASSERT_EQ(r.ended.size(), 10U);
  for (const auto& [id, o] : r.ended) {
    EXPECT_EQ(o.message, large + std::to_string(id));
    EXPECT_EQ(o.output, "");
    EXPECT_GT(o.cpu_seconds, 0);
    EXPECT_LE(o.cpu_seconds, o.seconds + 0.1);
    EXPECT_GT(o.peak_bytes, 1U << 20);
  }
}

TEST(process_pool, children_are_as_this_process_was_when_the_pool_was_prepared) {
  std::string state = "before";
  pool_run r(2, 4, [&](std::uint64_t) { return state; });
  r.pool.prepare();
  state = "after";
  EXPECT_TRUE(r.pool.run());
  for (const auto& [id, o] : r.ended) EXPECT_EQ(o.message, "before");
  r.at = 2;
  EXPECT_TRUE(r.pool.run()) << "more pieces of the same pool";
  EXPECT_EQ(r.ended[4].message, "before");
  r.pool.refresh();
  r.at = 3;
  EXPECT_TRUE(r.pool.run());
  EXPECT_EQ(r.ended[4].message, "after");
}

TEST(process_pool, a_piece_that_fails_leaves_its_words_and_nothing_to_the_next) {
  pool_run r(1, 4, [](std::uint64_t id) -> std::string {
    if (id == 1) throw std::runtime_error("a long story that ends badly");
    if (id == 2) ::_exit(7);
    if (id == 3) ::raise(SIGKILL);
    std::cout << "short\n";
    return "well";
  });
  EXPECT_TRUE(r.pool.run());
  EXPECT_EQ(WEXITSTATUS(r.ended[1].status), 1);
  EXPECT_EQ(r.ended[1].output, "a long story that ends badly\n");
  EXPECT_EQ(WEXITSTATUS(r.ended[2].status), 7);
  EXPECT_EQ(r.ended[2].output, "");
  EXPECT_TRUE(WIFSIGNALED(r.ended[3].status));
  EXPECT_EQ(r.ended[3].message, "");
  EXPECT_EQ(r.ended[4].output, "short\n");
  EXPECT_EQ(r.ended[4].message, "well");
}

TEST(process_pool, a_child_knows_what_was_known_when_the_pool_was_last_told) {
  int known = 1;
  pool_run r(1, 4, [&](std::uint64_t) { return std::to_string(known); });
  r.pool.done = [&](piece_outcome o) {
    known = 10 * static_cast<int>(o.id);
    if (o.id == 2) r.pool.refresh();
    r.ended[o.id] = std::move(o);
  };
  EXPECT_TRUE(r.pool.run());
  EXPECT_EQ(r.ended[1].message, "1");
  EXPECT_EQ(r.ended[2].message, "1");
  EXPECT_EQ(r.ended[3].message, "20");
  EXPECT_EQ(r.ended[4].message, "20");
}

TEST(process_pool, many_pieces_leave_no_process_and_no_open_file) {
  const std::size_t before = open_files();
  {
    std::size_t most = 0;
    pool_run r(2, 50, [](std::uint64_t) { return "done"; });
    r.pool.idle = [&] { most = std::max(most, open_files()); };
    EXPECT_TRUE(r.pool.run());
    EXPECT_EQ(r.ended.size(), 50U);
    EXPECT_LE(most, before + 7);  // two files and a process of each of the two, a line
  }
  EXPECT_EQ(open_files(), before);
  EXPECT_TRUE(child_processes().empty());
}

TEST(process_pool, the_end_of_the_process_that_forks_is_said) {
  pool_run r(1, 3, [](std::uint64_t) { return "done"; });
  r.pool.done = [&](const piece_outcome&) {
    for (const int pid : child_processes()) {
      signal_process(pid, SIGKILL);
      siginfo_t ended{};
      ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT);
    }
  };
  try {
    r.pool.run();
    FAIL() << "a run was started";
  } catch (const input_error& e) {
    EXPECT_EQ(std::string(e.what()), "cannot start a run: the process that forks is gone; go on with --resume");
  }
}

}  // namespace
}  // namespace hcasim
