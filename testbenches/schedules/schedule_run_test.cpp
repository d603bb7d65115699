// Schedules on simulated hosts. Every way of carrying messages gives every byte, and threads wait for each other. A schedule
// that stands still names its operations, and uncontended ones take the time of LogGP.
#include <iostream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/system/system.h"
#include "testbenches/kit/world.h"
#include "testbenches/schedules/collectives.h"
#include "testbenches/schedules/flow_list.h"
#include "testbenches/schedules/goal.h"
#include "testbenches/schedules/loggp_probe.h"
#include "testbenches/schedules/rank_program.h"

namespace hcasim::schedules {
namespace {

struct outcome {
  run_result result;
  std::vector<std::vector<std::uint32_t>> waiting;
};

outcome run(const schedule& s, const run_options& o) {
  system_config c;
  c.nodes.resize(s.ranks.size());
  kit::world machine(c);
  outcome out;
  const waiting_operations waiting = start_schedule(machine.sys(), s, o, out.result);
  run_simulation();
  for (std::uint32_t r = 0; r < s.ranks.size(); ++r) out.waiting.push_back(waiting(r));
  return out;
}

schedule goal(const std::string& text) {
  std::istringstream in(text);
  schedule s = read_goal(in, "x.goal");
  check(s);
  return s;
}

class ways : public testing::TestWithParam<std::tuple<std::uint64_t, rendezvous, registration>> {};

TEST_P(ways, carry_every_message_of_an_all_to_all) {
  const auto [eager, way, registered] = GetParam();
  constexpr std::uint32_t ranks = 4;
  constexpr std::uint32_t times = 3;
  const schedule s = make(collective::all_to_all, {.ranks = ranks, .bytes = 4 * 20'000});
  run_options o{.times = times};
  o.port.eager = eager;
  o.port.way = way;
  o.port.buffers = {.way = registered, .cached = 2, .buffers = 4};
  const outcome r = run(s, o);
  ASSERT_TRUE(r.result.ok);
  EXPECT_EQ(r.result.times, times);
  for (const rank_result& k : r.result.ranks) {
    const std::uint64_t sent = times * (ranks - 1);
    EXPECT_EQ(k.port.eager, eager >= 20'000 ? sent : 0);
    EXPECT_EQ(k.port.rendezvous, eager >= 20'000 ? 0 : sent);
    EXPECT_EQ(k.port.bytes, sent * 20'000);
    const bool windows = eager == 0 && registered == registration::window;
    EXPECT_EQ(k.buffers.bound, windows ? sent : 0);
    EXPECT_EQ(k.buffers.registered != 0, eager == 0 && !windows);
    const std::uint64_t used = eager == 0 && !windows ? 2 * sent : 0;
    EXPECT_EQ(k.buffers.registered + k.buffers.reused, used);
    EXPECT_EQ(k.buffers.reused != 0, used != 0 && registered == registration::cached);
  }
}

INSTANTIATE_TEST_SUITE_P(all, ways,
                         testing::Combine(testing::Values(0U, 32'768U), testing::Values(rendezvous::read, rendezvous::write),
                                          testing::Values(registration::each, registration::cached, registration::window)));

TEST(schedule_run, threads_of_a_rank_wait_for_each_other) {
  const schedule s = goal(
      "num_ranks 2\n"
      "rank 0 {\na: calc 5000 cpu 0\nb: calc 7000 cpu 1\nc: send 100b to 1 cpu 2\nc requires a\nc requires b\n"
      "d: calc 1000 cpu 0\nd requires c\n}\n"
      "rank 1 {\na: recv 100b from 0 cpu 1\nb: calc 2000 cpu 0\nb requires a\n}\n");
  const outcome r = run(s, {.keep_times = true});
  ASSERT_TRUE(r.result.ok);
  const auto& t = r.result.ranks[0].times;
  EXPECT_EQ(t[0].ended - t[0].begun, 5_us);
  EXPECT_EQ(t[1].begun, t[0].begun) << "two cpus calculate at once";
  EXPECT_GE(t[2].begun, t[1].ended);
  EXPECT_GE(t[3].begun, t[2].ended);
  EXPECT_GE(r.result.ranks[1].times[1].begun, t[2].ended) << "a message takes time";
  EXPECT_EQ(r.result.ranks[0].calculated, 13_us);
}

TEST(schedule_run, a_flow_begins_at_its_start) {
  std::istringstream in("3\n0 1 3 100 100 2.0\n0 1 3 100 100 2.00005\n2 1 3 100 20000 2.00002\n");
  const schedule s = read_flows(in, "x.flows", {.ranks = 3});
  const outcome r = run(s, {.keep_times = true});
  ASSERT_TRUE(r.result.ok);
  const ps began = r.result.began;
  EXPECT_EQ(r.result.ranks[0].times[0].begun - began, 0_us);
  EXPECT_EQ(r.result.ranks[0].times[1].begun - began, 50_us);
  EXPECT_EQ(r.result.ranks[2].times[0].begun - began, 20_us);
  EXPECT_GT(r.result.ranks[1].times[1].ended - began, 50_us);
}

class beside_others : public testing::TestWithParam<registration> {};

// The other message is as short as the first, then a hundred times as long. Contexts are in the caches.
TEST_P(beside_others, a_message_takes_no_longer) {
  system_config c;
  c.nodes.resize(4);
  kit::world machine(c);
  const auto first = [&](std::uint64_t other) {
    std::istringstream in(fmt::format("2\n0 1 3 100 40000 2.0\n2 3 3 100 {} 2.001\n", other));
    const schedule s = read_flows(in, "x.flows", {.ranks = 4});
    run_options o{.times = 2, .warm_up = true, .keep_times = true};
    o.port.buffers.way = GetParam();
    run_result r;
    start_schedule(machine.sys(), s, o, r);
    run_simulation();
    EXPECT_TRUE(r.ok);
    return to_us(r.ranks[1].times[0].ended - r.began);
  };
  const double alone = first(40'000);
  EXPECT_NEAR(first(4'000'000), alone, 0.5);
}

INSTANTIATE_TEST_SUITE_P(all, beside_others, testing::Values(registration::each, registration::cached, registration::window));

TEST(schedule_run, a_longer_message_registers_its_buffer_anew) {
  const schedule s = goal(
      "num_ranks 2\n"
      "rank 0 {\na: send 10000b to 1\nb: send 9000b to 1\nb requires a\nc: send 20000b to 1\nc requires b\n}\n"
      "rank 1 {\na: recv 10000b from 0\nb: recv 9000b from 0\nb requires a\nc: recv 20000b from 0\nc requires b\n}\n");
  run_options o;
  o.port.buffers = {.cached = 1, .buffers = 1};
  const outcome r = run(s, o);
  ASSERT_TRUE(r.result.ok);
  for (const rank_result& k : r.result.ranks) {
    EXPECT_EQ(k.buffers.registered, 2U);
    EXPECT_EQ(k.buffers.reused, 1U);
  }
}

class short_messages : public testing::TestWithParam<std::uint64_t> {};

TEST_P(short_messages, arrive_eagerly_and_by_rendezvous) {
  system_config c;
  c.nodes.resize(2);
  kit::world machine(c);
  const schedule s =
      goal(fmt::format("num_ranks 2\nrank 0 {{\nsend {0}b to 1\n}}\nrank 1 {{\nrecv {0}b from 0\n}}\n", GetParam()));
  for (const std::uint64_t eager : {0, 64}) {
    run_options o;
    o.port.eager = eager;
    run_result r;
    start_schedule(machine.sys(), s, o, r);
    run_simulation();
    EXPECT_TRUE(r.ok);
  }
}

INSTANTIATE_TEST_SUITE_P(all, short_messages, testing::Values(1, 7, 8, 9, 12, 15, 16, 17));

TEST(schedule_run, names_the_operations_that_wait_for_ever) {
  run_options o;
  o.port.eager = 0;
  const schedule s = goal(
      "num_ranks 2\n"
      "rank 0 {\na: send 100b to 1\nb: recv 100b from 1\nb requires a\n}\n"
      "rank 1 {\na: send 100b to 0\nb: recv 100b from 0\nb requires a\n}\n");
  const outcome r = run(s, o);
  EXPECT_FALSE(r.result.ok);
  ASSERT_EQ(r.waiting[0], std::vector<std::uint32_t>{0});
  EXPECT_EQ(place_of(s, 0, 0), "the end of a send of 100 bytes to 1 with tag 0 (line 3)");
}

// Never more than two messages to a rank at once: the third waits for receive WQEs to be fetched.
std::vector<schedule> uncontended() {
  std::vector<schedule> all;
  all.push_back(
      goal("num_ranks 2\nrank 0 {\na: send 8b to 1\nb: recv 4096b from 1\nb requires a\nc: calc 2000\nc requires b\n"
           "d: send 2048b to 1\nd requires c\n}\n"
           "rank 1 {\na: recv 8b from 0\nb: send 4096b to 0\nb requires a\nc: recv 2048b from 0\nc requires b\n}\n"));
  all.push_back(make(collective::broadcast, {.ranks = 2, .bytes = 4096, .repetitions = 2}));
  all.push_back(make(collective::ring_all_reduce, {.ranks = 2, .bytes = 8192, .repetitions = 8, .reduce_per_kib = 250_ns}));
  return all;
}

TEST(schedule_run, takes_the_time_of_loggp_without_contention) {
  system_config c;
  c.nodes.resize(2);
  kit::world machine(c);
  const auto run_here = [&](const schedule& s) {
    run_options o{.times = 2, .warm_up = true, .keep_times = true};
    o.port.eager = 8192;
    run_result r;
    start_schedule(machine.sys(), s, o, r);
    run_simulation();
    EXPECT_TRUE(r.ok);

    return r;
  };
  const loggp_probe probe(8, 8192);
  const loggp p = probe.parameters(run_here(probe.plan()));
  EXPECT_GT(p.latency, ps(0));
  for (const schedule& s : uncontended()) {
    const double measured = to_us(run_here(s).time);
    const double formula = to_us(completion_time(s, p));
    std::cout << "measured " << measured << " us, formula " << formula << " us\n";
    EXPECT_NEAR(measured, formula, formula / 20);
  }
}

}  // namespace
}  // namespace hcasim::schedules
