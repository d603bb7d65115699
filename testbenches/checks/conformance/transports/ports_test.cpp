// Adapters with two ports: a QP and its packets belong to one of them.
#include <cstring>

#include "models/driver/device/device.h"
#include "testbenches/checks/conformance/transports/transports.h"
#include "testbenches/kit/counters.h"
#include "tlm/base/faults.h"

namespace hcasim::kit {
namespace {

qp_options at_port(std::uint8_t port, qp_options o = {}) {
  o.port = port;
  return o;
}

system_config with_two_ports(system_config c) {
  for (node_config& n : c.nodes) n.hca.port.count = 2;
  return c;
}

double packets_out(const hcasim::port& p) {
  return statistic_of(p, "egress_packets");
}

request write_to(const region& from, const region& to, std::uint32_t bytes, std::uint64_t id = 1) {
  return {.id = id, .sges = {{from.addr, bytes, from.mr->lkey}}, .remote = to.addr, .rkey = to.mr->rkey};
}

struct peer_memory {
  address at;
  region memory;
};

TEST(two_ports, have_addresses_of_their_own) {
  world w(with_two_ports(world::one_node()));
  EXPECT_TRUE(w.run({[](cpu& c, node& n) {
    process_context p(c, n);
    ibv_device_attr device{};
    ASSERT_EQ(ibv_query_device(c, p.context, &device), 0);
    EXPECT_EQ(device.phys_port_cnt, 2);
    ibv_port_attr attr[2];
    ibv_gid gid[2];
    for (std::uint8_t i = 0; i < 2; ++i) {
      const auto number = static_cast<std::uint8_t>(i + 1);
      ASSERT_EQ(ibv_query_port(c, p.context, number, &attr[i]), 0);
      ASSERT_EQ(ibv_query_gid(c, p.context, number, 0, &gid[i]), 0);
      EXPECT_EQ(attr[i].state, IBV_PORT_ACTIVE);
    }
    EXPECT_NE(attr[0].lid, attr[1].lid);
    EXPECT_NE(std::memcmp(gid[0].raw, gid[1].raw, sizeof gid[0].raw), 0);
    for (const int wrong : {0, 3, 255}) {
      const auto number = static_cast<std::uint8_t>(wrong);
      EXPECT_EQ(ibv_query_port(c, p.context, number, &attr[0]), EINVAL) << wrong;
      EXPECT_EQ(ibv_query_gid(c, p.context, number, 0, &gid[0]), EINVAL) << wrong;
      EXPECT_EQ(p.connect(p.create_qp(), {}, at_port(number)), EINVAL) << wrong;
    }
  }}));
}

TEST(two_ports, of_an_adapter_with_one_are_refused) {
  world w(world::one_node());
  EXPECT_TRUE(w.run({[](cpu& c, node& n) {
    process_context p(c, n);
    ibv_port_attr attr{};
    EXPECT_EQ(ibv_query_port(c, p.context, 2, &attr), EINVAL);
    EXPECT_EQ(p.connect(p.create_qp(), {}, at_port(2)), EINVAL);
    ibv_ah_attr to{1, 0, 2};
    EXPECT_EQ(ibv_create_ah(c, p.pd, &to), nullptr);
  }}));
}

class two_ports_joined : public testing::TestWithParam<std::tuple<topology, std::uint8_t>> {};

// WRITEs, READs and atomics of a QP: its bytes arrive, and packets leave by its port alone.
TEST_P(two_ports_joined, serve_their_qps) {
  const auto [how, port] = GetParam();
  system_config config = world::two_nodes();
  config.fabric = how;
  world w(with_two_ports(config));
  out_of_band<address> to_first;
  out_of_band<peer_memory> to_second;
  out_of_band<int> done;
  EXPECT_TRUE(w.run({[&](cpu& c, node& n) {
                       process_context p(c, n);
                       const region mine = p.allocate(8192);
                       ibv_qp* const qp = p.create_qp();
                       to_second.send(c, {p.address_of(qp, at_port(port)), mine});
                       ASSERT_EQ(p.connect(qp, to_first.receive(c), at_port(port)), 0);
                       ibv_qp_attr attr{};
                       ibv_qp_init_attr init{};
                       ASSERT_EQ(ibv_query_qp(c, qp, &attr, IBV_QP_PORT, &init), 0);
                       EXPECT_EQ(attr.port_num, port);
                       EXPECT_EQ(attr.ah_attr.port_num, port);
                       done.receive(c);
                     },
                     [&](cpu& c, node& n) {
                       process_context p(c, n);
                       const region mine = p.allocate(8192);
                       p.fill(mine.addr, 8192, port);
                       ibv_qp* const qp = p.create_qp();
                       const peer_memory peer = to_second.receive(c);
                       to_first.send(c, p.address_of(qp, at_port(port)));
                       ASSERT_EQ(p.connect(qp, peer.at, at_port(port)), 0);
                       EXPECT_EQ(complete(c, qp, write_to(mine, peer.memory, 5000)).status, IBV_WC_SUCCESS);
                       request r = write_to(mine, peer.memory, 5000, 2);
                       r.opcode = IBV_WR_RDMA_READ;
                       r.sges[0].addr += 1000;
                       EXPECT_EQ(complete(c, qp, r).status, IBV_WC_SUCCESS);
                       EXPECT_EQ(p.bytes(mine.addr, 1000), p.bytes(mine.addr + 1000, 1000));
                       request a = write_to(mine, peer.memory, 8, 3);
                       a.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
                       EXPECT_EQ(complete(c, qp, a).status, IBV_WC_SUCCESS);
                       done.send(c, 0);
                     }}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_GT(packets_out(w.at(i).hca.port_at(port - 1U)), 3) << i;
    EXPECT_EQ(packets_out(w.at(i).hca.port_at(2U - port)), 0) << i;
    EXPECT_EQ(statistic_of(w.at(i).hca.responder, "wrong_port"), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(all, two_ports_joined,
                         testing::Combine(testing::Values(topology::direct, topology::with_switch),
                                          testing::Values(std::uint8_t{1}, std::uint8_t{2})),
                         [](const auto& x) {
                           const bool direct = std::get<0>(x.param) == topology::direct;
                           return std::string(direct ? "direct_" : "switch_") + std::to_string(std::get<1>(x.param));
                         });

// The cable joins the ports of the one adapter.
TEST(two_ports, of_one_adapter_reach_one_another) {
  world w(with_two_ports(world::one_node()));
  EXPECT_TRUE(w.run({[](cpu& c, node& n) {
    process_context p(c, n);
    const region from = p.allocate(4096);
    const region to = p.allocate(4096);
    p.fill(from.addr, 4096, 9);
    ibv_qp* const a = p.create_qp();
    ibv_qp* const b = p.create_qp();
    ASSERT_EQ(p.connect(a, p.address_of(b, at_port(2)), at_port(1)), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a, at_port(1)), at_port(2)), 0);
    EXPECT_EQ(complete(c, a, write_to(from, to, 4096)).status, IBV_WC_SUCCESS);
    EXPECT_EQ(p.bytes(to.addr, 4096), p.bytes(from.addr, 4096));
    EXPECT_GT(packets_out(n.hca.port_at(0)), 0);
    EXPECT_GT(packets_out(n.hca.port_at(1)), 0);
    EXPECT_EQ(statistic_of(n.hca.port_at(0), "loopback_packets"), 0);
  }}));
}

// The peer's packets come by port 2, and the QP belongs to port 1: nothing is executed.
TEST(two_ports, a_packet_at_the_other_port_is_dropped) {
  system_config config = with_two_ports(world::two_nodes());
  config.fabric = topology::with_switch;
  world w(config);
  out_of_band<peer_memory> told;
  out_of_band<address> to_target;
  out_of_band<int> done;
  const qp_options quick{.timeout = 6, .retry = 1};
  EXPECT_TRUE(w.run({[&](cpu& c, node& n) {
                       process_context p(c, n);
                       const region mine = p.allocate(4096);
                       p.fill(mine.addr, 4096, 1);
                       const auto before = p.bytes(mine.addr, 4096);
                       ibv_qp* const qp = p.create_qp();
                       told.send(c, {p.address_of(qp, at_port(2)), mine});
                       ASSERT_EQ(p.connect(qp, to_target.receive(c), at_port(1)), 0);
                       done.receive(c);
                       EXPECT_EQ(p.bytes(mine.addr, 4096), before);
                     },
                     [&](cpu& c, node& n) {
                       process_context p(c, n);
                       const region mine = p.allocate(4096);
                       ibv_qp* const qp = p.create_qp();
                       const peer_memory peer = told.receive(c);
                       to_target.send(c, p.address_of(qp));
                       ASSERT_EQ(p.connect(qp, peer.at, quick), 0);
                       EXPECT_EQ(complete(c, qp, write_to(mine, peer.memory, 64)).status, IBV_WC_RETRY_EXC_ERR);
                       done.send(c, 0);
                     }}));
  EXPECT_GE(statistic_of(w.at(0).hca.responder, "wrong_port"), 1);
  EXPECT_EQ(statistic_of(w.at(0).hca.responder, "wrong_source"), 0);
}

TEST(two_ports, datagrams_name_the_port_of_their_qp) {
  system_config config = with_two_ports(world::one_node());
  config.fabric = topology::with_switch;
  world w(config);
  EXPECT_TRUE(w.run({[](cpu& c, node& n) {
    process_context p(c, n);
    const region from = p.allocate(4096);
    const region to = p.allocate(4096);
    p.fill(from.addr, 4096, 3);
    ibv_qp* const a = p.create_qp(ud);
    ibv_qp* const b = p.create_qp(ud);
    ASSERT_EQ(p.connect(a, {}, at_port(2, ud)), 0);
    ASSERT_EQ(p.connect(b, {}, at_port(1, ud)), 0);
    const address there = p.address_of(b, at_port(1));
    for (const std::uint8_t port : {std::uint8_t{1}, std::uint8_t{2}}) {
      ibv_ah_attr way{there.lid, 0, port};
      ibv_ah* const ah = ibv_create_ah(c, p.pd, &way);
      ASSERT_NE(ah, nullptr);
      ASSERT_EQ(post_receive(c, b, port, {{to.addr, 4096, to.mr->lkey}}), 0);
      const request r{.opcode = IBV_WR_SEND, .id = 7, .sges = {{from.addr, 100, from.mr->lkey}}, .ah = ah, .qpn = b->qp_num};
      if (port == 1) {
        EXPECT_EQ(post(c, a, r), EINVAL) << "the handle is of port 1, the QP of port 2";
        continue;
      }
      std::vector<ibv_wc> others;
      EXPECT_EQ(complete(c, a, r, &others).status, IBV_WC_SUCCESS);
      const auto wc = others.empty() ? next_completion(c, p.cq, 50_us) : std::optional(others.front());
      ASSERT_TRUE(wc);
      EXPECT_EQ(wc->slid, p.address_of(a, at_port(2)).lid);
      EXPECT_EQ(p.bytes(to.addr + 40, 100), p.bytes(from.addr, 100));
    }
  }}));
}

// Each port has groups of its own, also of one name. A member hears what comes by its port.
TEST(two_ports, groups_belong_to_a_port) {
  system_config config = with_two_ports(world::two_nodes());
  config.fabric = topology::with_switch;
  constexpr std::uint16_t lid = 0xc0fe;
  const ibv_gid gid{{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  world w(config);
  out_of_band<int> ready;
  out_of_band<int> sent;
  EXPECT_TRUE(w.run(
      {[&](cpu& c, node& n) {
         process_context p(c, n);
         const region to = p.allocate(8192);
         ibv_qp* members[2];
         ibv_cq* cqs[2];
         for (std::uint8_t i = 0; i < 2; ++i) {
           cqs[i] = ibv_create_cq(c, p.context, 16, nullptr, nullptr, 0);
           members[i] = p.create_qp(ud, nullptr, cqs[i]);
           ASSERT_EQ(p.connect(members[i], {}, at_port(static_cast<std::uint8_t>(i + 1), ud)), 0);
           ASSERT_EQ(ibv_attach_mcast(c, members[i], &gid, lid), 0);
           for (std::uint64_t k = 0; k < 4; ++k)
             ASSERT_EQ(post_receive(c, members[i], k, {{to.addr + 4096U * i, 4096, to.mr->lkey}}), 0);
         }
         ready.send(c, 0);
         sent.receive(c);
         for (ibv_cq* const cq : cqs) {  // one copy each, through the switch's two ports
           EXPECT_TRUE(next_completion(c, cq, 50_us));
           EXPECT_FALSE(next_completion(c, cq, 50_us));
         }
         ASSERT_EQ(ibv_detach_mcast(c, members[1], &gid, lid), 0);
         ready.send(c, 0);
         sent.receive(c);
         EXPECT_TRUE(next_completion(c, cqs[0], 50_us));
         EXPECT_FALSE(next_completion(c, cqs[1], 50_us));
       },
       [&](cpu& c, node& n) {
         process_context p(c, n);
         const region from = p.allocate(4096);
         ibv_qp* const qp = p.create_qp(ud);
         ASSERT_EQ(p.connect(qp, {}, at_port(2, ud)), 0);
         ibv_ah_attr to{lid, 0, 2, 1, {.dgid = gid, .flow_label = 0, .sgid_index = 0, .hop_limit = 1, .traffic_class = 0}};
         ibv_ah* const ah = ibv_create_ah(c, p.pd, &to);
         for (int round = 0; round < 2; ++round) {
           ready.receive(c);
           EXPECT_EQ(
               complete(c, qp, {.opcode = IBV_WR_SEND, .sges = {{from.addr, 200, from.mr->lkey}}, .ah = ah, .qpn = 0xffffff})
                   .status,
               IBV_WC_SUCCESS);
           sent.send(c, 0);
         }
       }}));
  EXPECT_EQ(statistic_of(w.at(0).hca.responder, "wrong_port"), 0);
}

// The link of one port goes down: the other port's QPs go on, and events name the port.
TEST(two_ports, fail_one_by_one) {
  world w(with_two_ports(world::two_nodes()));
  out_of_band<peer_memory> to_second[2];
  out_of_band<address> to_first[2];
  out_of_band<int> done;
  EXPECT_TRUE(w.run({[&](cpu& c, node& n) {
                       process_context p(c, n);
                       const region mine = p.allocate(4096);
                       for (std::uint8_t i = 0; i < 2; ++i) {
                         const qp_options o = at_port(static_cast<std::uint8_t>(i + 1));
                         ibv_qp* const qp = p.create_qp();
                         to_second[i].send(c, {p.address_of(qp, o), mine});
                         ASSERT_EQ(p.connect(qp, to_first[i].receive(c), o), 0);
                       }
                       done.receive(c);
                     },
                     [&](cpu& c, node& n) {
                       process_context p(c, n);
                       const region mine = p.allocate(4096);
                       ibv_qp* qps[2];
                       region there;
                       for (std::uint8_t i = 0; i < 2; ++i) {
                         const qp_options o = at_port(static_cast<std::uint8_t>(i + 1));
                         qps[i] = p.create_qp();
                         const peer_memory peer = to_second[i].receive(c);
                         there = peer.memory;
                         to_first[i].send(c, p.address_of(qps[i], o));
                         ASSERT_EQ(p.connect(qps[i], peer.at, o), 0);
                       }
                       const auto state = [&](std::uint8_t port) {
                         ibv_port_attr attr{};
                         EXPECT_EQ(ibv_query_port(c, p.context, port, &attr), 0);
                         return attr.state;
                       };
                       dynamic_cast<faulty&>(*sc_core::sc_find_object("system.link1")).inject(0, {.count = 1, .length = 60_us});
                       ibv_async_event e{};
                       ASSERT_EQ(ibv_get_async_event(c, p.context, &e), 0);
                       EXPECT_EQ(e.event_type, IBV_EVENT_PORT_ERR);
                       EXPECT_EQ(e.element.port_num, 2);
                       EXPECT_EQ(state(1), IBV_PORT_ACTIVE);
                       EXPECT_EQ(state(2), IBV_PORT_DOWN);
                       const ps begin = c.time();
                       EXPECT_EQ(complete(c, qps[0], write_to(mine, there, 64)).status, IBV_WC_SUCCESS);
                       EXPECT_LT(c.time() - begin, 30_us);
                       ASSERT_EQ(ibv_get_async_event(c, p.context, &e), 0);
                       EXPECT_EQ(e.event_type, IBV_EVENT_PORT_ACTIVE);
                       EXPECT_EQ(e.element.port_num, 2);
                       EXPECT_EQ(state(2), IBV_PORT_ACTIVE);
                       EXPECT_EQ(complete(c, qps[1], write_to(mine, there, 64)).status, IBV_WC_SUCCESS);
                       done.send(c, 0);
                     }}));
}

TEST(two_ports, of_unequal_adapters_need_a_switch) {
  system_config c = world::two_nodes();
  c.nodes[1].hca.port.count = 2;
  world w(c);  // by a switch
  EXPECT_EQ(w.sys().links(), 3U);
}

TEST(two_ports, joined_directly_are_refused_if_unequal) {
  system_config c = world::two_nodes();
  c.nodes[1].hca.port.count = 2;
  c.fabric = topology::direct;
  try {
    world w(c);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(),
                 "topology: direct joins ports of the same number, and node0 has 1, node1 2 (hca.port.count); use switch");
  }
}

}  // namespace
}  // namespace hcasim::kit
