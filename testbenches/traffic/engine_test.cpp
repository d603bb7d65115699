// Traffic on the machine against hand calculations.
#include <gtest/gtest.h>

#include "testbenches/kit/world.h"
#include "testbenches/program/results/hierarchy.h"
#include "testbenches/traffic/engine.h"

namespace hcasim::traffic {
namespace {

struct outcome {
  std::vector<flow_record> records;
  plan planned;
  ps time{0};                            // measured
  std::map<std::string, double> counts;  // sums over the nodes: window_unit.binds

  [[nodiscard]] double gigabits(std::size_t flow = 0) const {
    return static_cast<double>(records[flow].bytes()) * 8 / to_seconds(time) / 1e9;
  }
};

outcome run(const traffic_options& o, system_config config, std::uint64_t seed = 1, companion* with = nullptr) {
  config.seed = seed;
  outcome out;
  out.planned = make_plan(o, {1e15, 1, 1_ps, 220, 0_ps, {}}, seed, [](std::string_view) { return std::filesystem::path(); });
  config.nodes.resize(out.planned.hosts);
  kit::world w(config);
  engine e(w.sys(), out.planned, seed, {});
  if (with) e.accompany(*with);
  e.start();
  run_simulation();
  EXPECT_TRUE(e.finished());
  for (const flow_record& r : e.records()) EXPECT_EQ(r.failure(), "");
  out.records = e.records();
  out.time = e.end() - e.begin();
  for (const unit* u : all_units()) {
    const std::string name = u->basename();
    for (const statistic& s : u->stats().all()) {
      const auto* const* c = std::get_if<const counter*>(&s.value);
      if (c) out.counts[name + "." + s.name] += static_cast<double>((*c)->value());
    }
  }
  return out;
}

flow_options& add_flow(traffic_options& o, const std::string& from, const std::string& to, operation op) {
  traffic_options::flow& f = o.flows.emplace_back();
  f.name = "flow" + std::to_string(o.flows.size());
  f.options.from = from;
  f.options.to = to;
  f.options.weights[static_cast<std::size_t>(op)] = 1;
  return f.options;
}

// A packet of 1 KiB has 26 bytes more on the wire, the first of a WRITE 16 besides.
TEST(traffic_engine, writes_move_what_the_link_carries) {
  traffic_options o;
  o.groups = {{"a", "0"}, {"b", "1"}};
  add_flow(o, "a", "b", operation::write).window = 32;
  system_config config;
  config.link.rate = bit_rate{40e9};
  constexpr double bound = 40.0 * 4096 / (4 * 1050 + 16);
  EXPECT_NEAR(run(o, config).gigabits(), bound, 0.02 * bound);
}

// The first and the last packet of a READ's answer have 4 bytes more.
TEST(traffic_engine, reads_move_what_the_link_carries) {
  traffic_options o;
  o.groups = {{"a", "0"}, {"b", "1"}};
  add_flow(o, "a", "b", operation::read).window = 32;
  system_config config;
  config.link.rate = bit_rate{40e9};
  constexpr double bound = 40.0 * 4096 / (4 * 1050 + 8);
  EXPECT_NEAR(run(o, config).gigabits(), bound, 0.02 * bound);
}

// Both ports together move what two links carry, and each carries half of it.
class ports_of_a_flow : public ::testing::TestWithParam<port_use> {};

TEST_P(ports_of_a_flow, move_what_their_links_carry) {
  traffic_options o;
  o.groups = {{"a", "0"}, {"b", "1"}};
  flow_options& f = add_flow(o, "a", "b", operation::write);
  f.qps = 4;
  f.ports = GetParam();
  system_config config;
  config.link.rate = bit_rate{20e9};
  for (node_config& n : config.nodes) n.hca.port.count = 2;
  constexpr double bound = 20.0 * 4096 / (4 * 1050 + 16);
  outcome r = run(o, config);
  const double links = f.ports == port_use::both ? 2 : 1;
  EXPECT_NEAR(r.gigabits(), links * bound, 0.02 * links * bound);
  const double first = r.counts["port.egress_bytes"];
  const double second = r.counts["port2.egress_bytes"];
  EXPECT_NEAR(first / (first + second), f.ports == port_use::first ? 1 : f.ports == port_use::both ? 0.5 : 0, 0.01);
}

INSTANTIATE_TEST_SUITE_P(all, ports_of_a_flow, ::testing::Values(port_use::first, port_use::second, port_use::both),
                         [](const auto& x) {
                           return x.param == port_use::first ? "first" : x.param == port_use::second ? "second" : "both";
                         });

// READs use one direction of the server's link and WRITEs the other: together they move more than one direction carries.
TEST(traffic_engine, an_incast_shares_the_servers_link_fairly) {
  traffic_options o;
  o.groups = {{"clients", "0-3"}, {"server", "4"}};
  flow_options& f = add_flow(o, "clients", "server", operation::write);
  f.pattern = "incast";
  system_config config;
  config.link.rate = bit_rate{40e9};
  const outcome r = run(o, config);
  constexpr double bound = 40.0 * 4096 / (4 * 1050 + 16);
  EXPECT_NEAR(r.gigabits(), bound, 0.02 * bound);
  std::vector<double> rates;
  for (const flow_record::pair_count& n : r.records[0].pairs()) rates.push_back(static_cast<double>(n.pushed));
  EXPECT_EQ(rates.size(), 4U);
  EXPECT_GT(jain_index(rates), 0.98);
}

// An open loop with exponential gaps on a link of 1 Gb/s, whose service time is constant: M/D/1. The waits of the producer's
// own arrivals follow Lindley's recursion; over many arrivals these have the mean rho / (2 (1 - rho)) service times.
class queue_of_an_open_loop : public ::testing::TestWithParam<int> {
 protected:
  static constexpr double service = (1024 + 26 + 16) * 8 * 1e3;  // ps

  static traffic_options options(double load) {
    traffic_options o;
    o.groups = {{"a", "0"}, {"b", "1"}};
    flow_options& f = add_flow(o, "a", "b", operation::write);
    f.size = "1 KiB";
    f.window = 512;
    f.rate = load / service * 1e12;
    o.warm_up = 0_ps;
    o.measure = never;
    return o;
  }
  // Returns the mean wait of the first `messages` arrivals, in service times.
  static double waits(const planned_flow& f, std::uint64_t messages) {
    flow_producer arrivals(f, 1, "traffic." + f.name + ".0.1.0", 1, nullptr);
    double wait = 0;
    double sum = 0;
    ps before{0};
    for (std::uint64_t i = 0; i < messages; ++i) {
      message m;
      EXPECT_TRUE(arrivals.next(m));
      wait = i == 0 ? 0 : std::max(0.0, wait + service - static_cast<double>((m.at - before).count()));
      sum += wait;
      before = m.at;
    }
    return sum / static_cast<double>(messages) / service;
  }
};

TEST_P(queue_of_an_open_loop, arrivals_wait_as_md1_says) {
  const double load = GetParam() / 100.0;
  traffic_options o = options(load);
  o.flows[0].options.messages = 1;
  const plan p = make_plan(o, {1e15, 1, 1_ps, 220, 0_ps, {}}, 1, [](std::string_view) { return std::filesystem::path(); });
  const double expected = load / (2 * (1 - load));
  EXPECT_NEAR(waits(p.flows[0], 8'000'000), expected, 0.02 * expected);
}

TEST_P(queue_of_an_open_loop, the_machine_waits_as_its_arrivals_say) {
  const double load = GetParam() / 100.0;
  traffic_options o = options(load);
  o.flows[0].options.messages = 6000;
  system_config config;
  config.link.rate = bit_rate{1e9};
  const outcome r = run(o, config);
  const latency_histogram& h = r.records[0].response();
  ASSERT_EQ(h.count(), 6000U);
  const double expected = waits(r.planned.flows[0], 6000);
  // The share 1 - rho of the messages does not wait. The median of these is the time without a queue.
  const double alone = h.percentile((1 - load) / 2);
  EXPECT_NEAR((h.mean() - alone) / service, expected, 0.02 * expected);
}

INSTANTIATE_TEST_SUITE_P(percent, queue_of_an_open_loop, ::testing::Values(30, 60, 90));

// Every service carries what it has.
struct service_case {
  const char* name;
  transport service;
  std::vector<operation> mix;
  bool shared;
};

class services : public ::testing::TestWithParam<service_case> {};

TEST_P(services, carry_all_messages) {
  const service_case& s = GetParam();
  traffic_options o;
  o.groups = {{"a", "0-1"}, {"b", "2"}};
  flow_options& f = add_flow(o, "a", "b", s.mix[0]);
  for (const operation op : s.mix) f.weights[static_cast<std::size_t>(op)] = 1;
  f.service = s.service;
  f.shared_receives = s.shared;
  f.pattern = "incast";
  f.size = "uniform 1 B to 1 KiB";
  f.qps = 2;
  f.window = 4;
  f.messages = 400;
  o.warm_up = 0_ps;
  o.measure = never;
  const outcome r = run(o, {});
  EXPECT_EQ(r.records[0].all_messages(), 400U);
  const double receiving =
      static_cast<double>(std::count_if(s.mix.begin(), s.mix.end(),
                                        [](operation op) { return op == operation::send || op == operation::write_imm; })) /
      static_cast<double>(s.mix.size());
  EXPECT_NEAR(static_cast<double>(r.records[0].receives()), 400 * receiving, 60);
}

INSTANTIATE_TEST_SUITE_P(
    all, services,
    ::testing::Values(service_case{"rc_shared", transport::rc, {operation::send, operation::cmp_swap}, true},
                      service_case{"uc", transport::uc, {operation::send, operation::write, operation::write_imm}, false},
                      service_case{"ud", transport::ud, {operation::send}, false},
                      service_case{"ud_shared", transport::ud, {operation::send}, true},
                      service_case{"xrc", transport::xrc, {operation::send, operation::write, operation::read}, false}),
    [](const auto& i) { return i.param.name; });

traffic_options of_two_hosts(operation op, std::uint64_t messages) {
  traffic_options o;
  o.groups = {{"a", "0"}, {"b", "1"}};
  flow_options& f = add_flow(o, "a", "b", op);
  f.size = "256 B";
  f.qps = 3;
  f.window = 4;
  f.messages = messages;
  o.warm_up = 0_ps;
  o.measure = never;
  return o;
}

TEST(traffic_engine, messages_of_xrc_go_to_all_srqs_in_turn) {
  traffic_options o = of_two_hosts(operation::send, 300);
  o.flows[0].options.service = transport::xrc;
  o.flows[0].options.srqs = 5;
  const outcome r = run(o, {});
  EXPECT_EQ(r.records[0].receives(), 300U);
}

TEST(traffic_engine, qps_share_several_receive_queues) {
  traffic_options o = of_two_hosts(operation::send, 300);
  o.flows[0].options.shared_receives = true;
  o.flows[0].options.srqs = 2;
  EXPECT_EQ(run(o, {}).records[0].receives(), 300U);
}

// Slowly enough for the software of the members.
TEST(traffic_engine, a_group_gives_each_member_every_message) {
  traffic_options o = of_two_hosts(operation::send, 300);
  o.flows[0].options.service = transport::ud;
  o.flows[0].options.members = 3;
  o.flows[0].options.rate = 2e6;
  const outcome r = run(o, {});
  EXPECT_EQ(r.records[0].all_messages(), 300U);
  EXPECT_EQ(r.records[0].receives(), 900U);
}

class lossy_services : public ::testing::TestWithParam<transport> {};

// A message of one packet arrives whole, or not at all.
TEST_P(lossy_services, count_what_has_arrived) {
  traffic_options o = of_two_hosts(operation::send, 1000);
  o.flows[0].options.service = GetParam();
  o.flows[0].options.rate = 2e6;
  system_config config;
  config.link.loss = 0.3;
  const outcome r = run(o, config);
  EXPECT_EQ(r.records[0].all_messages(), 1000U);
  EXPECT_EQ(r.records[0].bytes(), 1000U * 256);
  EXPECT_EQ(r.records[0].arrived(1), r.records[0].receives() * 256);
  EXPECT_NEAR(static_cast<double>(r.records[0].receives()), 700, 100);
  EXPECT_EQ(r.records[0].arrived(0), 0U);
}

INSTANTIATE_TEST_SUITE_P(all, lossy_services, ::testing::Values(transport::uc, transport::ud),
                         [](const auto& p) { return std::string(p.param == transport::uc ? "uc" : "ud"); });

TEST(traffic_engine, a_bind_is_a_message_of_its_own) {
  traffic_options o = of_two_hosts(operation::bind, 300);
  o.flows[0].options.size = flow_options{}.size;
  EXPECT_EQ(run(o, {}).counts.at("window_unit.binds"), 300);
}

TEST(traffic_engine, binds_mix_with_messages) {
  traffic_options o = of_two_hosts(operation::bind, 300);
  o.flows[0].options.weights[static_cast<std::size_t>(operation::write)] = 1;
  const outcome r = run(o, {});
  EXPECT_EQ(r.records[0].all_messages(), 300U);
  EXPECT_NEAR(r.counts.at("window_unit.binds"), 150, 30);
}

class long_lived_windows : public ::testing::TestWithParam<window_use> {};

TEST_P(long_lived_windows, give_peers_their_keys) {
  traffic_options o = of_two_hosts(operation::write, 300);
  flow_options& f = o.flows[0].options;
  f.weights[static_cast<std::size_t>(operation::read)] = 1;
  f.weights[static_cast<std::size_t>(operation::fetch_add)] = 1;
  f.regions = 4;
  f.order = "random";
  f.windows = GetParam();
  const outcome r = run(o, {});
  EXPECT_EQ(r.records[0].all_messages(), 300U);
  EXPECT_EQ(r.counts.at("window_unit.binds"), GetParam() == window_use::type_1 ? 4 : 12);
}

INSTANTIATE_TEST_SUITE_P(all, long_lived_windows, ::testing::Values(window_use::type_1, window_use::type_2));

// A packet of 256 bytes has 26 of headers, and a GRH has 40.
TEST(traffic_engine, datagrams_on_global_routes_have_a_grh) {
  traffic_options o = of_two_hosts(operation::send, 300);
  o.flows[0].options.service = transport::ud;
  o.flows[0].options.global_routes = true;
  const outcome r = run(o, {});
  EXPECT_EQ(r.counts.at("port.egress_packets"), 300);
  EXPECT_EQ(r.counts.at("port.egress_bytes"), 300 * (256 + 26 + 8 + 40)) << "a datagram has 8 bytes of its own header";
}

// A producer of one's own: so many messages on each QP, and no more.
class few_messages final : public producer {
 public:
  bool next(message& m) override {
    m = {operation::write, 64, 0, 0, 0_ps};
    return left_-- != 0;
  }

 private:
  int left_ = 7;
};
class own_messages final : public companion {
 public:
  std::unique_ptr<producer> messages(std::size_t /*flow*/, std::size_t qp) override {
    return qp == 2 ? nullptr : std::make_unique<few_messages>();
  }
  void completed(cpu& /*c*/, std::size_t /*flow*/, std::size_t qp, std::uint64_t number) override {
    EXPECT_EQ(number, done[qp]++);
  }
  void made(std::size_t /*host*/, kit::process_context& /*p*/) override { ++hosts; }
  void closed(std::size_t /*host*/, bool clean) override { EXPECT_TRUE(clean); }
  std::map<std::size_t, std::uint64_t> done;
  int hosts = 0;
};

TEST(traffic_engine, a_companion_says_the_messages_of_some_qps) {
  traffic_options o = of_two_hosts(operation::write, 100);
  o.flows[0].options.batch = 4;
  own_messages mine;
  const outcome r = run(o, {}, 1, &mine);
  EXPECT_EQ(r.records[0].all_messages(), 100U);
  EXPECT_EQ(mine.done, (std::map<std::size_t, std::uint64_t>{{0, 7}, {1, 7}, {2, 86}}));
  EXPECT_EQ(mine.hosts, 2);
}

TEST(traffic_engine, begins_at_a_multiple_of_its_grid) {
  traffic_options o = of_two_hosts(operation::write, 10);
  plan p = make_plan(o, {1e15, 1, 1_ps, 220, 0_ps, {}}, 1, [](std::string_view) { return std::filesystem::path(); });
  p.grid = 1_ms;
  system_config config;
  config.nodes.resize(2);
  kit::world w(config);
  engine e(w.sys(), p, 1, {});
  e.start();
  run_simulation();
  EXPECT_TRUE(e.finished());
  EXPECT_EQ(e.begin().count() % (1_ms).count(), 0);
}

// A message whose key lives for it alone, by each of the three ways, beside READs on the same QPs.
class a_key_for_each_message : public ::testing::TestWithParam<operation> {};

TEST_P(a_key_for_each_message, carries_all_messages) {
  traffic_options o;
  o.groups = {{"a", "0-1"}, {"b", "2"}};
  flow_options& f = add_flow(o, "a", "b", GetParam());
  f.weights[static_cast<std::size_t>(operation::read)] = 1;
  f.pattern = "incast";
  f.qps = 2;
  f.window = 4;
  f.messages = 600;
  o.warm_up = 0_ps;
  o.measure = never;
  const outcome r = run(o, {});
  EXPECT_EQ(r.records[0].all_messages(), 600U);
  EXPECT_NEAR(static_cast<double>(r.records[0].receives()), 300, 60);
}

INSTANTIATE_TEST_SUITE_P(all, a_key_for_each_message,
                         ::testing::Values(operation::bind_write, operation::register_write, operation::fast_write,
                                           operation::extend_write, operation::exchange_write),
                         [](const auto& i) { return operation_names[static_cast<std::size_t>(i.param)]; });

TEST(traffic_engine, every_message_of_a_count_is_completed) {
  traffic_options o;
  o.groups = {{"a", "0-1"}, {"b", "2"}};
  flow_options& f = add_flow(o, "a", "b", operation::write);
  f.pattern = "incast";
  f.weights[static_cast<std::size_t>(operation::send)] = 1;
  f.weights[static_cast<std::size_t>(operation::write_imm)] = 1;
  f.weights[static_cast<std::size_t>(operation::fetch_add)] = 1;
  f.qps = 3;
  f.threads = 2;
  f.signal_every = 4;
  f.size = "uniform 1 B to 4 KiB";
  f.messages = 1001;
  o.warm_up = 0_ps;
  o.measure = never;
  const outcome r = run(o, {});
  EXPECT_EQ(r.records[0].all_messages(), 1001U);
  EXPECT_NEAR(static_cast<double>(r.records[0].receives()), 500, 80) << "SENDs and WRITEs with immediate";
}

}  // namespace
}  // namespace hcasim::traffic
