// Ports, backlogs and identifiers that move, and names of nothing.
#include "testbenches/verbs_programs/connection_manager/connection_manager_kit.h"

namespace hcasim::applications::cm {
namespace {

TEST(connection_manager, a_port_space_of_its_own) {
  world w;
  w.listener(0, RDMA_PS_UDP);
  w.caller(RDMA_PS_TCP);
  w.net.run();
  EXPECT_EQ(w.client.event().event, number(happened::rejected));
}

TEST(connection_manager, two_programs_on_one_port) {
  world w;
  w.listener();
  program other{w.m, 0};
  const std::uint32_t id = other.create();
  EXPECT_EQ(other.bind(id, any_node, 7000), EADDRINUSE);
  EXPECT_EQ(other.bind(id, 0, 7000), EADDRINUSE);
  EXPECT_EQ(other.bind(id, 1, 7001), EADDRNOTAVAIL) << "an address of another node";
  EXPECT_EQ(other.bind(id, 0, 7001), 0);
  EXPECT_EQ(other.bind(id, 0, 7002), EINVAL) << "it has one";
  program elsewhere{w.m, 1};
  EXPECT_EQ(elsewhere.bind(elsewhere.create(), any_node, 7000), 0);
  const std::uint32_t datagrams = other.create(RDMA_PS_UDP);
  EXPECT_EQ(other.bind(datagrams, any_node, 7000), 0);
  EXPECT_EQ(other.destroy(datagrams), 0);
  EXPECT_EQ(other.bind(other.create(RDMA_PS_UDP), any_node, 7000), 0) << "it was given back";
}

// A request that finds a full backlog is sent again, until its sender gives up.
TEST(connection_manager, a_full_backlog) {
  manager_config c;
  c.request_retry = 1_ms;
  world w(c);
  w.listener(1);
  const std::uint32_t first = w.caller();
  w.net.run();
  const std::uint32_t second = w.caller();
  const ps sent = w.net.time();
  w.net.run(sent + 5_ms);
  EXPECT_EQ(w.server.pending, 1);
  const std::uint32_t passive = w.server.event().id;
  EXPECT_EQ(w.server.accept(passive), 0);
  w.net.run(sent + 6_ms);
  EXPECT_EQ(w.client.happened_to(first), number(happened::connect_response));
  EXPECT_EQ(w.server.event().event, number(happened::connect_request));
  const std::uint32_t third = w.caller();
  const ps asked = w.net.time();
  w.net.run();
  EXPECT_EQ(w.net.time(), asked + 20_us + 15 * 1_ms);
  const auto e = w.client.event();
  EXPECT_EQ(e.id, third);
  EXPECT_EQ(e.event, number(happened::unreachable));
  EXPECT_EQ(static_cast<int>(e.status), -ETIMEDOUT);
  EXPECT_NE(second, third);
}

// The end of an identifier drops its waiting events, and rejects requests that the program has not seen.
TEST(connection_manager, a_destroyed_listener_rejects_waiting_requests) {
  world w;
  const std::uint32_t l = w.listener();
  const std::uint32_t id = w.caller();
  w.net.run();
  EXPECT_EQ(w.server.pending, 1);
  EXPECT_EQ(w.server.destroy(l), 0);
  EXPECT_EQ(w.server.answered<rdma_ucm_destroy_id_resp>().events_reported, 0u);
  EXPECT_EQ(w.server.pending, 0);
  w.net.run();
  EXPECT_EQ(w.client.happened_to(id), number(happened::rejected));
}

TEST(connection_manager, an_identifier_moves_with_its_events) {
  world w;
  w.listener();
  const std::uint32_t id = w.caller();
  w.net.run();
  w.server.accept(w.server.event().id);
  w.net.run();
  program other{w.m, 1};
  std::vector<std::byte> bytes(sizeof(rdma_ucm_cmd_hdr) + sizeof(rdma_ucm_migrate_id));
  const rdma_ucm_cmd_hdr h{RDMA_USER_CM_CMD_MIGRATE_ID, sizeof(rdma_ucm_migrate_id), 8};
  const rdma_ucm_migrate_id in{0, id, 3};
  std::memcpy(bytes.data(), &h, sizeof h);
  std::memcpy(bytes.data() + sizeof h, &in, sizeof in);
  EXPECT_EQ(execute(w.m, other.f, {bytes, {}, nullptr}, other.answer).error, EINVAL);
  EXPECT_EQ(execute(w.m, other.f, {bytes, {}, &w.client.f}, other.answer).error, 0);
  EXPECT_EQ(other.answered<rdma_ucm_migrate_resp>().events_reported, 2u);
  EXPECT_EQ(w.client.pending, 0);
  EXPECT_EQ(other.pending, 1);
  EXPECT_EQ(other.happened_to(id), number(happened::connect_response));
  EXPECT_EQ(w.client.disconnect(id), EINVAL) << "another file's";
}

TEST(connection_manager, commands_to_missing_identifiers_are_refused) {
  world w;
  EXPECT_EQ(w.client.disconnect(12345), ENOENT);
  const std::uint32_t id = w.client.create();
  EXPECT_EQ(w.client.disconnect(id), EINVAL);
  EXPECT_EQ(w.client.route(id), EINVAL);
  EXPECT_EQ(w.client.accept(id), EINVAL);
  EXPECT_EQ(w.server.destroy(id), EINVAL);
  EXPECT_EQ(w.client.destroy(id), 0);
  EXPECT_EQ(w.client.destroy(id), ENOENT);
  EXPECT_EQ(w.client.write(RDMA_USER_CM_CMD_CREATE_ID, rdma_ucm_create_id{1, 0, 3, 0, {}}), EINVAL);
  EXPECT_EQ(w.client.write(RDMA_USER_CM_CMD_CREATE_ID, rdma_ucm_create_id{1, 0, RDMA_PS_TCP, 0, {}}, 3), ENOSPC);
  EXPECT_EQ(w.client.write(99, rdma_ucm_get_event{0}), EINVAL);
  EXPECT_EQ(w.m.identifiers(), 0u);
}

}  // namespace
}  // namespace hcasim::applications::cm
