// The reader of recorded traffic: what a file says, and what is wrong with it.
#include <sstream>

#include <gtest/gtest.h>

#include "testbenches/traffic/replay/trace.h"

namespace hcasim::replay {
namespace {

constexpr const char* events =
    "receive 1 0 0 qp 1 - 64@1+0\n"
    "post 0 1000 0 qp 0 write SM 64@0+8,32@0+128 to 1+4096\n"
    "post 0 1000 0 qp 0 send SFI 16@-\n"
    "done 0 5000 20 queue 0 polls s0*2\n"
    "done 1 6000 0 queue 1 events r1*1\n";
constexpr const char* objects =
    "thread 0 node 0\n"
    "thread 1 node 1\n"
    "queue 0 node 0 entries 16\n"
    "queue 1 node 1 entries 16\n"
    "region 0 node 0 bytes 4096 offset 0 memory host\n"
    "region 1 node 1 bytes 8192 offset 64 memory gpu\n"
    "qp 0 node 0 type rc sends 8 2 receives 0 1 inline 28 queues 0 0 shared - peer 1 mtu 1024 reads 16 timeout 14 retry 7 7 1\n"
    "qp 1 node 1 type rc sends 1 1 receives 8 1 inline 28 queues 1 1 shared - peer 0 mtu 4096 reads 16 timeout 14 retry 7 7 "
    "1\n";
constexpr const char* head = "hcasim traffic 1\nnodes 2\n";
constexpr const char* end = "end 5 7000\n";

trace read(const std::string& text) {
  std::istringstream in(text);
  return read_trace(in, "f");
}
std::string whole() {
  return std::string(head) + events + objects + end;
}
std::string error_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const trace_error& e) {
    return e.what();
  }
  return "no error";
}
std::string replaced(const std::string& from, const std::string& to) {
  std::string text = whole();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// Two threads poll one queue: a step counts the completions that the other thread had polled before.
TEST(Trace, completions_are_counted_in_the_order_of_the_record) {
  std::string text = replaced("done 1 6000", "done 0 5100 20 queue 0 polls s0*3\ndone 1 6000");
  text.replace(text.find("end 5"), 5, "end 6");
  const trace t = read(text);
  EXPECT_EQ(t.completions.at(0).so_far, 2U);
  EXPECT_EQ(t.completions.at(1).so_far, 5U);
  EXPECT_EQ(t.completions.at(2).so_far, 1U);
}

TEST(Trace, holds_what_the_file_says) {
  const trace t = read(whole());
  EXPECT_EQ(t.nodes, 2U);
  EXPECT_EQ(t.posts, 2U);
  EXPECT_EQ(t.end, ps(7000));
  ASSERT_EQ(t.threads.size(), 2U);
  const trace_step& write = t.threads[0].steps.at(0);
  EXPECT_EQ(write.opcode, verbs::IBV_WR_RDMA_WRITE);
  EXPECT_TRUE(write.more);
  EXPECT_EQ(write.flags, unsigned{verbs::IBV_SEND_SIGNALED});
  EXPECT_EQ(write.remote, 1U);
  EXPECT_EQ(write.remote_offset, 4096U);
  EXPECT_EQ(t.pieces.at(write.first + 1).offset, 128U);
  EXPECT_EQ(t.threads[0].steps.at(2).gap, ps(20));
  EXPECT_EQ(t.completions.at(0).count, 2U);
  EXPECT_TRUE(t.queues[1].events);
  EXPECT_FALSE(t.queues[0].events);
  EXPECT_EQ(t.qps[1].mtu, verbs::IBV_MTU_4096);
  EXPECT_EQ(t.regions[1].memory, traffic::memory_kind::gpu);
}

TEST(Trace, errors_name_file_line_and_mend) {
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(error_of(text).find(part), std::string::npos) << error_of(text);
  };
  expect("", "f:1: the file is empty; name a file");
  expect("%PDF-1.4\n", "f:1: this is no recorded traffic");
  expect(replaced("traffic 1", "traffic 2"), "f:1: version '2' is unknown");
  expect(replaced("nodes 2", "nodes 65"), "f:2: 65 is out of range");
  expect(replaced("node 1\n", "node 2\n"), "f:9: 2 is out of range; allowed is 0 to 1");
  expect(replaced("post 0 1000 0 qp 0 write", "post 0 1000 0 qp 7 write"), "f:4: there is no qp 7");
  expect(replaced("64@0+8", "64@1+8"), "f:4: there is no node 0 region 1");
  expect(replaced("64@0+8", "64@0+4090"), "f:4: 0+4090 with 64 bytes lies outside");
  expect(replaced(" to 1+4096", " to 0+4096"), "f:4: there is no node 1 region 0");
  expect(replaced(" to 1+4096", " to ?"), "f:4: the record does not know the memory");
  expect(replaced(" write ", " bind "), "f:4: the operation 'bind' makes or ends a key");
  expect(replaced("type rc", "type xrc"), "a QP of XRC cannot be replayed");
  expect(replaced("s0*2", "f0*2"), "f:6: a request failed in the recorded run");
  expect(replaced("memory gpu", "memory special"), "f:13: a region of memory 'special'");
  expect(replaced("end 5", "end 6"), "f:16: the record has 6 events, and 5 stand here");
  expect(std::string(head) + "end 0 0\n", "nothing was posted");
}

// Every beginning of the file is an error, and no beginning is taken for a whole file.
TEST(Trace, a_file_that_is_cut_off_is_refused_wherever_it_ends) {
  const std::string text = whole();
  for (std::size_t n = 0; n + 2 < text.size(); ++n) EXPECT_NE(error_of(text.substr(0, n)), "no error") << n;
}

}  // namespace
}  // namespace hcasim::replay
