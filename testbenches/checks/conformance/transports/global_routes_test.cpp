// Group TC-H: packets with a global route header [H1..H3].
#include <algorithm>
#include <cstring>

#include "testbenches/checks/conformance/transports/transports.h"
#include "testbenches/kit/counters.h"
#include "testbenches/kit/packet_injector.h"

namespace hcasim::kit {
namespace {

ibv_gid gid_of_port(std::uint16_t lid) {
  const hca_gid own = hca_port_gid(lid);
  ibv_gid gid;
  std::memcpy(gid.raw, own.byte, sizeof gid.raw);
  return gid;
}

ibv_global_route route_to(std::uint16_t lid) {
  return {.dgid = gid_of_port(lid), .flow_label = 0xabcde, .sgid_index = 0, .hop_limit = 17, .traffic_class = 0x5a};
}

// A datagram with a GRH: the GRH begins the receive, byte by byte, and gives the way back.
CONFORMANCE(TC_H01) {
  base_case t(c, n, ud);
  const std::uint16_t lid = t.p.address_of(t.b).lid;
  ibv_ah_attr to{lid, 2, 1, 1, route_to(lid)};
  ibv_ah* ah = ibv_create_ah(c, t.p.pd, &to);
  ASSERT_NE(ah, nullptr);
  // The header spans two segments; the payload begins in the second.
  ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 13, t.there.mr->lkey}, {t.there.addr + 4096, 1100, t.there.mr->lkey}}), 0);
  const request r{
      .opcode = IBV_WR_SEND, .sges = {{t.here.addr, 1000, t.here.mr->lkey}}, .ah = ah, .qpn = t.b->qp_num, .qkey = ud.qkey};
  EXPECT_EQ(complete(c, t.a, r, &t.received).status, IBV_WC_SUCCESS);
  const ibv_wc wc = t.receive_completion();
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.byte_len, 1040U);
  EXPECT_EQ(wc.wc_flags & IBV_WC_GRH, unsigned{IBV_WC_GRH});
  std::vector<std::uint8_t> header = t.p.bytes(t.there.addr, 13);
  const auto rest = t.p.bytes(t.there.addr + 4096, 27);
  header.insert(header.end(), rest.begin(), rest.end());
  const ibv_gid own = gid_of_port(lid);
  EXPECT_EQ(header[0], 0x65);
  EXPECT_EQ(header[1], 0xaa);
  EXPECT_EQ(header[2], 0xbc);
  EXPECT_EQ(header[3], 0xde);
  EXPECT_EQ(header[4] << 8 | header[5], 12 + 8 + 1000 + 4) << "BTH to ICRC";
  EXPECT_EQ(header[6], 0x1b);
  EXPECT_EQ(header[7], 17);
  EXPECT_TRUE(std::equal(own.raw, own.raw + 16, header.begin() + 8));
  EXPECT_TRUE(std::equal(own.raw, own.raw + 16, header.begin() + 24));
  EXPECT_EQ(t.p.bytes(t.there.addr + 4096 + 27, 1000), t.p.bytes(t.here.addr, 1000));

  ibv_grh grh{};
  std::memcpy(&grh, header.data(), sizeof grh);
  ibv_ah_attr back{};
  ASSERT_EQ(ibv_init_ah_from_wc(c, t.p.context, 1, &wc, &grh, &back), 0);
  EXPECT_EQ(back.dlid, lid);
  EXPECT_EQ(back.sl, 2);
  EXPECT_EQ(back.is_global, 1);
  EXPECT_EQ(back.grh.flow_label, 0xabcdeU);
  EXPECT_EQ(back.grh.traffic_class, 0x5a);
  EXPECT_EQ(std::memcmp(back.grh.dgid.raw, own.raw, 16), 0);
  grh.dgid.raw[15] ^= 1;
  EXPECT_EQ(ibv_init_ah_from_wc(c, t.p.context, 1, &wc, &grh, &back), EINVAL);
}

// The header needs its 40 bytes: a datagram without room for them is dropped like any one too long.
CONFORMANCE(TC_H02) {
  base_case t(c, n, ud);
  const std::uint16_t lid = t.p.address_of(t.b).lid;
  ibv_ah_attr to{lid, 0, 1, 1, route_to(lid)};
  ibv_ah* ah = ibv_create_ah(c, t.p.pd, &to);
  ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 100, t.there.mr->lkey}}), 0);
  request r{.opcode = IBV_WR_SEND, .sges = {{t.here.addr, 61, t.here.mr->lkey}}, .ah = ah, .qpn = t.b->qp_num, .qkey = ud.qkey};
  EXPECT_EQ(complete(c, t.a, r, &t.received).status, IBV_WC_SUCCESS);
  r.sges[0].length = 60;
  EXPECT_EQ(complete(c, t.a, r, &t.received).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.receive_completion().byte_len, 100U);
}

// The 40 bytes are a part of the receive with or without a GRH: the route does not decide whether a receive is good.
CONFORMANCE(TC_H19) {
  base_case t(c, n, ud);
  const std::uint16_t lid = t.p.address_of(t.b).lid;
  ibv_ah_attr near{lid, 0, 1};
  ibv_ah_attr far{lid, 0, 1, 1, route_to(lid)};
  const std::uint64_t end = t.there.addr + t.there.length;
  const region other = t.p.allocate(4096);
  const struct {
    const char* what;
    std::vector<ibv_sge> sges;
    std::uint32_t bytes;
    bool fits;
  } receives[] = {
      {"wholly within", {{end - 104, 104, t.there.mr->lkey}}, 64, true},
      {"one byte over the end", {{end - 39, 40, t.there.mr->lkey}, {other.addr, 64, other.mr->lkey}}, 64, false},
      {"in two, the second over the end",
       {{other.addr + 64, 20, other.mr->lkey}, {end - 19, 20, t.there.mr->lkey}, {other.addr, 64, other.mr->lkey}},
       64,
       false},
      {"in two that fit",
       {{other.addr + 64, 20, other.mr->lkey}, {end - 20, 20, t.there.mr->lkey}, {other.addr, 64, other.mr->lkey}},
       64,
       true},
      {"a key that is none", {{other.addr + 64, 40, other.mr->lkey ^ 1}, {other.addr, 64, other.mr->lkey}}, 64, false},
      {"before the region", {{t.there.addr - 8, 104, t.there.mr->lkey}}, 64, false},
      {"of a message without bytes", {{end - 40, 40, t.there.mr->lkey}}, 0, true},
      {"of a message without bytes, one over", {{end - 39, 40, t.there.mr->lkey}}, 0, false},
      {"of a message without bytes, too short", {{end - 39, 39, t.there.mr->lkey}}, 0, false},
  };
  for (const auto& r : receives) {
    SCOPED_TRACE(r.what);
    for (ibv_ah_attr* way : {&near, &far}) {
      SCOPED_TRACE(way == &near ? "without a GRH" : "with one");
      t.p.fill(other.addr, 256, 50);
      const auto before = t.p.bytes(other.addr, 64);
      ibv_ah* ah = ibv_create_ah(c, t.p.pd, way);
      ASSERT_EQ(post_receive(c, t.b, 4, r.sges), 0);
      request send{.opcode = IBV_WR_SEND, .sges = {}, .ah = ah, .qpn = t.b->qp_num, .qkey = ud.qkey};
      if (r.bytes != 0) send.sges = {{t.here.addr, r.bytes, t.here.mr->lkey}};
      EXPECT_EQ(complete(c, t.a, send, &t.received).status, IBV_WC_SUCCESS);
      if (r.fits) {
        const ibv_wc wc = t.receive_completion();
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        EXPECT_EQ(wc.byte_len, 40 + r.bytes);
      } else {
        c.spend(50_us);
        c.sync();
        ibv_wc wc{};
        while (ibv_poll_cq(c, t.p.cq, 1, &wc) == 1) EXPECT_NE(wc.status, IBV_WC_SUCCESS);
        for (const ibv_wc& got : t.received) EXPECT_NE(got.status, IBV_WC_SUCCESS);
        EXPECT_EQ(t.p.bytes(other.addr, 64), before) << "nothing is placed";
        t.reconnect();
      }
      t.received.clear();
      EXPECT_EQ(ibv_destroy_ah(c, ah), 0);
    }
  }
}

// The verbs refuse these.
CONFORMANCE(TC_H03) {
  process_context p(c, n);
  ibv_gid gid{};
  EXPECT_EQ(ibv_query_gid(c, p.context, 1, 0, &gid), 0);
  EXPECT_EQ(std::memcmp(gid.raw, gid_of_port(1).raw, 16), 0);
  EXPECT_EQ(ibv_query_gid(c, p.context, 1, 1, &gid), EINVAL);
  ibv_ah_attr to{1, 0, 1, 1, route_to(1)};
  to.grh.sgid_index = 1;
  EXPECT_EQ(ibv_create_ah(c, p.pd, &to), nullptr);
  EXPECT_EQ(errno, EINVAL);
  to = {0xc001, 0, 1, 1, route_to(1)};
  EXPECT_EQ(ibv_create_ah(c, p.pd, &to), nullptr) << "a multicast LID for one port";
  to.grh.dgid.raw[0] = 0xff;
  to.dlid = 1;
  EXPECT_EQ(ibv_create_ah(c, p.pd, &to), nullptr) << "a group at a unicast LID";
  to.dlid = 0xc001;
  ibv_ah* group = ibv_create_ah(c, p.pd, &to);
  EXPECT_NE(group, nullptr);
  to.is_global = 0;
  EXPECT_EQ(ibv_create_ah(c, p.pd, &to), nullptr) << "a group without its name";
}

// Connected QPs whose packets carry a GRH: data, READ responses and acknowledges.
CONFORMANCE(TC_H04) {
  const ibv_global_route way = route_to(1);
  qp_options o;
  o.global = &way;
  base_case t(c, n, o);
  EXPECT_EQ(t.write(t.there.addr, t.there.mr->rkey, 5000).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.there.addr, 5000), t.p.bytes(t.here.addr, 5000));
  t.p.fill(t.there.addr, 5000, 77);
  EXPECT_EQ(t.read(t.there.addr, t.there.mr->rkey, 5000).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(t.there.addr, 5000), t.p.bytes(t.here.addr, 5000));
  EXPECT_EQ(t.add(t.there.addr, t.there.mr->rkey).status, IBV_WC_SUCCESS);
  ibv_qp_attr now{};
  ASSERT_EQ(ibv_query_qp(c, t.a, &now, IBV_QP_AV, nullptr), 0);
  EXPECT_EQ(now.ah_attr.is_global, 1);
  EXPECT_EQ(now.ah_attr.grh.hop_limit, 17);
  EXPECT_EQ(now.ah_attr.grh.flow_label, 0xabcdeU);
  EXPECT_EQ(now.ah_attr.grh.traffic_class, 0x5a);
  EXPECT_EQ(std::memcmp(now.ah_attr.grh.dgid.raw, way.dgid.raw, 16), 0);
}

constexpr std::uint16_t absent = 2;

// A QP connected to an absent one of LID 2: every incoming packet is forged.
void run_alone(bool global, const std::function<void(cpu&, node&, packet_injector&, process_context&, ibv_qp*, region)>& body) {
  world w(world::two_nodes());
  packet_injector f(w.sys(), 0);
  const ibv_global_route way = route_to(absent);
  qp_options o;
  if (global) o.global = &way;
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    process_context p(c, n);
    ibv_qp* const qp = p.create_qp(o);
    const region there = p.allocate(8192);
    ASSERT_EQ(p.connect(qp, {absent, 0x777, 0x10}, o), 0);
    c.sync();
    body(c, n, f, p, qp, there);
  }}));
  EXPECT_EQ(w.sys().packets().in_use(), 0U) << "packets are left over";
}

// Whether a WRITE with this GRH, or without one, was executed.
bool written(cpu& c, packet_injector& f, process_context& p, ibv_qp* qp, const region& there, const global_route* grh) {
  p.fill(there.addr, 64, 7);
  const auto before = p.bytes(there.addr, 64);
  packet_header h = f.header(wire::write_only, qp->qp_num, 0x10, absent);
  h.va = there.addr;
  h.rkey = there.mr->rkey;
  h.dma_length = 64;
  packet& made = f.make(h, 64);
  if (grh) {
    made.header.global = true;
    made.grh = *grh;
    encode(made);
  }
  f.put(made);
  c.spend(20_us);
  c.sync();
  return p.bytes(there.addr, 64) != before;
}

global_route from(std::uint16_t source, std::uint16_t dest) {
  return {.source = hca_port_gid(source), .dest = hca_port_gid(dest), .flow = 1, .hop_limit = 1};
}

// A GRH with a foreign source, for another port, or missing: the packet is dropped, and the QP goes on.
TEST(conformance, TC_H05) {
  run_alone(true, [](cpu& c, node& n, packet_injector& f, process_context& p, ibv_qp* qp, const region& there) {
    const global_route others = from(3, 1);
    const global_route elsewhere = from(absent, 3);
    const global_route right = from(absent, 1);
    EXPECT_FALSE(written(c, f, p, qp, there, nullptr));
    EXPECT_FALSE(written(c, f, p, qp, there, &others));
    EXPECT_EQ(statistic_of(n.hca.responder, "wrong_route"), 2.0);
    EXPECT_FALSE(written(c, f, p, qp, there, &elsewhere));
    EXPECT_EQ(statistic_of(n.hca.port, "dropped_wrong_gid"), 1.0);
    EXPECT_TRUE(f.answers().empty());
    EXPECT_EQ(p.state(qp), IBV_QPS_RTS);
    EXPECT_TRUE(written(c, f, p, qp, there, &right));
  });
}

TEST(conformance, TC_H05_on_a_local_route) {
  run_alone(false, [](cpu& c, node& n, packet_injector& f, process_context& p, ibv_qp* qp, const region& there) {
    const global_route right = from(absent, 1);
    EXPECT_FALSE(written(c, f, p, qp, there, &right)) << "the QP knows of no GRH";
    EXPECT_EQ(statistic_of(n.hca.responder, "wrong_route"), 1.0);
    EXPECT_TRUE(written(c, f, p, qp, there, nullptr));
  });
}

}  // namespace
}  // namespace hcasim::kit
