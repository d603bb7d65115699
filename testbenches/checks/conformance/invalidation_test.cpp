// Group TC-I: local and remote invalidation [C.6].
#include "testbenches/checks/conformance/window.h"
#include "testbenches/kit/counters.h"

namespace hcasim::kit {
namespace {

// The requester of a SEND_WITH_INV without an answer gives up soon.
const qp_options impatient{.timeout = 5, .retry = 1};

request send_inv(const window_case& t, std::uint32_t key, std::uint32_t bytes = 64) {
  request r{.opcode = IBV_WR_SEND_WITH_INV, .id = 9, .immediate = key};
  if (bytes != 0) r.sges = {{t.here.addr, bytes, t.here.mr->lkey}};
  return r;
}

// Class J: the responder says nothing, completes its receive with an error and stops [C6.9].
void expect_class_j(window_case& t, std::uint32_t key) {
  ASSERT_EQ(post_receive(t.c, t.b, 4, {{t.there.addr + 8192, 64, t.there.mr->lkey}}), 0);
  EXPECT_EQ(complete(t.c, t.a, send_inv(t, key), &t.received).status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_NE(t.receive_completion().status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.state(t.a), IBV_QPS_ERR);
  EXPECT_EQ(t.p.state(t.b), IBV_QPS_ERR);
  t.reconnect();
}

CONFORMANCE(TC_I01) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound();
  const ibv_wc wc = t.invalidate_on_b(mw->rkey);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_LOCAL_INV);
  EXPECT_EQ(t.windows_of(t.there.mr), 0U);
  t.expect_no_read(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_I03) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound();
  ASSERT_EQ(post_local_inv(c, t.b, ibv_inc_rkey(mw->rkey), {.id = 1, .flags = 0}), 0);
  EXPECT_EQ(wait_for(c, t.b, {.id = 1}).status, IBV_WC_MW_BIND_ERR);
  t.reconnect();
  t.expect_reads(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_I04) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound();
  EXPECT_EQ(t.invalidate_on_b(mw->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.invalidate_on_b(mw->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.windows_of(t.there.mr), 0U);
}

TEST(conformance, TC_I04_switch_inv_free_error) {
  system_config s = world::one_node();
  s.nodes[0].hca.window_unit.inv_free_error = true;
  run_case(
      [](cpu& c, node& n) {
        window_case t(c, n);
        const ibv_mw* mw = t.bound();
        EXPECT_EQ(t.invalidate_on_b(mw->rkey).status, IBV_WC_SUCCESS);
        t.expect_refused(t.invalidate_on_b(mw->rkey));
      },
      s);
}

CONFORMANCE(TC_I05) {
  window_case t(c, n);
  t.expect_refused(t.invalidate_on_b(t.there.mr->lkey));
  t.expect_reads(t.there.addr, t.there.mr->rkey);
}

TEST(conformance, TC_I05_switch_inv_plain_mr) {
  system_config s = world::one_node();
  s.nodes[0].hca.window_unit.inv_plain_mr = true;
  run_case(
      [](cpu& c, node& n) {
        window_case t(c, n);
        const region r = t.p.allocate(4096);
        EXPECT_EQ(t.invalidate_on_b(r.mr->lkey).status, IBV_WC_SUCCESS);
        t.expect_denied([&] { return t.read(r.addr, r.mr->rkey); }, IBV_WC_REM_ACCESS_ERR, r.addr);
        EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
      },
      s);
}

// Only the QP it is tied to may invalidate a window [C6.2]; no QP may invalidate a type 1 window [C6.1].
CONFORMANCE(local_invalidate_of_what_is_not_ours_is_refused) {
  window_case t(c, n);
  ibv_mw* mw = t.bound();
  EXPECT_EQ(kit::local_inv(c, t.a, mw->rkey).status, IBV_WC_MW_BIND_ERR);
  t.reconnect();
  t.expect_reads(t.there.addr, mw->rkey);
  ibv_mw* type1 = t.window(IBV_MW_TYPE_1);
  ASSERT_EQ(t.on_b_type_1(type1, t.piece(0, 64)).status, IBV_WC_SUCCESS);
  t.expect_refused(t.invalidate_on_b(type1->rkey));
  t.expect_reads(t.there.addr, type1->rkey);
}

CONFORMANCE(TC_I06) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound();
  const std::uint64_t landing = t.there.addr + 8192;
  ASSERT_EQ(post_receive(c, t.b, 4, {{landing, 64, t.there.mr->lkey}}), 0);
  EXPECT_EQ(complete(c, t.a, send_inv(t, mw->rkey), &t.received).status, IBV_WC_SUCCESS);
  const ibv_wc wc = t.receive_completion();
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.wr_id, 4U);
  EXPECT_TRUE(wc.wc_flags & IBV_WC_WITH_INV);
  EXPECT_FALSE(wc.wc_flags & IBV_WC_WITH_IMM);
  EXPECT_EQ(wc.invalidated_rkey, mw->rkey);
  EXPECT_EQ(wc.byte_len, 64U);
  EXPECT_EQ(t.p.bytes(landing, 64), t.p.bytes(t.here.addr, 64));
  EXPECT_EQ(t.windows_of(t.there.mr), 0U);
  t.expect_no_read(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_I07) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound();
  ASSERT_EQ(post_receive(c, t.b, 4, {}), 0);
  EXPECT_EQ(complete(c, t.a, send_inv(t, mw->rkey, 0), &t.received).status, IBV_WC_SUCCESS);
  const ibv_wc wc = t.receive_completion();
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.invalidated_rkey, mw->rkey);
  t.expect_no_read(t.there.addr, mw->rkey);
}

// Without a receive WQE the sender is told to wait, and nothing is invalidated before one is there [C6.8].
CONFORMANCE(send_with_invalidate_waits_for_a_receive) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound();
  ASSERT_EQ(post(c, t.a, send_inv(t, mw->rkey)), 0);
  EXPECT_FALSE(next_completion(c, t.p.cq, 100_us));
  EXPECT_EQ(t.windows_of(t.there.mr), 1U);
  ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr + 8192, 64, t.there.mr->lkey}}), 0);
  EXPECT_EQ(wait_for(c, t.a, {.id = 9, .others = &t.received}).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.receive_completion().invalidated_rkey, mw->rkey);
  EXPECT_EQ(t.windows_of(t.there.mr), 0U);
}

CONFORMANCE(TC_I09) {
  window_case t(c, n, impatient);
  const ibv_mw* mw = t.bound();
  expect_class_j(t, ibv_inc_rkey(mw->rkey));
  t.expect_reads(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_I10) {
  window_case t(c, n, impatient);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  ASSERT_EQ(t.on_b_type_1(mw, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
  expect_class_j(t, mw->rkey);
  t.expect_reads(t.there.addr, mw->rkey);
}

CONFORMANCE(TC_I12) {
  window_case t(c, n, impatient);
  expect_class_j(t, t.there.mr->rkey);
  t.expect_reads(t.there.addr, t.there.mr->rkey);
}

// A window tied to another QP cannot be killed from here [C6.11].
CONFORMANCE(remote_invalidate_of_another_connections_window_is_class_j) {
  window_case t(c, n, impatient);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  ASSERT_EQ(kit::bind(c, t.a, mw, mw->rkey + 1, t.piece(0, 4096)).status, IBV_WC_SUCCESS);
  expect_class_j(t, mw->rkey);
  EXPECT_EQ(t.windows_of(t.there.mr), 1U);
}

TEST(conformance, class_j_switch) {
  system_config s = world::one_node();
  s.nodes[0].hca.responder.class_j = class_j_answer::nak_rae;
  run_case(
      [](cpu& c, node& n) {
        window_case t(c, n, impatient);
        ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
        EXPECT_EQ(complete(c, t.a, send_inv(t, 0x12345600), &t.received).status, IBV_WC_REM_ACCESS_ERR);
        EXPECT_NE(t.receive_completion().status, IBV_WC_SUCCESS);
      },
      s);
}

TEST(conformance, class_j_switch_ack) {
  system_config s = world::one_node();
  s.nodes[0].hca.responder.class_j = class_j_answer::ack;
  run_case(
      [](cpu& c, node& n) {
        window_case t(c, n, impatient);
        ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
        EXPECT_EQ(complete(c, t.a, send_inv(t, 0x12345600), &t.received).status, IBV_WC_SUCCESS);
        EXPECT_NE(t.receive_completion().status, IBV_WC_SUCCESS);
        EXPECT_EQ(t.p.state(t.b), IBV_QPS_ERR);
      },
      s);
}

CONFORMANCE(TC_I13) {
  process_context p(c, n);
  ibv_qp_init_attr init{nullptr, p.cq, p.cq, nullptr, {8, 8, 1, 1, 0}, IBV_QPT_UC, 0};
  ibv_qp* qp = ibv_create_qp(c, p.pd, &init);
  ASSERT_NE(qp, nullptr);
  const address self = p.address_of(qp);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  ASSERT_EQ(ibv_modify_qp(c, qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = self.qpn;
  attr.rq_psn = self.psn;
  attr.ah_attr = {self.lid, 0, 1};
  ASSERT_EQ(ibv_modify_qp(c, qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN), 0);
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = self.psn;
  ASSERT_EQ(ibv_modify_qp(c, qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  EXPECT_EQ(post(c, qp, {.opcode = IBV_WR_SEND_WITH_INV, .immediate = 0x100}), EINVAL);
}

// The last packet is lost once: one invalidate, one receive completion.
TEST(conformance, TC_I14) {
  world w(world::two_nodes());
  out_of_band<address> to_sender;
  out_of_band<address> to_receiver;
  out_of_band<std::uint32_t> key_to_sender;
  out_of_band<int> sent;
  int lost = 0;
  w.sys().cable(0).set_fault_filter([&lost](const packet& p, unsigned) {
    if (!p.header.shape().invalidate || lost != 0) return fault::none;
    ++lost;
    return fault::loss;
  });
  const program sender = [&](cpu& c, node& n) {
    process_context p(c, n);
    ibv_qp* qp = p.create_qp({.timeout = 8});
    const region r = p.allocate(8192);
    p.fill(r.addr, r.length, 3);
    to_receiver.send(c, p.address_of(qp));
    ASSERT_EQ(p.connect(qp, to_sender.receive(c), {.timeout = 8}), 0);
    const std::uint32_t key = key_to_sender.receive(c);
    EXPECT_EQ(complete(c, qp, {.opcode = IBV_WR_SEND_WITH_INV, .id = 1, .sges = {{r.addr, 5000, r.mr->lkey}}, .immediate = key})
                  .status,
              IBV_WC_SUCCESS);
    sent.send(c, 1);
  };
  const program receiver = [&](cpu& c, node& n) {
    process_context p(c, n);
    ibv_qp* qp = p.create_qp();
    const region r = p.allocate(8192);
    const address peer = to_receiver.receive(c);
    ASSERT_EQ(p.connect(qp, peer), 0);
    ibv_mw* mw = ibv_alloc_mw(c, p.pd, IBV_MW_TYPE_2);
    ASSERT_EQ(kit::bind(c, qp, mw, mw->rkey + 1, {r.mr, r.addr, 4096, window_rights}).status, IBV_WC_SUCCESS);
    for (std::uint64_t id : {7U, 8U}) ASSERT_EQ(post_receive(c, qp, id, {{r.addr, 8192, r.mr->lkey}}), 0);
    to_sender.send(c, p.address_of(qp));
    key_to_sender.send(c, mw->rkey);
    sent.receive(c);
    const auto wc = next_completion(c, p.cq);
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wr_id, 7U);
    EXPECT_EQ(wc->byte_len, 5000U);
    EXPECT_EQ(wc->invalidated_rkey, mw->rkey);
    EXPECT_FALSE(next_completion(c, p.cq, 10_ms));
  };
  ASSERT_TRUE(w.run({sender, receiver}));
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(statistic_of(w.at(1).hca.window_unit, "invalidates"), 1.0);
}

CONFORMANCE(TC_I16) {
  window_case t(c, n);
  ibv_mw* mw = t.bound();
  const std::uint32_t old = mw->rkey;
  ASSERT_EQ(post_local_inv(c, t.b, old, {.id = 1, .flags = 0}), 0);
  ASSERT_EQ(post_bind(c, t.b, mw, old + 1, t.piece(4096, 4096), {.id = 2, .flags = 0}), 0);
  EXPECT_FALSE(next_completion(c, t.p.cq, 1_ms));
  mw->rkey = old + 1;
  t.expect_reads(t.there.addr + 4096, old + 1);
  t.expect_no_read(t.there.addr, old);
  t.expect_no_read(t.there.addr, old + 1);
  EXPECT_EQ(t.windows_of(t.there.mr), 1U);
}

// The responses of a READ go through the window while it is invalidated: the READ fails and with it the QP, but what was
// invalidated is told of [C6.10].
TEST(conformance, an_invalidation_is_reported_though_its_qp_goes_into_error) {
  constexpr unsigned reads = 8;
  unsigned failed = 0;
  system_config s = world::one_node();
  s.nodes[0].hca.responder.buffers = 8;
  run_case(
      [&](cpu& c, node& n) {
        window_case t(c, n, impatient);
        ibv_mw* const mw = t.window(IBV_MW_TYPE_2);
        for (ps between{0}; between <= 5_us; between += 50_ns) {
          ASSERT_EQ(t.on_b(mw, ibv_inc_rkey(mw->rkey), t.piece(0, 12288)).status, IBV_WC_SUCCESS);
          ASSERT_EQ(post_receive(c, t.b, 4, {{t.there.addr + 12288, 64, t.there.mr->lkey}}), 0);
          request read{.opcode = IBV_WR_RDMA_READ, .id = 2, .remote = t.there.addr, .rkey = mw->rkey};
          read.sges = {{t.here.addr, 12288, t.here.mr->lkey}};
          for (unsigned i = 0; i < reads; ++i) ASSERT_EQ(post(c, t.a, read), 0);
          c.spend(between);
          ASSERT_EQ(post(c, t.a, send_inv(t, mw->rkey)), 0);
          ibv_wc_status received = IBV_WC_GENERAL_ERR;
          for (unsigned left = reads + 2; left != 0; --left) {
            const auto wc = next_completion(c, t.p.cq, 10_ms);
            ASSERT_TRUE(wc);
            if (wc->wr_id == 2 && wc->status == IBV_WC_REM_ACCESS_ERR) ++failed;
            if (wc->wr_id == 4) received = wc->status;
          }
          const bool gone = t.windows_of(t.there.mr) == 0;
          ASSERT_EQ(received == IBV_WC_SUCCESS, gone) << between.count() << " ps: " << received;
          t.reconnect();
          if (!gone) {
            ASSERT_EQ(t.invalidate_on_b(mw->rkey).status, IBV_WC_SUCCESS);
          }
        }
      },
      s);
  EXPECT_GT(failed, 20U);
}

// Both want the same key, one of them `after` the other. Who made the change says so; the other finds it made, which is an
// error here, and its QP goes into error while the change of the winner may still be on its way to be reported.
struct invalidators {
  ibv_wc_status local = IBV_WC_GENERAL_ERR;
  ibv_wc_status remote = IBV_WC_GENERAL_ERR;
  std::uint32_t invalidated = 0;  // by the receive's completion
};
invalidators local_against_remote(window_case& t, std::uint32_t key, ps after) {
  EXPECT_EQ(post_receive(t.c, t.b, 4, {{t.there.addr + 8192, 64, t.there.mr->lkey}}), 0);
  EXPECT_EQ(post(t.c, t.a, send_inv(t, key)), 0);
  t.c.spend(after);
  EXPECT_EQ(post_local_inv(t.c, t.b, key, {.id = 1}), 0);
  invalidators found;
  for (unsigned left = 3; left != 0; --left) {
    const auto wc = next_completion(t.c, t.p.cq, 10_ms);
    if (!wc) ADD_FAILURE() << left << " completions are missing";
    if (!wc) break;
    if (wc->wr_id == 1) found.local = wc->status;
    if (wc->wr_id != 4) continue;
    found.remote = wc->status;
    if (wc->status == IBV_WC_SUCCESS && (wc->wc_flags & IBV_WC_WITH_INV)) found.invalidated = wc->invalidated_rkey;
  }
  return found;
}

void exactly_one_invalidates(double issue_interval) {
  system_config s = world::one_node();
  s.nodes[0].hca.window_unit.inv_free_error = true;
  s.nodes[0].hca.send_queue.issue_interval = issue_interval;
  unsigned by_local = 0;
  unsigned by_remote = 0;
  run_case(
      [&](cpu& c, node& n) {
        window_case t(c, n, impatient);
        ibv_mw* const mw = t.window(IBV_MW_TYPE_2);
        for (ps after{0}; after <= 3_us; after += 5_ns) {
          ASSERT_EQ(t.on_b(mw, ibv_inc_rkey(mw->rkey), t.piece(0, 4096)).status, IBV_WC_SUCCESS);
          const invalidators found = local_against_remote(t, mw->rkey, after);
          const bool local = found.local == IBV_WC_SUCCESS;
          ASSERT_NE(local, found.remote == IBV_WC_SUCCESS) << after.count() << " ps: " << found.local << ", " << found.remote;
          if (!local) {
            ASSERT_EQ(found.invalidated, mw->rkey);
          }
          ++(local ? by_local : by_remote);
          ASSERT_EQ(t.windows_of(t.there.mr), 0U);
          t.reconnect();
        }
      },
      s);
  EXPECT_GT(by_local, 50U);
  EXPECT_GT(by_remote, 50U);
}

TEST(conformance, TC_I19) {
  exactly_one_invalidates(send_queue_config().issue_interval);
}
TEST(conformance, TC_I19_issued_late) {
  exactly_one_invalidates(200);
}

}  // namespace
}  // namespace hcasim::kit
