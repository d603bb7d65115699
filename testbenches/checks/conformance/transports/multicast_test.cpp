// Group TC-H: multicast [H4..H6].
#include <cstring>
#include <set>

#include "testbenches/checks/conformance/transports/transports.h"
#include "testbenches/kit/counters.h"
#include "testbenches/kit/packet_injector.h"

namespace hcasim::kit {
namespace {

constexpr std::uint16_t group_lid = 0xc0fe;

ibv_gid group_gid(std::uint8_t number) {
  return {{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, number}};
}

ibv_ah* handle_of(cpu& c, ibv_pd* pd, std::uint8_t number, std::uint16_t lid = group_lid) {
  ibv_ah_attr to{
      lid, 0, 1, 1, {.dgid = group_gid(number), .flow_label = 0, .sgid_index = 0, .hop_limit = 1, .traffic_class = 0}};
  return ibv_create_ah(c, pd, &to);
}

request to_group(const region& from, ibv_ah* ah, std::uint32_t bytes, std::uint32_t qkey = ud.qkey) {
  return {.opcode = IBV_WR_SEND, .sges = {{from.addr, bytes, from.mr->lkey}}, .ah = ah, .qpn = 0xffffff, .qkey = qkey};
}

// Three of four QPs are attached; each has its own copy, with the Q_Key and the receives of its own.
CONFORMANCE(TC_H06) {
  process_context p(c, n);
  const region from = p.allocate(4096);
  const region to = p.allocate(16384);
  p.fill(from.addr, 4096, 5);
  ibv_qp* a = p.create_qp(ud);
  ASSERT_EQ(p.connect(a, {}, ud), 0);
  std::vector<ibv_qp*> members;
  ibv_cq* cq = ibv_create_cq(c, p.context, 64, nullptr, nullptr, 0);
  const ibv_gid gid = group_gid(1);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ibv_qp* const b = p.create_qp(ud, nullptr, cq);
    qp_options o = ud;
    if (i == 2) o.qkey = 5;
    ASSERT_EQ(p.connect(b, {}, o), 0);
    if (i != 1) {
      ASSERT_EQ(ibv_attach_mcast(c, b, &gid, group_lid), 0);
    }
    ASSERT_EQ(post_receive(c, b, i, {{to.addr + 4096 * i, 4096, to.mr->lkey}}), 0);
    members.push_back(b);
  }
  EXPECT_EQ(complete(c, a, to_group(from, handle_of(c, p.pd, 1), 500)).status, IBV_WC_SUCCESS);
  std::set<std::uint64_t> heard;
  while (const auto wc = next_completion(c, cq, 50_us)) {
    EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc->byte_len, 540U);
    EXPECT_EQ(wc->src_qp, a->qp_num);
    EXPECT_EQ(wc->wc_flags & IBV_WC_GRH, unsigned{IBV_WC_GRH});
    EXPECT_EQ(p.bytes(to.addr + 4096 * wc->wr_id + 40, 500), p.bytes(from.addr, 500));
    EXPECT_EQ(p.bytes(to.addr + 4096 * wc->wr_id + 24, 16), std::vector<std::uint8_t>(gid.raw, gid.raw + 16));
    heard.insert(wc->wr_id);
  }
  EXPECT_EQ(heard, (std::set<std::uint64_t>{0, 3})) << "1 is not attached, 2 has another Q_Key";
  EXPECT_EQ(statistic_of(n.hca.responder, "group_copies"), 3.0);
  // A member that leaves hears nothing more; the others do.
  EXPECT_EQ(ibv_detach_mcast(c, members[0], &gid, group_lid), 0);
  for (const std::uint64_t i : {0U, 3U}) {
    ASSERT_EQ(post_receive(c, members[i], i, {{to.addr + 4096 * i, 4096, to.mr->lkey}}), 0);
  }
  EXPECT_EQ(complete(c, a, to_group(from, handle_of(c, p.pd, 1), 100)).status, IBV_WC_SUCCESS);
  const auto last = next_completion(c, cq, 50_us);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->wr_id, 3U);
  EXPECT_FALSE(next_completion(c, cq, 50_us));
}

// The refusals of attaching, and the state kept by an attachment.
CONFORMANCE(TC_H07) {
  process_context p(c, n);
  ibv_qp* rc = p.create_qp();
  ibv_qp* b = p.create_qp(ud);
  const ibv_gid gid = group_gid(1);
  ibv_gid single = gid;
  single.raw[0] = 0xfe;
  EXPECT_EQ(ibv_attach_mcast(c, rc, &gid, group_lid), EINVAL);
  EXPECT_EQ(ibv_attach_mcast(c, b, &single, group_lid), EINVAL);
  EXPECT_EQ(ibv_attach_mcast(c, b, &gid, 0xbfff), EINVAL);
  EXPECT_EQ(ibv_attach_mcast(c, b, &gid, 0xffff), EINVAL);
  EXPECT_EQ(ibv_detach_mcast(c, b, &gid, group_lid), EINVAL) << "it is not attached";
  EXPECT_EQ(ibv_attach_mcast(c, b, &gid, group_lid), 0);
  EXPECT_EQ(ibv_attach_mcast(c, b, &gid, group_lid), 0) << "once is enough";
  EXPECT_EQ(ibv_destroy_qp(c, b), EBUSY);
  EXPECT_EQ(ibv_detach_mcast(c, b, &gid, group_lid), 0);
  EXPECT_EQ(ibv_detach_mcast(c, b, &gid, group_lid), EINVAL);
  EXPECT_EQ(ibv_destroy_qp(c, b), 0);
  // A process that ends leaves its groups.
  ibv_qp* left = p.create_qp(ud);
  EXPECT_EQ(ibv_attach_mcast(c, left, &gid, group_lid), 0);
}

// Many groups of few hashes: each is found, in whatever order they come and go.
CONFORMANCE(TC_H08) {
  process_context p(c, n);
  const region from = p.allocate(4096);
  const region to = p.allocate(4096);
  ibv_qp* a = p.create_qp(ud);
  ASSERT_EQ(p.connect(a, {}, ud), 0);
  ibv_cq* cq = ibv_create_cq(c, p.context, 256, nullptr, nullptr, 0);
  ibv_qp* b = p.create_qp(ud, nullptr, cq);
  ASSERT_EQ(p.connect(b, {}, ud), 0);
  std::set<unsigned> in;
  const auto check = [&](unsigned number) {
    ASSERT_EQ(post_receive(c, b, number, {{to.addr, 4096, to.mr->lkey}}), 0);
    ASSERT_EQ(complete(c, a, to_group(from, handle_of(c, p.pd, static_cast<std::uint8_t>(number)), 16)).status, IBV_WC_SUCCESS);
    const bool heard = next_completion(c, cq, 20_us).has_value();
    EXPECT_EQ(heard, in.contains(number)) << number;
    if (!heard) {  // the receive is the next one's
      ASSERT_EQ(p.reset(b), 0);
      ASSERT_EQ(p.connect(b, {}, ud), 0);
    }
  };
  for (unsigned i = 0; i < 150; ++i) {
    const unsigned number = i * 37 % 101;
    const ibv_gid gid = group_gid(static_cast<std::uint8_t>(number));
    if (in.contains(number)) {
      ASSERT_EQ(ibv_detach_mcast(c, b, &gid, group_lid), 0);
      in.erase(number);
    } else {
      ASSERT_EQ(ibv_attach_mcast(c, b, &gid, group_lid), 0);
      in.insert(number);
    }
    if (i % 7 == 0) check(number);
    if (i % 11 == 0) check((number + 1) % 101);
  }
}

// Four nodes at a switch: members hear it once, others not, and a full queue at one of them loses nothing for the others.
TEST(conformance, TC_H09) {
  system_config config = world::two_nodes();
  config.nodes.resize(4, config.nodes[0]);
  config.ib_switch.queue = 2048;
  world w(config);
  std::array<int, 4> heard{};
  std::array<out_of_band<int>, 4> ready;
  constexpr int messages = 40;
  std::vector<program> programs;
  for (std::size_t i = 0; i < 4; ++i) {
    programs.push_back([&, i](cpu& c, node& n) {
      process_context p(c, n);
      const region m = p.allocate(8192);
      ibv_qp* const qp = p.create_qp(ud);
      ASSERT_EQ(p.connect(qp, {}, ud), 0);
      const ibv_gid gid = group_gid(1);
      if (i == 0) {
        for (std::size_t k = 1; k < 4; ++k) ready[k].receive(c);
        ibv_ah* const ah = handle_of(c, p.pd, 1);
        for (int k = 0; k < messages; ++k) {
          ASSERT_EQ(complete(c, qp, to_group(m, ah, 1024)).status, IBV_WC_SUCCESS);
        }
        return;
      }
      if (i != 3) {
        ASSERT_EQ(ibv_attach_mcast(c, qp, &gid, group_lid), 0);
      }
      for (int k = 0; k < messages; ++k) {
        ASSERT_EQ(post_receive(c, qp, static_cast<std::uint64_t>(k), {{m.addr, 2048, m.mr->lkey}}), 0);
      }
      ready[i].send(c, 1);
      while (const auto wc = next_completion(c, p.cq, 500_us)) {
        EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
        ++heard[i];
      }
    });
  }
  ASSERT_TRUE(w.run(programs));
  EXPECT_EQ(heard, (std::array<int, 4>{0, messages, messages, 0}));
  EXPECT_EQ(w.sys().packets().in_use(), 0U) << "packets are left over";
}

// Packets that pretend to be for a group: without a GRH, with a GID of a port, of RC, to one QP.
TEST(conformance, TC_H10) {
  world w(world::two_nodes());
  packet_injector f(w.sys(), 0);
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) {
    process_context p(c, n);
    const region m = p.allocate(4096);
    ibv_qp* const qp = p.create_qp(ud);
    ASSERT_EQ(p.connect(qp, {}, ud), 0);
    const ibv_gid gid = group_gid(1);
    ASSERT_EQ(ibv_attach_mcast(c, qp, &gid, group_lid), 0);
    ASSERT_EQ(post_receive(c, qp, 1, {{m.addr, 2048, m.mr->lkey}}), 0);
    c.sync();
    const auto put = [&](const std::function<void(packet&)>& change) {
      packet_header h = f.header(wire::ud | wire::send_only, 0xffffff, 0, 2);
      h.dest_lid = group_lid;
      h.qkey = ud.qkey;
      h.source_qpn = 9;
      packet& made = f.make(h, 64);
      made.header.global = true;
      made.grh = {.source = hca_port_gid(2), .dest = {}, .flow = 0, .hop_limit = 1};
      std::memcpy(made.grh.dest.byte, gid.raw, 16);
      change(made);
      encode(made);
      f.put(made);
      c.spend(20_us);
      c.sync();
    };
    put([](packet& x) { x.header.global = false; });
    put([](packet& x) { x.grh.dest = hca_port_gid(1); });
    put([](packet& x) { x.header.opcode = wire::send_only; });
    put([&](packet& x) { x.header.dest_qpn = qp->qp_num; });
    put([](packet& x) { x.header.dest_lid = 1; });
    EXPECT_EQ(statistic_of(n.hca.port, "dropped_wrong_gid"), 5.0);
    put([](packet& x) { x.header.dest_lid = 0xc004; });
    put([](packet& x) { x.grh.dest.byte[15] ^= 1; });
    put([](packet& x) { x.header.qkey ^= 1; });
    packet_header unicast = f.header(wire::ud | wire::send_only, 0xffffff, 0, 2);
    unicast.qkey = ud.qkey;
    f.put(unicast, 64);
    c.spend(20_us);
    c.sync();
    ibv_wc wc{};
    EXPECT_EQ(ibv_poll_cq(c, p.cq, 1, &wc), 0) << "none of them is for the group";
    put([](packet&) {});
    ASSERT_EQ(ibv_poll_cq(c, p.cq, 1, &wc), 1);
    EXPECT_EQ(wc.byte_len, 104U);
  }}));
  EXPECT_EQ(w.sys().packets().in_use(), 0U) << "packets are left over";
}

}  // namespace
}  // namespace hcasim::kit
