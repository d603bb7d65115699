// How connections are made, refused and ended, and services looked up.
#include "testbenches/verbs_programs/connection_manager/connection_manager_kit.h"

namespace hcasim::applications::cm {
namespace {

TEST(connection_manager, each_message_takes_its_time) {
  world w;
  w.listener();
  const std::uint32_t id = w.caller();
  const ps sent = w.net.time();
  w.net.run(sent + 20_us - ps(1));
  EXPECT_EQ(w.server.pending, 0);
  w.net.run(sent + 20_us);
  EXPECT_EQ(w.server.pending, 1);
  const auto request = w.server.event();
  EXPECT_EQ(w.server.pending, 0);
  EXPECT_EQ(request.event, number(happened::connect_request));
  EXPECT_EQ(request.uid, 77u);
  EXPECT_NE(request.id, id);
  EXPECT_EQ(request.param.conn.qp_num, 0x11u);
  EXPECT_EQ(request.param.conn.responder_resources, 3);
  EXPECT_EQ(request.param.conn.initiator_depth, 5);
  EXPECT_EQ(request.param.conn.retry_count, 7) << "no more fit in the message";
  EXPECT_EQ(request.param.conn.private_data[0], 42);
  EXPECT_EQ(request.param.conn.private_data_len, 56);
}

// Each side expects as first PSN the one that the other side sends. A side has no more READs in flight than the other can
// answer.
TEST(connection_manager, both_sides_are_given_attributes_that_fit) {
  world w;
  const auto [active, passive] = w.connected();
  enum { init = 1, rtr = 2, rts = 3 };
  EXPECT_EQ(w.client.attributes(active, init).qp_access_flags, 2u | 4u | 8u);
  const auto a = w.client.attributes(active, rtr);
  const auto p = w.server.attributes(passive, rtr);
  EXPECT_EQ(a.dest_qp_num, 0x22u);
  EXPECT_EQ(p.dest_qp_num, 0x11u);
  EXPECT_EQ(a.ah_attr.dlid, 1);
  EXPECT_EQ(p.ah_attr.dlid, 2);
  EXPECT_EQ(a.path_mtu, 4u) << "of the narrower port";
  EXPECT_EQ(p.path_mtu, 4u);
  const auto a_sends = w.client.attributes(active, rts);
  const auto p_sends = w.server.attributes(passive, rts);
  EXPECT_EQ(a_sends.sq_psn, p.rq_psn);
  EXPECT_EQ(p_sends.sq_psn, a.rq_psn);
  EXPECT_LE(a_sends.max_rd_atomic, p.max_dest_rd_atomic);
  EXPECT_LE(p_sends.max_rd_atomic, a.max_dest_rd_atomic);
  EXPECT_EQ(a_sends.retry_cnt, 7);
}

// Each side of XRC has exactly the attributes of its type of QP, even if its program sets other ones.
TEST(connection_manager, an_initiator_and_a_target) {
  world w;
  const auto [active, passive] = w.connected(RDMA_PS_IB, xrc_initiator_qp, xrc_target_qp);
  constexpr std::uint32_t responds = 1U << 15 | 1U << 17;             // RNR timer, READs in
  constexpr std::uint32_t requests = 1U << 10 | 1U << 11 | 1U << 13;  // retries, RNR retries, READs out
  constexpr std::uint32_t timeout = 1U << 9;
  EXPECT_EQ(w.client.attributes(active, 2).qp_attr_mask & responds, 0U);
  EXPECT_EQ(w.server.attributes(passive, 2).qp_attr_mask & responds, responds);
  EXPECT_EQ(w.client.attributes(active, 3).qp_attr_mask & (requests | timeout), requests | timeout);
  EXPECT_EQ(w.server.attributes(passive, 3).qp_attr_mask & (requests | timeout), timeout);
}

// Ports of RoCE are reached by the GIDs of their IP addresses, and have no LIDs.
TEST(connection_manager, routes_of_roce) {
  world w;
  w.net.ethernet = true;
  const auto [active, passive] = w.connected();
  constexpr std::uint8_t there[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  const auto a = w.client.attributes(active, 2).ah_attr;
  EXPECT_EQ(a.is_global, 1);
  EXPECT_EQ(a.dlid, 0);
  EXPECT_EQ(a.grh.sgid_index, ip_gid_index);
  EXPECT_EQ(std::memcmp(a.grh.dgid, there, sizeof there), 0);
  EXPECT_EQ(w.client.write(RDMA_USER_CM_CMD_QUERY_ROUTE, rdma_ucm_query{0, active, 0}), 0);
  const auto route = w.client.answered<rdma_ucm_query_route_resp>();
  EXPECT_EQ(route.num_paths, 1U);
  EXPECT_EQ(route.ib_route[0].dlid, 0);
  EXPECT_EQ(std::memcmp(route.ib_route[0].dgid, there, sizeof there), 0);
  gid g{};
  std::memcpy(g.data(), there, sizeof there);
  EXPECT_EQ(node_of(g, w.net), 0U);
  g[15] = 3;
  EXPECT_EQ(node_of(g, w.net), unknown_node) << "there are two nodes";
  g[12] = 239;
  EXPECT_EQ(fabric_group(g)[0], 0xff);
  EXPECT_EQ(w.m.lid_of_group(fabric_group(g)), w.m.lid_of_group(fabric_group(g)));
}

TEST(connection_manager, a_disconnect_request_is_answered) {
  world w;
  const auto [active, passive] = w.connected();
  EXPECT_EQ(w.client.disconnect(active), 0);
  w.net.run();
  EXPECT_EQ(w.client.happened_to(active), nothing) << "the peer has not answered yet";
  EXPECT_EQ(w.server.happened_to(passive), number(happened::disconnected));
  EXPECT_EQ(w.server.disconnect(passive), 0);
  w.net.run();
  EXPECT_EQ(w.client.happened_to(active), number(happened::disconnected));
  EXPECT_EQ(w.client.disconnect(active), 0) << "once more is nothing";
}

TEST(connection_manager, both_may_disconnect_at_once) {
  world w;
  const auto [active, passive] = w.connected();
  w.client.disconnect(active);
  w.server.disconnect(passive);
  w.net.run();
  EXPECT_EQ(w.client.happened_to(active), number(happened::disconnected));
  EXPECT_EQ(w.server.happened_to(passive), number(happened::disconnected));
}

TEST(connection_manager, a_peer_that_is_gone_is_a_disconnection) {
  world w;
  const auto [active, passive] = w.connected();
  w.m.close(w.client.f);
  w.net.run();
  EXPECT_EQ(w.server.happened_to(passive), number(happened::disconnected));
  EXPECT_EQ(w.server.disconnect(passive), 0);
  w.net.run();
}

TEST(connection_manager, a_request_without_a_listener) {
  world w;
  w.caller();
  w.net.run();
  const auto e = w.client.event();
  EXPECT_EQ(e.event, number(happened::rejected));
  EXPECT_EQ(e.status, invalid_service);
}

TEST(connection_manager, a_node_that_is_not_there) {
  world w;
  const std::uint32_t id = w.client.create();
  EXPECT_EQ(w.client.resolve(id, 9, 7000), 0);
  w.net.run();
  const auto e = w.client.event();
  EXPECT_EQ(e.event, number(happened::address_error));
  EXPECT_EQ(static_cast<int>(e.status), -ETIMEDOUT);
  EXPECT_EQ(w.client.resolve(id, 0, 7000), 0) << "it may look for another one";
}

TEST(connection_manager, a_rejection_says_why) {
  world w;
  w.listener();
  const std::uint32_t id = w.caller();
  w.net.run();
  const std::uint32_t passive = w.server.event().id;
  EXPECT_EQ(w.server.reject(passive, 5), EINVAL);
  EXPECT_EQ(w.server.reject(passive), 0);
  EXPECT_EQ(w.server.accept(passive), EINVAL);
  w.net.run();
  const auto e = w.client.event();
  EXPECT_EQ(e.id, id);
  EXPECT_EQ(e.event, number(happened::rejected));
  EXPECT_EQ(e.status, by_consumer);
  EXPECT_EQ(e.param.conn.private_data[0], 7);
}

TEST(connection_manager, a_request_that_cannot_be_accepted_is_rejected) {
  world w;
  w.listener();
  const std::uint32_t id = w.caller();
  w.net.run();
  const std::uint32_t passive = w.server.event().id;
  rdma_ucm_conn_param p = program::param(0x22);
  p.private_data_len = static_cast<std::uint8_t>(private_room(message_kind::reply, RDMA_PS_TCP) + 1);
  EXPECT_EQ(w.server.write(RDMA_USER_CM_CMD_ACCEPT, rdma_ucm_accept{88, p, passive, 0, {}}), EINVAL);
  w.net.run();
  const auto e = w.client.event();
  EXPECT_EQ(e.id, id);
  EXPECT_EQ(e.event, number(happened::rejected));
  EXPECT_EQ(e.status, by_consumer);
  EXPECT_EQ(w.server.accept(passive), EINVAL);
}

// Either side may end at any moment: the other side gets an event, and nothing is left.
TEST(connection_manager, a_program_that_ends_in_the_middle) {
  for (int steps = 0; steps < 40; ++steps) {
    for (const bool server_ends : {false, true}) {
      world w;
      w.listener();
      const std::uint32_t id = w.caller();
      const auto turn = [&] {
        for (program* p : {&w.server, &w.client}) {
          if (p->pending == 0) continue;
          const auto e = p->event();
          if (e.event == number(happened::connect_request)) p->accept(e.id);
          if (e.event == number(happened::connect_response)) p->accept(e.id, false);
        }
      };
      for (int i = 0; i < steps; ++i) {
        w.net.run(w.net.time() + 5_us);
        w.net.later(5_us, [] {});
        if (i % 2) turn();
      }
      program& ends = server_ends ? w.server : w.client;
      program& stays = server_ends ? w.client : w.server;
      w.m.close(ends.f);
      std::uint32_t last = nothing;
      for (int i = 0; i < 4; ++i) {
        w.net.run();
        while (stays.pending) {
          const auto e = stays.event();
          last = e.event;
          if (e.event == number(happened::connect_request)) stays.accept(e.id);
          if (e.event == number(happened::connect_response)) stays.accept(e.id, false);
          if (e.event == number(happened::disconnected)) stays.disconnect(e.id);
        }
      }
      if (server_ends) {
        EXPECT_TRUE(last == number(happened::rejected) || last == number(happened::disconnected)) << steps << " " << last;
        EXPECT_EQ(w.m.identifiers(), 1u);
        stays.destroy(id);
        EXPECT_EQ(w.m.identifiers(), 0u);
      } else {
        w.m.close(stays.f);
        w.net.run();
        EXPECT_EQ(w.m.identifiers(), 0u);
      }
    }
  }
}

TEST(connection_manager, a_device_that_goes_is_told_once_to_each_identifier) {
  world w;
  const auto [active, passive] = w.connected();
  w.m.remove_device(1);
  w.m.remove_device(1);
  const auto e = w.client.event();
  EXPECT_EQ(e.event, number(happened::device_removed));
  EXPECT_EQ(e.id, active);
  EXPECT_EQ(w.client.pending, 0);
  EXPECT_EQ(w.server.pending, 0);
  w.client.destroy(active);
  w.net.run();
  EXPECT_EQ(w.server.event().event, number(happened::disconnected));
}

TEST(connection_manager, a_datagram_service_is_looked_up) {
  world w;
  w.listener(0, RDMA_PS_UDP);
  const std::uint32_t id = w.caller(RDMA_PS_UDP);
  w.net.run();
  const auto request = w.server.event();
  EXPECT_EQ(request.event, number(happened::connect_request));
  EXPECT_EQ(request.param.ud.private_data_len, 180);
  EXPECT_EQ(w.server.accept(request.id), 0);
  EXPECT_EQ(w.server.disconnect(request.id), 0);
  w.net.run();
  const auto e = w.client.event();
  EXPECT_EQ(e.id, id);
  EXPECT_EQ(e.event, number(happened::established));
  EXPECT_EQ(e.param.ud.qp_num, 0x22u);
  EXPECT_EQ(e.param.ud.qkey, default_qkey);
  EXPECT_EQ(e.param.ud.ah_attr.dlid, 1);
}

}  // namespace
}  // namespace hcasim::applications::cm
