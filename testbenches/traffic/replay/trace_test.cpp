// The reader of recorded traffic: what a file says, and what is wrong with it.
#include <cstring>
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
  EXPECT_EQ(write.remote.of, 1U);
  EXPECT_EQ(write.remote.offset, 4096U);
  EXPECT_EQ(t.pieces.at(write.first + 1).at.offset, 128U);
  EXPECT_EQ(t.threads[0].steps.at(2).gap, ps(20));
  EXPECT_EQ(t.completions.at(0).count, 2U);
  EXPECT_TRUE(t.queues[1].events);
  EXPECT_FALSE(t.queues[0].events);
  EXPECT_EQ(t.qps[1].mtu, verbs::IBV_MTU_4096);
  EXPECT_EQ(t.regions[1].memory, traffic::memory_kind::gpu);
}

// The second node binds a window, the first one writes through it, and the window ends.
TEST(Trace, requests_make_and_end_keys) {
  std::string text = replaced("done 0 5000",
                              "post 1 900 0 qp 1 bind - 4096@1+64 to key 0 2\npost 0 950 0 qp 0 write - 64@0+0 to k0+8\n"
                              "post 1 960 0 qp 1 invalidate - - to key 0\ndone 0 5000");
  text.replace(text.find("end 5"), 5, "end 8");
  text.insert(text.find("qp 0 node"), "key 0 node 1 kind window2 pages 0\n");
  const trace t = read(text);
  const trace_step& bind = t.threads[1].steps.at(1);
  EXPECT_EQ(bind.opcode, verbs::IBV_WR_BIND_MW);
  EXPECT_TRUE(bind.remote.keyed);
  EXPECT_EQ(bind.access, 2U);
  EXPECT_EQ(t.pieces.at(bind.first).at.offset, 64U);
  const trace_step& write = t.threads[0].steps.at(2);
  EXPECT_TRUE(write.remote.keyed);
  EXPECT_EQ(write.remote.offset, 8U);
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    return error_of(changed.replace(changed.find(from), from.size(), to));
  };
  EXPECT_NE(error("to key 0 2", "to key 3 2").find("f:6: there is no node 1 key 3"), std::string::npos);
  EXPECT_NE(error("to k0+8", "to k1+8").find("f:7: there is no node 1 key 1"), std::string::npos);
  EXPECT_NE(error("- - to key 0", "- - to key ?").find("f:8: the record does not know this key"), std::string::npos);
  EXPECT_NE(error("window2", "fast").find("f:6: key 0 is of another kind"), std::string::npos);
  EXPECT_NE(error("window2", "door").find("'door' is no kind of a key"), std::string::npos);
  EXPECT_NE(error("4096@1+64", "4096@-").find("f:6: a key covers a piece of a region"), std::string::npos);
  EXPECT_NE(error("4096@1+64", "64@1+0,64@1+64").find("f:6: a key covers one piece"), std::string::npos);
}

TEST(Trace, each_xrc_request_names_its_shared_queue) {
  std::string text = whole();
  const auto swap = [&](const std::string& from, const std::string& to) { text.replace(text.find(from), from.size(), to); };
  swap("type rc", "type xrc_send");
  swap("type rc", "type xrc_receive");
  swap("queue 1 node 1", "shared 0 node 1 receives 8 1 queue 1\nqueue 1 node 1");
  swap(" to 1+4096", " to 1+4096 srq 0");
  EXPECT_NE(error_of(text).find("f:5: the record does not know the SRQ"), std::string::npos) << error_of(text);
  swap("SFI 16@-", "SFI 16@- srq 0");
  EXPECT_EQ(error_of(text), "no error");
}

TEST(Trace, a_qp_has_a_port_and_a_way) {
  const trace old = read(whole());
  EXPECT_EQ(old.qps[0].port, 1);
  EXPECT_EQ(old.qps[0].way, trace_way{});
  std::string text = replaced("traffic 1", "traffic 2");
  text.replace(text.find("7 7 1\nqp"), 6, "7 7 1 port 2 sl 3 grh\n");
  const trace t = read(text);
  EXPECT_EQ(t.qps[0].port, 2);
  EXPECT_EQ(t.qps[0].way, (trace_way{3, true}));
  EXPECT_EQ(t.qps[1].way, trace_way{});
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    return error_of(changed.replace(changed.find(from), from.size(), to));
  };
  EXPECT_NE(error("port 2", "port 3").find("3 is out of range"), std::string::npos);
  EXPECT_NE(error("port 2", "port 0").find("ports are counted from 1"), std::string::npos);
  EXPECT_NE(error("sl 3", "sl 16").find("16 is out of range"), std::string::npos);
  EXPECT_NE(error("grh", "gru").find("'gru' behind the end of the line"), std::string::npos);
}

TEST(Trace, errors_name_file_line_and_mend) {
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(error_of(text).find(part), std::string::npos) << error_of(text);
  };
  expect("", "f:1: the file is empty; name a file");
  expect("%PDF-1.4\n", "f:1: this is no recorded traffic");
  expect(replaced("traffic 1", "traffic 3"), "f:1: version '3' is unknown");
  expect(replaced("nodes 2", "nodes 1025"), "f:2: 1025 is out of range");
  expect(replaced("node 1\n", "node 2\n"), "f:9: 2 is out of range; allowed is 0 to 1");
  expect(replaced("post 0 1000 0 qp 0 write", "post 0 1000 0 qp 7 write"), "f:4: there is no qp 7");
  expect(replaced("64@0+8", "64@1+8"), "f:4: there is no node 0 region 1");
  expect(replaced("64@0+8", "64@0+4090"), "f:4: 0+4090 with 64 bytes lies outside");
  expect(replaced(" to 1+4096", " to 0+4096"), "f:4: there is no node 1 region 0");
  expect(replaced(" to 1+4096", " to ?"), "f:4: the record does not know the memory");
  expect(replaced(" write ", " bind "), "f:4: '1+4096' stands where 'key' is expected");
  expect(replaced(" to 1+4096", " to group 0"), "f:4: a group takes datagrams only");
  expect(replaced(" write ", " wrote "), "f:4: there is no operation 'wrote'");
  expect(replaced("type rc", "type xrc"), "'xrc' is no type of a QP");
  expect(replaced("type rc", "type xrc_send"), "qp 0 has peer 1");
  expect(replaced("s0*2", "f0*2"), "f:6: a request failed in the recorded run");
  expect(replaced("memory gpu", "memory special"), "f:13: a region of memory 'special'");
  expect(replaced(" to 1+4096", " to 1+4096 srq 0"), "f:4: there is no SRQ of XRC 0");
  expect(replaced("end 5", "end 6"), "f:16: the record has 6 events, and 5 stand here");
  expect(std::string(head) + "end 0 0\n", "nothing was posted");
}

TEST(Trace, groups_have_members) {
  std::string text = replaced("type rc sends 8", "type ud sends 8");
  text.replace(text.find("type rc"), 7, "type ud");
  for (const char* to : {" to 1+4096", "peer 1", "peer 0"}) {
    const std::string_view by = to[0] == ' ' ? " to group 0" : "peer -";
    text.replace(text.find(to), std::strlen(to), by);
  }
  text.replace(text.find("qp 0 send SFI 16@-"), 18, "qp 0 send SFI 16@- to qp 1");
  text.insert(text.find("end 5"), "group 0 lid 49153 gid ff0e000000000000000000000000000a\nmember 0 qp 1\n");
  const trace t = read(text);
  ASSERT_EQ(t.groups.size(), 1U);
  EXPECT_EQ(t.groups[0].lid, 49153);
  EXPECT_EQ(t.groups[0].gid.raw[15], 10);
  EXPECT_EQ(t.groups[0].qps, std::vector<std::uint32_t>{1});
  EXPECT_TRUE(t.threads[0].steps.at(0).remote.group);
  const auto error = [&](const std::string& from, const std::string& by) {
    std::string changed = text;
    return error_of(changed.replace(changed.find(from), from.size(), by));
  };
  EXPECT_NE(error("to group 0", "to group 3").find("f:4: there is no group 3"), std::string::npos);
  EXPECT_NE(error("member 0", "member 2").find("there is no group 2"), std::string::npos);
  EXPECT_NE(error("gid ff0e", "gid fg0e").find("is no GID"), std::string::npos);
}

// Every beginning of the file is an error, and no beginning is taken for a whole file.
TEST(Trace, a_file_that_is_cut_off_is_refused_wherever_it_ends) {
  const std::string text = whole();
  for (std::size_t n = 0; n + 2 < text.size(); ++n) EXPECT_NE(error_of(text.substr(0, n)), "no error") << n;
}

}  // namespace
}  // namespace hcasim::replay
