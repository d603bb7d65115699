// Multicast groups that are joined and left.
#include "testbenches/verbs_programs/connection_manager/connection_manager_kit.h"

namespace hcasim::applications::cm {
namespace {

// Groups of one GID have one LID, as long as they have a member; each new member is told of both.
TEST(connection_manager, groups_are_joined_and_left) {
  world w;
  const auto group_ip = [](std::uint32_t v4) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(v4);
    sockaddr_in6 out{};
    std::memcpy(&out, &a, sizeof a);
    return out;
  };
  const auto join = [&](program& p, std::uint32_t id, std::uint64_t uid, std::uint32_t v4) {
    const int error = p.write(RDMA_USER_CM_CMD_JOIN_IP_MCAST, rdma_ucm_join_ip_mcast{0, uid, group_ip(v4), id});
    return error ? std::pair(error, 0U) : std::pair(0, p.answered<rdma_ucm_create_id_resp>().id);
  };
  const auto leave = [](program& p, std::uint32_t number) {
    return p.write(RDMA_USER_CM_CMD_LEAVE_MCAST, rdma_ucm_destroy_id{0, number, 0});
  };
  const auto ready = [&](program& p) {
    const std::uint32_t id = p.create(RDMA_PS_UDP);
    EXPECT_EQ(p.bind(id, p.node, 0), 0);
    EXPECT_EQ(p.write(RDMA_USER_CM_CMD_RESOLVE_IP, rdma_ucm_resolve_ip{{}, group_ip(0xef010203), id, 2000}), 0);
    w.net.run();
    EXPECT_EQ(p.happened_to(id), number(happened::address_resolved)) << "a group is everywhere";
    return id;
  };
  const std::uint32_t a = ready(w.server);
  const std::uint32_t b = ready(w.client);
  const ps begin = w.net.time();
  const auto [none, first] = join(w.server, a, 5001, 0xef010203);
  ASSERT_EQ(none, 0);
  w.net.run();
  EXPECT_EQ(w.net.time(), begin + manager_config{}.management);
  const rdma_ucm_event_resp joined = w.server.event();
  EXPECT_EQ(joined.event, number(happened::joined));
  EXPECT_EQ(joined.uid, 5001U) << "of the membership";
  EXPECT_EQ(joined.id, first);
  const rdma_ucm_ud_param& to = joined.param.ud;
  const std::uint8_t gid[16] = {0xff, 0x12, 0x40, 0x01, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0x0f, 0x01, 0x02, 0x03};
  EXPECT_EQ(std::memcmp(to.ah_attr.grh.dgid, gid, 16), 0);
  EXPECT_EQ(to.qp_num, 0xffffffU);
  EXPECT_EQ(to.qkey, default_qkey);
  EXPECT_EQ(to.ah_attr.dlid, 0xc000);
  EXPECT_EQ(to.ah_attr.is_global, 1);

  const auto [also, second] = join(w.client, b, 6001, 0xef010203);
  const auto [other, third] = join(w.client, b, 6002, 0xef010204);
  ASSERT_EQ(also | other, 0);
  w.net.run();
  EXPECT_EQ(w.client.event().param.ud.ah_attr.dlid, 0xc000) << "the same group";
  EXPECT_EQ(w.client.event().param.ud.ah_attr.dlid, 0xc001);
  EXPECT_EQ(leave(w.server, second), EINVAL) << "another file's";
  EXPECT_EQ(leave(w.server, first + 1000), ENOENT);
  EXPECT_EQ(leave(w.server, first), 0);
  EXPECT_EQ(w.server.answered<rdma_ucm_destroy_id_resp>().events_reported, 1U);
  EXPECT_EQ(leave(w.server, first), ENOENT);
  EXPECT_EQ(leave(w.client, second), 0);
  const auto [again, fourth] = join(w.server, a, 5002, 0xef0a0b0c);
  ASSERT_EQ(again, 0);
  w.net.run();
  EXPECT_EQ(w.server.event().param.ud.ah_attr.dlid, 0xc000) << "it was given back";
  // A member that leaves or is destroyed before its event gets no event.
  const auto [quick, fifth] = join(w.server, a, 5003, 0xef0a0b0d);
  ASSERT_EQ(quick, 0);
  EXPECT_EQ(leave(w.server, fifth), 0);
  ASSERT_EQ(join(w.server, a, 5004, 0xef0a0b0e).first, 0);
  w.net.run();
  EXPECT_EQ(w.server.pending, 1);
  EXPECT_EQ(w.server.destroy(a), 0);
  EXPECT_EQ(w.server.pending, 0);
  EXPECT_EQ(w.server.event().event, nothing);
  EXPECT_EQ(leave(w.server, fourth), ENOENT) << "it went with its identifier";

  // Some groups cannot be joined, and some identifiers cannot join.
  const std::uint32_t early = w.client.create(RDMA_PS_UDP);
  EXPECT_EQ(join(w.client, early, 1, 0xef010203).first, EINVAL) << "on no device yet";
  EXPECT_EQ(join(w.client, b, 1, 0x7f000001).first, EINVAL) << "a node";
  EXPECT_EQ(w.client.route(b), EINVAL) << "there is none to a group";
  const std::uint32_t stream = w.caller();
  EXPECT_EQ(join(w.client, stream, 1, 0xef010203).first, EINVAL) << "not by datagrams";
  EXPECT_EQ(leave(w.client, third), 0);
}

}  // namespace
}  // namespace hcasim::applications::cm
