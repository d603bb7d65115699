// Multicast groups.
#include <map>
#include <set>

#include "firmware/abi/sound.h"
#include "firmware/control/queues/queue_bench.h"

using namespace hcasim::testing;

namespace {

hca_group_name group(std::uint8_t number, std::uint16_t lid = 0xc001) {
  hca_group_name n{};
  n.gid.byte[0] = 0xff;
  n.gid.byte[1] = 0x12;
  n.gid.byte[15] = number;
  n.lid = lid;
  return n;
}

fw_limits many() {
  fw_limits l = small_limits();
  l.log_qps = 9;
  return l;
}

class groups : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(b.create_eq(), 0U);
    cqn = b.create_cq();
  }
  std::uint32_t datagram_qp() {
    const std::uint32_t qpn = b.create_qp(cqn, HCA_TRANSPORT_UD);
    EXPECT_NE(qpn, ~0U);
    return qpn;
  }
  int attach(std::uint32_t qpn, const hca_group_name& n) { return b.run(HCA_CMD_ATTACH, qpn, 0, n); }
  int detach(std::uint32_t qpn, const hca_group_name& n) { return b.run(HCA_CMD_DETACH, qpn, 0, n); }
  // Returns the members as the adapter finds them: along the list of the hash.
  std::set<std::uint32_t> members(const hca_group_name& n) {
    for (std::uint32_t at = b.h.groups[hca_group_hash(&n.gid)]; at != 0;) {
      hca_group g{};
      const hca_qpc q = b.qpc(at);
      std::memcpy(&g, &q, sizeof g);
      EXPECT_EQ(g.transport, HCA_TRANSPORT_GROUP);
      EXPECT_TRUE(hca_qpc_sound(&q));
      if (std::memcmp(&g.gid, &n.gid, sizeof g.gid) == 0 && g.lid == n.lid) return {g.qpn, g.qpn + g.members};
      at = g.next;
    }
    return {};
  }

  firmware_bench b{many()};
  std::uint32_t cqn = 0;
};

TEST_F(groups, need_a_port_that_exists) {
  const std::uint32_t a = datagram_qp();
  hca_group_name other = group(1);
  other.port = 1;
  EXPECT_EQ(attach(a, other), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.qpc(a).groups, 0U);
}

fw_limits with_two_ports() {
  fw_limits l = many();
  l.second_lid = 8;
  return l;
}

// One name at two ports is two groups. A QP gets its port in INIT.
TEST(ports, of_groups_and_queue_pairs) {
  firmware_bench b(with_two_ports());
  ASSERT_EQ(b.create_eq(), 0U);
  const std::uint32_t cqn = b.create_cq();
  const std::uint32_t qpn = b.create_qp(cqn, HCA_TRANSPORT_UD);
  for (const std::uint8_t port : {std::uint8_t{1}, std::uint8_t{0}}) {
    hca_group_name n = group(1);
    n.port = port;
    EXPECT_EQ(b.run(HCA_CMD_ATTACH, qpn, 0, n), HCA_OK);
    EXPECT_EQ(b.h.lids[std::uint32_t{port} << 16 | 0xc001], 1);
    EXPECT_EQ(b.qpc(qpn).groups, port == 1 ? 1U : 2U);
  }
  hca_group_name first = group(1);
  EXPECT_EQ(b.run(HCA_CMD_DETACH, qpn, 0, first), HCA_OK);
  EXPECT_EQ(b.h.lids[0xc001], 0);
  EXPECT_EQ(b.h.lids[0x1c001], 1) << "the other one stays";
  hca_modify_qp a{};
  a.state = HCA_QP_INIT;
  a.port = 2;
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_QP, qpn, HCA_QP_STATE | HCA_QP_QKEY | HCA_QP_PORT, a), HCA_BAD_PARAMETER);
  a.port = 1;
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_QP, qpn, HCA_QP_STATE | HCA_QP_QKEY | HCA_QP_PORT, a), HCA_OK);
  EXPECT_EQ(b.qpc(qpn).port, 1);
  const hca_qpc now = b.qpc(qpn);
  EXPECT_TRUE(hca_qpc_sound(&now));
  a.state = HCA_QP_RTR;
  a.port = 0;
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_QP, qpn, HCA_QP_STATE | HCA_QP_PORT, a), HCA_BAD_PARAMETER) << "not after INIT";
  a = {};
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_QP, qpn, HCA_QP_STATE, a), HCA_OK);
  EXPECT_EQ(b.qpc(qpn).port, 0) << "RESET forgets it";
}

TEST_F(groups, come_and_go_with_their_members) {
  const std::uint32_t a = datagram_qp();
  const std::uint32_t c = datagram_qp();
  const std::uint32_t used = b.usage().qps;
  EXPECT_EQ(attach(a, group(1)), HCA_OK);
  EXPECT_EQ(attach(a, group(1)), HCA_OK) << "once is enough";
  EXPECT_EQ(attach(c, group(1)), HCA_OK);
  EXPECT_EQ(members(group(1)), (std::set{a, c}));
  EXPECT_EQ(b.usage().qps, used + 1) << "a group takes a number";
  EXPECT_EQ(b.h.lids[0xc001], 1);
  EXPECT_EQ(b.qpc(a).groups, 1U);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, a), HCA_BUSY);
  EXPECT_EQ(detach(a, group(1)), HCA_OK);
  EXPECT_EQ(detach(a, group(1)), HCA_BAD_PARAMETER);
  EXPECT_EQ(members(group(1)), std::set{c});
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, a), HCA_OK);
  EXPECT_EQ(detach(c, group(1)), HCA_OK);
  EXPECT_EQ(members(group(1)), std::set<std::uint32_t>{});
  EXPECT_EQ(b.h.lids[0xc001], 0);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, c), HCA_OK);
  EXPECT_EQ(b.usage().qps, used - 2);
  EXPECT_EQ(b.h.untaken, 0U);
}

TEST_F(groups, refusals) {
  const std::uint32_t qpn = datagram_qp();
  const std::uint32_t rc = b.create_qp(cqn);
  hca_group_name n = group(1);
  n.gid.byte[0] = 0xfe;
  EXPECT_EQ(attach(qpn, n), HCA_BAD_PARAMETER);
  EXPECT_EQ(attach(qpn, group(1, 0xbfff)), HCA_BAD_PARAMETER);
  EXPECT_EQ(attach(qpn, group(1, 0xffff)), HCA_BAD_PARAMETER);
  n = group(1);
  n.reserved[3] = 1;
  EXPECT_EQ(attach(qpn, n), HCA_BAD_PARAMETER);
  EXPECT_EQ(attach(rc, group(1)), HCA_BAD_OBJECT);
  EXPECT_EQ(attach(qpn + 100, group(1)), HCA_BAD_OBJECT);
  ASSERT_EQ(attach(qpn, group(1)), HCA_OK);
  const std::uint32_t number = b.h.groups[hca_group_hash(&n.gid)];
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, number), HCA_BAD_OBJECT) << "a group is no queue";
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_SRQ, number), HCA_BAD_OBJECT);
  EXPECT_EQ(b.query(HCA_CMD_QUERY_QP, number, sizeof(hca_qpc)), HCA_BAD_OBJECT);
  EXPECT_EQ(b.query(HCA_CMD_QUERY_SRQ, number, sizeof(hca_qpc)), HCA_BAD_OBJECT);
  EXPECT_EQ(attach(number, group(2)), HCA_BAD_OBJECT);
}

TEST_F(groups, have_room_for_so_many) {
  std::vector<std::uint32_t> qps;
  for (unsigned i = 0; i <= HCA_GROUP_MEMBERS; ++i) qps.push_back(datagram_qp());
  for (unsigned i = 0; i < HCA_GROUP_MEMBERS; ++i) ASSERT_EQ(attach(qps[i], group(1)), HCA_OK);
  EXPECT_EQ(attach(qps.back(), group(1)), HCA_NO_RESOURCES);
  EXPECT_EQ(b.qpc(qps.back()).groups, 0U);
  EXPECT_EQ(detach(qps[7], group(1)), HCA_OK);
  EXPECT_EQ(attach(qps.back(), group(1)), HCA_OK);
}

// Against a model: many groups in few lists, whatever the order.
TEST_F(groups, at_random) {
  std::vector<std::uint32_t> qps;
  for (unsigned i = 0; i < 6; ++i) qps.push_back(datagram_qp());
  std::map<std::pair<unsigned, unsigned>, std::set<std::uint32_t>> model;
  std::uint32_t dice = 1;
  for (unsigned step = 0; step < 4000; ++step) {
    dice = dice * 1664525 + 1013904223;
    const std::uint32_t qpn = qps[(dice >> 8) % qps.size()];
    const auto number = static_cast<std::uint8_t>((dice >> 12) % 90);
    const auto lid = static_cast<std::uint16_t>(0xc000 + (dice >> 20) % 2);
    std::set<std::uint32_t>& expected = model[{number, lid}];
    if ((dice >> 28) % 2 != 0) {
      ASSERT_EQ(attach(qpn, group(number, lid)), HCA_OK);
      expected.insert(qpn);
    } else {
      ASSERT_EQ(detach(qpn, group(number, lid)), expected.erase(qpn) != 0 ? HCA_OK : HCA_BAD_PARAMETER);
    }
    ASSERT_EQ(members(group(number, lid)), expected);
  }
  for (const auto& [name, expected] : model) {
    EXPECT_EQ(members(group(static_cast<std::uint8_t>(name.first), static_cast<std::uint16_t>(name.second))), expected);
    for (const std::uint32_t qpn : expected) {
      EXPECT_EQ(detach(qpn, group(static_cast<std::uint8_t>(name.first), static_cast<std::uint16_t>(name.second))), HCA_OK);
    }
  }
  for (const std::uint32_t qpn : qps) EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
  EXPECT_EQ(b.h.lids[0xc000], 0);
  EXPECT_EQ(b.usage().qps, 0U);
}

// With any one access failing, attached QPs stay attached, and can be detached.
TEST_F(groups, a_failed_change_changes_nothing) {
  const std::uint32_t a = datagram_qp();
  const std::uint32_t c = datagram_qp();
  ASSERT_EQ(attach(a, group(1)), HCA_OK);
  for (const bool joins : {true, false}) {
    int status = HCA_MEMORY_FAULT;
    for (std::int64_t nth = 0; status != HCA_OK; ++nth) {
      ASSERT_LT(nth, 100);
      const std::set<std::uint32_t> before = members(group(1));
      b.h.fail_at = b.h.dma_calls + nth;
      status = joins ? attach(c, group(1)) : detach(a, group(1));
      b.h.fail_at = -1;
      if (status != HCA_OK) {
        EXPECT_EQ(members(group(1)), before) << nth;
        EXPECT_EQ(b.qpc(a).groups, before.contains(a) ? 1U : 0U) << nth;
        EXPECT_EQ(b.qpc(c).groups, before.contains(c) ? 1U : 0U) << nth;
      }
    }
  }
  EXPECT_EQ(members(group(1)), std::set{c});
  EXPECT_EQ(detach(c, group(1)), HCA_OK);
  for (const std::uint32_t qpn : {a, c}) EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
}

// XRC: attributes that its three kinds of objects need, and must not have.
TEST_F(queues, extended_connections) {
  hca_create_xrc_srq x{};
  x.srq.log_bytes = 12;
  x.srq.stride_shift = 6;
  x.srq.page_shift = 12;
  x.srq.pd = 5;
  x.srq.pages = 1;
  x.srq.uar = 5;
  x.srq.record = 0x9000;
  const std::vector<std::uint64_t> page{0x7000};
  x.xrcd = 7;
  x.cqn = cqn + 50;
  EXPECT_EQ(b.run(HCA_CMD_CREATE_XRC_SRQ, 0, 0, x, page), HCA_BAD_OBJECT);
  x.cqn = cqn;
  x.xrcd = 0;
  EXPECT_EQ(b.run(HCA_CMD_CREATE_XRC_SRQ, 0, 0, x, page), HCA_BAD_PARAMETER);
  x.xrcd = 7;
  ASSERT_EQ(b.run(HCA_CMD_CREATE_XRC_SRQ, 0, 0, x, page), HCA_OK);
  const std::uint32_t srqn = b.command.result[0];
  EXPECT_EQ(b.qpc(srqn).xrcd, 7U);
  EXPECT_EQ(b.qpc(srqn).recv_cqn, cqn);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_CQ, cqn), HCA_BUSY);

  hca_create_qp p = b.qp_parameters(cqn, HCA_TRANSPORT_XRC_INI);
  p.rq_pages = 0;
  p.log_rq_bytes = p.rq_stride_shift = 0;
  const std::vector<std::uint64_t> pages{0x10000, 0x30000, 0x20000, 0x50000};
  EXPECT_EQ(b.run(HCA_CMD_CREATE_QP, 0, 0, p, pages), HCA_BAD_PARAMETER) << "it has no receive CQ";
  p.recv_cqn = 0;
  p.srqn = srqn;
  EXPECT_EQ(b.run(HCA_CMD_CREATE_QP, 0, 0, p, pages), HCA_BAD_PARAMETER);
  p.srqn = 0;
  ASSERT_EQ(b.run(HCA_CMD_CREATE_QP, 0, 0, p, pages), HCA_OK);
  const std::uint32_t initiator = b.command.result[0];

  hca_create_qp t{};
  t.transport = HCA_TRANSPORT_XRC_TGT;
  t.uar = 5;
  EXPECT_EQ(b.run(HCA_CMD_CREATE_QP, 0, 0, t), HCA_BAD_PARAMETER) << "without a domain";
  t.xrcd = 7;
  t.pd = 5;
  EXPECT_EQ(b.run(HCA_CMD_CREATE_QP, 0, 0, t), HCA_BAD_PARAMETER) << "the PD is the SRQ's";
  t.pd = 0;
  ASSERT_EQ(b.run(HCA_CMD_CREATE_QP, 0, 0, t), HCA_OK);
  const std::uint32_t target = b.command.result[0];
  p = b.qp_parameters(cqn);
  p.rq_pages = 0;
  p.srqn = srqn;
  EXPECT_EQ(b.run(HCA_CMD_CREATE_QP, 0, 0, p, pages), HCA_BAD_OBJECT) << "an XRC SRQ is for XRC";

  for (const std::uint32_t qpn : {initiator, target}) {
    EXPECT_EQ(modify(qpn, HCA_QP_INIT, HCA_QP_STATE | HCA_QP_ACCESS), HCA_OK);
    const std::uint32_t responds = qpn == target ? HCA_QP_MAX_READ_IN | HCA_QP_MIN_RNR_TIMER : 0;
    EXPECT_EQ(modify(qpn, HCA_QP_RTR, (rtr_mask & ~std::uint32_t{HCA_QP_MAX_READ_IN | HCA_QP_MIN_RNR_TIMER}) | responds),
              HCA_OK);
    EXPECT_EQ(modify(qpn, HCA_QP_RTS, qpn == target ? HCA_QP_STATE | HCA_QP_TIMEOUT | HCA_QP_SQ_PSN : rts_mask), HCA_OK);
    const hca_qpc q = b.qpc(qpn);
    EXPECT_TRUE(hca_qpc_sound(&q));
  }
  EXPECT_EQ(b.qpc(target).xrcd, 7U);
  EXPECT_EQ(modify(target, HCA_QP_RESET, HCA_QP_STATE), HCA_OK);
  EXPECT_EQ(b.qpc(target).xrcd, 7U);
  for (const std::uint32_t qpn : {initiator, target}) EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_SRQ, srqn), HCA_OK);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_CQ, cqn), HCA_OK);
  EXPECT_EQ(b.h.untaken, 0U);
}

// A GRH is set with the address, and an address without one takes it away.
TEST_F(queues, a_route_is_part_of_the_address) {
  const std::uint32_t qpn = b.create_qp(cqn);
  ASSERT_EQ(modify(qpn, HCA_QP_INIT, HCA_QP_STATE | HCA_QP_ACCESS), HCA_OK);
  struct {
    hca_modify_qp a;
    hca_route r;
  } m{attributes(HCA_QP_RTR), {}};
  m.r.dgid = hca_port_gid(9);
  m.r.flow = 0x5abcdef;
  m.r.hop_limit = 3;
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_QP, qpn, rtr_mask | HCA_QP_ROUTE, m), HCA_BAD_PARAMETER) << "not global";
  m.r.global = 1;
  m.r.flow = 1U << 28;
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_QP, qpn, rtr_mask | HCA_QP_ROUTE, m), HCA_BAD_PARAMETER);
  m.r.flow = 0x5abcdef;
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_QP, qpn, rtr_mask | HCA_QP_ROUTE, m.a), HCA_BAD_LENGTH);
  EXPECT_EQ(b.run(HCA_CMD_MODIFY_QP, qpn, rtr_mask, m), HCA_BAD_LENGTH);
  ASSERT_EQ(b.run(HCA_CMD_MODIFY_QP, qpn, rtr_mask | HCA_QP_ROUTE, m), HCA_OK);
  const hca_qpc q = b.qpc(qpn);
  EXPECT_EQ(std::memcmp(&q.route, &m.r, sizeof m.r), 0);
  EXPECT_TRUE(hca_qpc_sound(&q));
  ASSERT_EQ(modify(qpn, HCA_QP_RTS, rts_mask), HCA_OK);
  EXPECT_EQ(b.qpc(qpn).route.global, 1);
}

}  // namespace
