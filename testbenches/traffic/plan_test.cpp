// Bad descriptions are refused, and a producer follows the plan of a good one.
#include <gtest/gtest.h>

#include <functional>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/traffic/plan.h"
#include "testbenches/traffic/producer.h"

namespace hcasim::traffic {
namespace {

// A description of two flows among four hosts, to spoil.
traffic_options sample() {
  traffic_options o;
  o.groups = {{"clients", "0-2"}, {"servers", "3"}};
  for (const char* name : {"reads", "writes"}) {
    traffic_options::flow f{name, {}};
    f.options.from = "clients";
    f.options.to = "servers";
    f.options.pattern = "incast";
    f.options.weights[static_cast<std::size_t>(std::string(name) == "reads" ? operation::read : operation::write)] = 1;
    o.flows.push_back(std::move(f));
  }
  return o;
}

plan planned(const traffic_options& o, const machine_limits& limits = {}) {
  return make_plan(o, limits, 1, [](std::string_view) { return std::filesystem::path(); });
}

struct spoiled {
  const char* path;
  const char* error;
  std::function<void(traffic_options&)> spoil;
};

void PrintTo(const spoiled& s, std::ostream* to) {
  *to << s.path;
}

class plan_errors : public ::testing::TestWithParam<spoiled> {};

TEST_P(plan_errors, name_the_knob_and_the_mend) {
  traffic_options o = sample();
  EXPECT_NO_THROW(planned(o));
  GetParam().spoil(o);
  try {
    (void)planned(o);
    ADD_FAILURE() << "was taken";
  } catch (const knob_error& e) {
    EXPECT_EQ(e.path(), GetParam().path);
    EXPECT_EQ(std::string(e.what()), GetParam().error);
  }
}

flow_options& first(traffic_options& o) {
  return o.flows[0].options;
}

// Gives the first flow a mix of these operations.
void mix(traffic_options& o, std::initializer_list<operation> of) {
  first(o).weights = {};
  for (const operation one : of) first(o).weights[static_cast<std::size_t>(one)] = 1;
}

INSTANTIATE_TEST_SUITE_P(
    all, plan_errors,
    ::testing::Values(
        spoiled{"flows.reads.to", "there is no group 'sevrers'; did you mean 'servers'?",
                [](auto& o) { first(o).to = "sevrers"; }},
        spoiled{"flows.reads.from", "is missing; write from: GROUP, one of clients, servers",
                [](auto& o) { first(o).from = ""; }},
        spoiled{"flows.reads", "the mix has no operation; write for example write: 1", [](auto& o) { first(o).weights = {}; }},
        spoiled{"flows.reads.read", "UC does not carry it here; write transport: rc, or leave it out of the mix",
                [](auto& o) { first(o).service = transport::uc; }},
        spoiled{"groups.clients", "host 2 is in no flow; name its group in one, or remove it",
                [](auto& o) {
                  o.groups.push_back({"others", "0-1"});
                  for (auto& f : o.flows) f.options.from = "others";
                }},
        spoiled{"groups.servers", "has host 5, and no group has host 3; number the hosts without gaps",
                [](auto& o) { o.groups[1].hosts = "5"; }},
        spoiled{"flows.reads.region", "a message of 4 KiB does not fit; write region: 4 KiB or more",
                [](auto& o) { first(o).region = 64; }},
        spoiled{"flows.reads.inline",
                "a READ or an atomic has no payload to send; remove it from the mix, or "
                "inline",
                [](auto& o) { first(o).send_inline = true; }},
        spoiled{"flows.reads.gap",
                "the mean gap is below 1 ps; an open loop needs one above, such as "
                "exponential 2 us",
                [](auto& o) { first(o).gap = "0 ns"; }},
        spoiled{"flows.reads.gap", "rate says it already; remove one of them",
                [](auto& o) {
                  first(o).gap = "1 us";
                  first(o).rate = 1e6;
                }},
        spoiled{"flows.reads.rate",
                "host 3 would send 132.3 Gb/s over a link of 100 Gb/s; lower it by the "
                "factor 0.756, or raise link.rate",
                [](auto& o) { first(o).rate = 3.93e6; }},
        spoiled{"flows.reads.burst", "a closed loop has no arrivals; write rate: N", [](auto& o) { first(o).burst = 4; }},
        spoiled{"flows.reads.shared_receives", "no message of the mix takes a receive; add send or write_imm, or remove it",
                [](auto& o) { first(o).shared_receives = true; }},
        spoiled{"flows.reads.pattern",
                "each message chooses its target, so the messages under way are those of "
                "a source; write outstanding: N, or "
                "rate: N",
                [](auto& o) { first(o).pattern = "random"; }},
        spoiled{"flows.reads.order", "'zpif 1' is no order; did you mean 'zipf 1.1'?",
                [](auto& o) { first(o).order = "zpif 1"; }},
        spoiled{"flows.reads.send", "does not go with bind_write on the same QPs; make a second flow of it",
                [](auto& o) {
                  mix(o, {operation::read, operation::send, operation::bind_write});
                }},
        spoiled{"flows.reads.threads",
                "host 0 has 1 QPs, and a thread needs one; write threads: 1 or less, or "
                "more qps",
                [](auto& o) { first(o).threads = 2; }},
        spoiled{"flows.reads.memory", "host 3 has no GPU; write node3.peer0.kind: gpu",
                [](auto& o) { first(o).memory = memory_kind::gpu; }},
        spoiled{"flows.reads.source_memory", "the adapter of host 0 has no memory; write node0.hca.device_memory.size: N",
                [](auto& o) { first(o).source_memory = memory_kind::device; }},
        spoiled{"flows.reads.memory", "extend_write is not for such memory; write memory: host, or register_write",
                [](auto& o) {
                  mix(o, {operation::extend_write});
                  first(o).memory = memory_kind::on_demand;
                }},
        spoiled{"flows.reads.cqs",
                "each thread has one QP, and so a queue of its own; write more qps, or "
                "remove it",
                [](auto& o) { first(o).cqs = queue_use::own; }},
        spoiled{"flows.reads.moderation_time",
                "is missing: the last completions are fewer than moderation_count, and a "
                "thread would wait for ever; write "
                "moderation_time: N",
                [](auto& o) {
                  first(o).wait = waiting::events;
                  first(o).moderation_count = 4;
                }},
        spoiled{"flows.reads.window", "outstanding counts the messages of all QPs instead; leave one of them out",
                [](auto& o) {
                  first(o).window = 8;
                  first(o).outstanding = 4;
                }},
        spoiled{"flows.reads.size", "an atomic has 8 bytes, and a bind none; remove it",
                [](auto& o) {
                  mix(o, {operation::fetch_add});
                  first(o).size = "64 KiB";
                }},
        spoiled{"flows.reads.regions", "no message of the mix goes to a region; add write or read, or remove it",
                [](auto& o) {
                  mix(o, {operation::send});
                  first(o).regions = 9;
                }},
        spoiled{"flows.reads.phase", "no flow has the phase 2 before it; number phases without gaps",
                [](auto& o) { first(o).phase = 3; }},
        spoiled{"flows.writes.messages",
                "phase 1 has no end, and another one follows; write messages: N, or stop: "
                "TIME",
                [](auto& o) { first(o).phase = 2; }},
        spoiled{"flows.reads.stop", "not before the end of the measured time; lower it, or remove it",
                [](auto& o) { first(o).stop = o.warm_up + o.measure; }},
        spoiled{"flows.reads.messages", "measure: never ends with the messages of every flow; write messages: N",
                [](auto& o) { o.measure = never; }},
        spoiled{"measure", "until: steady needs a longest time; write for example measure: 10 ms",
                [](auto& o) {
                  o.until = run_until::steady;
                  o.measure = never;
                }},
        spoiled{"flows.reads.messages", "until: steady needs flows of constant load; leave it out",
                [](auto& o) {
                  o.until = run_until::steady;
                  first(o).messages = 10;
                }},
        spoiled{"flows.reads.stop", "until: steady needs flows of constant load; leave it out",
                [](auto& o) {
                  o.until = run_until::steady;
                  first(o).stop = 30_us;
                }},
        spoiled{"flows.reads.start", "until: steady needs flows of constant load; lower it below warm_up", [](auto& o) {
                  o.until = run_until::steady;
                  first(o).start = o.warm_up + 1_us;
                }}));

INSTANTIATE_TEST_SUITE_P(
    objects, plan_errors,
    ::testing::Values(
        spoiled{"flows.reads.bind", "XRC does not carry it here; write transport: rc, or leave it out of the mix",
                [](auto& o) {
                  mix(o, {operation::read, operation::bind});
                  first(o).service = transport::xrc;
                }},
        spoiled{"flows.reads.source_memory",
                "a window needs a region that is pinned in the host or its GPU; write "
                "source_memory: host, or leave out bind",
                [](auto& o) {
                  mix(o, {operation::read, operation::bind});
                  first(o).source_memory = memory_kind::on_demand;
                }},
        spoiled{"flows.reads.windows",
                "a window needs a region that is pinned in the host or its GPU; write "
                "memory: host, or remove it",
                [](auto& o) {
                  first(o).windows = window_use::type_1;
                  first(o).memory = memory_kind::on_demand;
                }},
        spoiled{"flows.reads.windows",
                "a QP of the target binds, and only RC and UC do; write transport: rc, or "
                "remove it",
                [](auto& o) {
                  first(o).windows = window_use::type_2;
                  first(o).service = transport::xrc;
                }},
        spoiled{"flows.reads.windows", "no message of the mix goes to a region; add write or read, or remove it",
                [](auto& o) {
                  mix(o, {operation::send});
                  first(o).windows = window_use::type_1;
                }},
        spoiled{"flows.reads.srqs", "there is no shared queue; write shared_receives: true, or remove it",
                [](auto& o) { first(o).srqs = 2; }},
        spoiled{"flows.reads.srqs", "a target has 3 QPs, and each uses one; write srqs: 3 or less",
                [](auto& o) {
                  mix(o, {operation::send});
                  first(o).shared_receives = true;
                  first(o).srqs = 4;
                }},
        spoiled{"flows.reads.members", "only datagrams go to groups; write transport: ud, or remove it",
                [](auto& o) { first(o).members = 2; }},
        spoiled{"flows.reads.shared_receives", "each member of a group has its own receives; leave one of them out",
                [](auto& o) {
                  mix(o, {operation::send});
                  first(o).service = transport::ud;
                  first(o).size = "64 B";
                  first(o).members = 2;
                  first(o).shared_receives = true;
                }},
        spoiled{"flows.reads.timeout", "UC and UD wait for no answer; remove it",
                [](auto& o) {
                  mix(o, {operation::write});
                  first(o).service = transport::uc;
                  first(o).timeout = 10;
                }},
        spoiled{"flows.reads.rnr_timer", "UC and UD wait for no answer; remove it",
                [](auto& o) {
                  mix(o, {operation::write});
                  first(o).service = transport::uc;
                  first(o).rnr_timer = 4;
                }},
        spoiled{"flows.reads.receives", "no message of the mix takes a receive; add send or write_imm, or remove it",
                [](auto& o) {
                  mix(o, {operation::write});
                  first(o).receives = 4;
                }},
        spoiled{"flows.reads.receives", "each key of the window has its receives; write window: N, or remove it",
                [](auto& o) {
                  mix(o, {operation::bind_write});
                  first(o).receives = 4;
                }},
        spoiled{"flows.reads.read_depth", "the adapters allow 16; lower it, or raise node*.hca.command_unit.max_read_depth",
                [](auto& o) { first(o).read_depth = 17; }},
        spoiled{"flows.reads.read_depth", "there are no READs and no atomics; add a weight, or remove it",
                [](auto& o) {
                  mix(o, {operation::write});
                  first(o).read_depth = 4;
                }},
        spoiled{"flows.reads.service_level", "all levels share the one lane; write link.virtual_lanes: 2 or more, or remove it",
                [](auto& o) { first(o).service_level = 1; }},
        spoiled{"flows.reads.inline", "a bind has no payload to send; add write or send, or remove it", [](auto& o) {
                  mix(o, {operation::bind});
                  first(o).send_inline = true;
                  first(o).size = flow_options{}.size;
                }}));

TEST(plan, a_load_that_a_thread_cannot_post_is_refused) {
  traffic_options o = sample();
  first(o).rate = 60e6;
  first(o).size = "8 B";
  const machine_limits limits{1e15, 1, 58_ns, 220, 0_ps, {}};
  EXPECT_THROW(planned(o, limits), knob_error);
  first(o).rate = 50e6;
  EXPECT_NO_THROW(planned(o, limits));
}

// Eight counters are a region of 64 B, whatever the size of messages is otherwise.
TEST(plan, a_flow_of_atomics_moves_eight_bytes) {
  traffic_options o = sample();
  mix(o, {operation::fetch_add});
  first(o).region = 64;
  const plan p = planned(o);
  EXPECT_EQ(p.flows.at(0).longest, 8U);
  EXPECT_EQ(p.flows.at(0).size.mean(), 8);
}

// A receiving thread takes receives at its pace, and the memory of an adapter or a GPU has an end.
TEST(plan, receives_and_memory_that_a_host_cannot_bear_are_refused) {
  traffic_options o = sample();
  mix(o, {operation::send});
  first(o).size = "8 B";
  first(o).rate = 12e6;
  machine_limits limits{1e15, 1, 1_ps, 220, 100_ns, {}};
  EXPECT_THROW(planned(o, limits), knob_error);
  first(o).rate = 9e6;
  EXPECT_NO_THROW(planned(o, limits));
  o.flows[1].options.memory = memory_kind::device;
  o.flows[1].options.regions = 4;
  limits.hosts.resize(4);
  limits.hosts[3].adapter_bytes = 256_KiB;
  EXPECT_NO_THROW(planned(o, limits));
  first(o).memory = memory_kind::device;
  EXPECT_THROW(planned(o, limits), knob_error) << "each fits, and both together do not";
}

TEST(plan, ports_that_an_adapter_lacks_are_refused) {
  traffic_options o = sample();
  machine_limits limits{1e15, 1, 1_ps, 220, 0_ps, {}};
  limits.hosts.resize(4);
  first(o).ports = port_use::second;
  EXPECT_THROW(planned(o, limits), knob_error);
  for (machine_limits::host& h : limits.hosts) h.ports = 2;
  EXPECT_NO_THROW(planned(o, limits));
  first(o).ports = port_use::both;
  first(o).qps = 1;
  EXPECT_THROW(planned(o, limits), knob_error) << "one QP has one port";
  first(o).qps = 3;
  const plan p = planned(o, limits);
  EXPECT_EQ(p.flows[0].port_of(0), 1);
  EXPECT_EQ(p.flows[0].port_of(1), 2);
  EXPECT_EQ(p.flows[0].port_of(3), 1) << "the first QP of the next pair";
  EXPECT_DOUBLE_EQ(p.flows[0].share_of_port(2), 1.0 / 3);
}

std::string refusal(const traffic_options& o, const machine_limits& limits) {
  try {
    (void)planned(o, limits);
  } catch (const knob_error& e) {
    return std::string(e.path()) + ": " + e.what();
  }
  return "";
}

TEST(plan, packets_that_a_host_cannot_carry_are_refused) {
  traffic_options o = sample();
  machine_limits limits{1e15, 1, 1_ps, 220, 0_ps, {}};
  limits.hosts.resize(4);
  limits.hosts[3].mtu = 1024;
  EXPECT_EQ(refusal(o, limits), "");
  first(o).mtu = path_mtu::mtu_4096;
  EXPECT_EQ(
      refusal(o, limits),
      "flows.reads.mtu: packets of host 3 have 1024 B at most; write mtu: 1024, or raise node3.hca.port.mtu or link.buffer");
}

TEST(plan, a_guest_has_no_gpu) {
  traffic_options o = sample();
  machine_limits limits{1e15, 1, 1_ps, 220, 0_ps, {}};
  limits.hosts.resize(4);
  limits.hosts[3].beside = "node0";
  first(o).memory = memory_kind::gpu;
  EXPECT_EQ(
      refusal(o, limits),
      "flows.reads.memory: host 3 is beside node0, and GPUs there belong to node0; write memory of another kind, or a flow of "
      "node0");
}

// The link of each port bears half of the load.
TEST(plan, ports_share_a_load) {
  traffic_options o = sample();
  mix(o, {operation::write});
  first(o).size = "1 KiB";
  first(o).qps = 2;
  first(o).rate = 1.5e6;  // 12.8 Gb/s
  machine_limits limits{10e9, 1, 1_ps, 220, 0_ps, {}};
  limits.hosts.resize(4);
  for (machine_limits::host& h : limits.hosts) h.ports = 2;
  first(o).ports = port_use::first;
  EXPECT_THROW(planned(o, limits), knob_error);
  first(o).ports = port_use::both;
  EXPECT_NO_THROW(planned(o, limits));
}

std::vector<message> first_messages(const planned_flow& f, std::uint64_t seed) {
  flow_producer p(f, seed, "lane", 1, nullptr);
  std::vector<message> out(1000);
  for (message& m : out) EXPECT_TRUE(p.next(m));
  return out;
}

TEST(producer, the_same_seed_gives_the_same_messages_and_a_knob_changes_only_its_own) {
  traffic_options o = sample();
  mix(o, {operation::write, operation::read});
  first(o).size = "uniform 64 B to 4 KiB";
  first(o).order = "random";
  first(o).regions = 7;
  first(o).rate = 1e6;
  const plan a = planned(o);
  const auto once = first_messages(a.flows[0], 3);
  const auto again = first_messages(a.flows[0], 3);
  const auto other = first_messages(a.flows[0], 4);
  first(o).size = "128 B";
  const plan b = planned(o);
  const auto small = first_messages(b.flows[0], 3);
  std::size_t different = 0;
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_TRUE(once[i].operation == again[i].operation && once[i].size == again[i].size && once[i].at == again[i].at &&
                once[i].region == again[i].region && once[i].offset == again[i].offset);
    EXPECT_TRUE(once[i].operation == small[i].operation && once[i].at == small[i].at);
    EXPECT_EQ(small[i].size, 128U);
    different += once[i].at != other[i].at ? 1 : 0;
  }
  EXPECT_GT(different, 900U);
}

TEST(producer, bursts_and_pauses_keep_the_rate) {
  traffic_options o = sample();
  first(o).rate = 3e6;  // 1 M/s each
  first(o).burst = 5;
  first(o).on = 10_us;
  first(o).off = 30_us;
  first(o).size = "64 B";
  const plan p = planned(o);
  flow_producer source(p.flows[0], 1, "lane", 1, nullptr);
  message m;
  constexpr int n = 100'000;
  for (int i = 0; i < n; ++i) {
    EXPECT_TRUE(source.next(m));
    EXPECT_LT(m.at % 40_us, 10_us) << "no message in a pause";
  }
  EXPECT_NEAR(n / to_seconds(m.at), 1e6, 2e4);
}

}  // namespace
}  // namespace hcasim::traffic
