// Posting and polling: what reaches memory and the doorbell page, byte by byte, and how space comes back.
#include "models/driver/testing/bench.h"

namespace hcasim::testing {
namespace {

using namespace verbs;

std::uint64_t doorbell_of(std::uint32_t number, std::uint32_t value) {
  return std::uint64_t{value} << 32 | number;
}

std::uint64_t as_word(const fake_adapter::write& w) {
  std::uint64_t v = 0;
  std::memcpy(&v, w.bytes.data(), 8);
  return v;
}

hca_cqe send_cqe(const ibv_qp* qp, std::uint16_t index, std::uint8_t opcode, std::uint8_t status = HCA_WC_SUCCESS) {
  hca_cqe e{};
  e.qpn = qp->qp_num;
  e.index = index;
  e.opcode = opcode;
  e.status = status;
  return e;
}

std::uint32_t cqn_of(bench& b, const ibv_qp* qp) {
  return b.adapter.qpc(qp->qp_num).send_cqn;
}

TEST(Post, QueuePairAsTheAdapterSeesIt) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c);
    const hca_qpc q = b.adapter.qpc(qp->qp_num);
    EXPECT_EQ(q.state, HCA_QP_RTS);
    EXPECT_EQ(q.mtu_shift, 12);
    EXPECT_EQ(q.dest_qpn, 99U);
    EXPECT_EQ(q.dest_lid, 3);
    EXPECT_EQ(q.expected_psn, 6U);
    EXPECT_EQ(q.next_psn, 5U);
    EXPECT_EQ(q.timeout, 14);
    EXPECT_EQ(q.rq_stride_shift, 6);  // 4 segments
    EXPECT_EQ(q.sq.log_bytes, 12);    // 16 WQEs of 2 blocks, and what a wrap may waste
    EXPECT_EQ(q.rq.log_bytes, 10);
    EXPECT_EQ(q.access, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(c, qp, &attr, 0, &init), 0);
    EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
    EXPECT_EQ(attr.path_mtu, IBV_MTU_4096);
    EXPECT_EQ(attr.sq_psn, 5U);
    EXPECT_EQ(init.cap.max_send_wr, 31U);
    EXPECT_EQ(init.cap.max_inline_data, 88U);
  });
}

// A single WQE by BlueFlame, the buffers in turn; several by a doorbell. The record is written first.
TEST(Post, BlueFlameAndDoorbells) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c);
    b.settle(c);
    b.adapter.uar_writes.clear();
    ibv_sge sge{0x1000, 64, 0xa1};
    ibv_send_wr* bad = nullptr;
    for (std::uint64_t i = 0; i < 3; ++i) {
      ibv_send_wr wr = make_send(i, IBV_WR_RDMA_WRITE, &sge, 1, IBV_SEND_SIGNALED);
      wr.wr.rdma = {0x8000, 0xb0};
      ASSERT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
    }
    b.settle(c);
    ASSERT_EQ(b.adapter.uar_writes.size(), 3U);
    const std::uint64_t uar = HCA_UAR_PAGE;  // page 0 is the kernel's
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto& w = b.adapter.uar_writes[i];
      EXPECT_EQ(w.offset, uar + HCA_UAR_BF + (i % 2) * HCA_BF_BYTES);
      EXPECT_EQ(w.bytes, b.sq_bytes(qp, i, 1));
      const auto control = bench::at<hca_wqe_control>(w.bytes, 0);
      EXPECT_EQ(control.index, i);
      EXPECT_EQ(control.qpn, qp->qp_num);
    }
    ibv_send_wr second = make_send(4, IBV_WR_SEND, &sge, 1, 0);
    ibv_send_wr first = make_send(3, IBV_WR_SEND, &sge, 1, 0);
    first.next = &second;
    ASSERT_EQ(ibv_post_send(c, qp, &first, &bad), 0);
    b.settle(c);
    ASSERT_EQ(b.adapter.uar_writes.size(), 4U);
    EXPECT_EQ(b.adapter.uar_writes[3].offset, uar + HCA_UAR_SQ);
    EXPECT_EQ(as_word(b.adapter.uar_writes[3]), doorbell_of(qp->qp_num, 5));
    EXPECT_EQ(b.machine.memory_bytes().get<hca_qp_record>(b.adapter.qpc(qp->qp_num).record).sq_pi, 5U);
    EXPECT_EQ(b.device.counters().blueflames.value(), 3U);
  });
}

TEST(Post, BlueFlameByKnob) {
  driver::driver_config config;
  config.blueflame = driver::blueflame_use::inline_only;
  bench b(config);
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c);
    const std::uint64_t at = b.memory.allocate(4096);
    ibv_sge sge{at, 8, 0xa1};
    ibv_send_wr* bad = nullptr;
    ibv_send_wr wr = make_send(0, IBV_WR_SEND, &sge, 1, 0);
    ASSERT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
    EXPECT_EQ(b.device.counters().blueflames.value(), 0U);
    wr.send_flags = IBV_SEND_INLINE;
    ASSERT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
    EXPECT_EQ(b.device.counters().blueflames.value(), 1U);
  });
}

// A WQE larger than the adapter takes by BlueFlame goes by doorbell.
TEST(Post, TooLongForBlueFlame) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c, {4, 0, 20, 0, 0});
    std::vector<ibv_sge> sges(20, ibv_sge{0x1000, 1, 2});
    ibv_send_wr* bad = nullptr;
    ibv_send_wr wr = make_send(0, IBV_WR_SEND, sges.data(), 15, 0);  // 256 B
    ASSERT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
    EXPECT_EQ(b.device.counters().blueflames.value(), 1U);
    b.settle(c);
    EXPECT_EQ(b.adapter.uar_writes.back().bytes.size(), 256U);
    wr.num_sge = 16;
    ASSERT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
    EXPECT_EQ(b.device.counters().blueflames.value(), 1U);
    b.settle(c);
    EXPECT_EQ(as_word(b.adapter.uar_writes.back()), doorbell_of(qp->qp_num, 9));
  });
}

// Rings of 64 blocks: a WQE that would wrap is preceded by a NOP, and goes by doorbell; the ring spans scattered frames.
TEST(Post, NopAtTheEndOfTheRing) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c, {40, 0, 12, 0, 0});  // 4 blocks at most: 256 blocks, four pages
    ASSERT_EQ(b.adapter.qpc(qp->qp_num).sq.log_bytes, 14);
    std::vector<ibv_sge> sges(12, ibv_sge{0x1000, 1, 2});
    ibv_send_wr* bad = nullptr;
    std::uint32_t index = 0;
    const auto post = [&](int n, unsigned blocks) {
      ibv_send_wr wr = make_send(index, IBV_WR_SEND, sges.data(), n, IBV_SEND_SIGNALED);
      ASSERT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
      b.adapter.complete(cqn_of(b, qp), send_cqe(qp, static_cast<std::uint16_t>(index), HCA_WQE_SEND));
      ibv_wc wc{};
      ASSERT_EQ(ibv_poll_cq(c, b.cq, 1, &wc), 1);
      ASSERT_EQ(wc.wr_id, index);
      index += blocks;
    };
    post(11, 3);
    while (index + 4 <= 256) post(12, 4);
    ASSERT_EQ(index, 255U);
    EXPECT_EQ(b.device.counters().nops.value(), 0U);
    ibv_send_wr wr = make_send(77, IBV_WR_SEND, sges.data(), 12, IBV_SEND_SIGNALED);
    ASSERT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
    EXPECT_EQ(b.device.counters().nops.value(), 1U);
    const auto nop = bench::at<hca_wqe_control>(b.sq_bytes(qp, 255, 1), 0);
    EXPECT_EQ(nop.opcode, HCA_WQE_NOP);
    EXPECT_EQ(nop.blocks, 1);
    EXPECT_EQ(nop.index, 255);
    EXPECT_EQ(nop.qpn, qp->qp_num);
    EXPECT_EQ(nop.flags, 0);
    const auto control = bench::at<hca_wqe_control>(b.sq_bytes(qp, 0, 4), 0);
    EXPECT_EQ(control.index, 256);
    EXPECT_EQ(control.blocks, 4);
    b.settle(c);
    EXPECT_EQ(as_word(b.adapter.uar_writes.back()), doorbell_of(qp->qp_num, 260));
    // A completion of the NOP itself is not software's business.
    b.adapter.complete(cqn_of(b, qp), send_cqe(qp, 255, HCA_WQE_NOP, HCA_WC_WR_FLUSH_ERR));
    b.adapter.complete(cqn_of(b, qp), send_cqe(qp, 256, HCA_WQE_SEND));
    ibv_wc wc[4]{};
    ASSERT_EQ(ibv_poll_cq(c, b.cq, 4, wc), 1);
    EXPECT_EQ(wc[0].wr_id, 77U);
  });
}

// Indices go on modulo 2^16.
TEST(Post, IndicesWrapAtSixteenBits) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c, {64, 0, 1, 0, 0});
    ibv_sge sge{0x1000, 1, 2};
    std::vector<ibv_send_wr> list(64, make_send(0, IBV_WR_SEND, &sge, 1, 0));
    for (std::size_t i = 0; i + 1 < list.size(); ++i) list[i].next = &list[i + 1];
    list.back().send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    for (std::uint32_t turn = 0; turn < 1025; ++turn) {
      ASSERT_EQ(ibv_post_send(c, qp, list.data(), &bad), 0) << turn;
      b.adapter.complete(cqn_of(b, qp), send_cqe(qp, static_cast<std::uint16_t>(turn * 64 + 63), HCA_WQE_SEND));
      ibv_wc wc{};
      ASSERT_EQ(ibv_poll_cq(c, b.cq, 1, &wc), 1);
      b.settle(c);
      b.adapter.uar_writes.erase(b.adapter.uar_writes.begin(), b.adapter.uar_writes.end() - 1);
    }
    b.settle(c);
    EXPECT_EQ(as_word(b.adapter.uar_writes.back()), doorbell_of(qp->qp_num, 64));
  });
}

TEST(Post, FullQueueAndBadRequests) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c, {4, 4, 2, 2, 28});
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    ASSERT_EQ(ibv_query_qp(c, qp, &attr, 0, &init), 0);
    const std::uint32_t depth = init.cap.max_send_wr;
    ASSERT_GE(depth, 4U);
    b.settle(c);
    b.adapter.uar_writes.clear();
    ibv_sge sges[3] = {{0x1000, 1, 2}, {0x1000, 1, 2}, {0x1000, 1, 2}};
    std::vector<ibv_send_wr> list(depth + 2, make_send(0, IBV_WR_SEND, sges, 1, 0));
    for (std::size_t i = 0; i + 1 < list.size(); ++i) list[i].next = &list[i + 1];
    list[depth - 1].send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(c, qp, list.data(), &bad), ENOMEM);
    EXPECT_EQ(bad, &list[depth]);  // what came before is posted, with one doorbell
    b.settle(c);
    ASSERT_EQ(b.adapter.uar_writes.size(), 1U);
    b.settle(c);
    EXPECT_EQ(as_word(b.adapter.uar_writes[0]), doorbell_of(qp->qp_num, depth));
    EXPECT_EQ(ibv_post_send(c, qp, &list.back(), &bad), ENOMEM);
    b.settle(c);
    EXPECT_EQ(b.adapter.uar_writes.size(), 1U);
    // One signaled completion gives the unsignaled ones before it back.
    b.adapter.complete(cqn_of(b, qp), send_cqe(qp, static_cast<std::uint16_t>(depth - 1), HCA_WQE_SEND));
    ibv_wc wc{};
    ASSERT_EQ(ibv_poll_cq(c, b.cq, 1, &wc), 1);

    ibv_send_wr good = make_send(1, IBV_WR_SEND, sges, 2, 0);
    ibv_send_wr wrong = make_send(2, IBV_WR_SEND, sges, 3, 0);
    ibv_send_wr never_seen = make_send(3, IBV_WR_SEND, sges, 1, 0);
    good.next = &wrong;
    wrong.next = &never_seen;
    const std::uint64_t posted = b.device.counters().send_wqes.value();
    EXPECT_EQ(ibv_post_send(c, qp, &good, &bad), EINVAL);
    EXPECT_EQ(bad, &wrong);
    EXPECT_EQ(b.device.counters().send_wqes.value(), posted + 1);

    ibv_recv_wr receives[5];
    for (std::size_t i = 0; i < 5; ++i) receives[i] = {i, i < 4 ? &receives[i + 1] : nullptr, sges, 1};
    ibv_recv_wr* bad_receive = nullptr;
    EXPECT_EQ(ibv_post_recv(c, qp, receives, &bad_receive), ENOMEM);
    EXPECT_EQ(bad_receive, &receives[4]);
    b.settle(c);
    EXPECT_EQ(b.adapter.uar_writes.back().offset, std::uint64_t{HCA_UAR_PAGE} + HCA_UAR_RQ);
    b.settle(c);
    EXPECT_EQ(as_word(b.adapter.uar_writes.back()), doorbell_of(qp->qp_num, 4));
    EXPECT_EQ(b.machine.memory_bytes().get<hca_qp_record>(b.adapter.qpc(qp->qp_num).record).rq_pi, 4U);
    receives[0].num_sge = 3;
    EXPECT_EQ(ibv_post_recv(c, qp, receives, &bad_receive), EINVAL);
    EXPECT_EQ(bad_receive, &receives[0]);
  });
}

TEST(Post, NotBeforeReadyToSend) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c);
    ASSERT_EQ(to_state(c, qp, IBV_QPS_RESET), 0);
    ibv_sge sge{0x1000, 1, 2};
    ibv_send_wr wr = make_send(0, IBV_WR_SEND, &sge, 1, 0);
    ibv_recv_wr receive{0, nullptr, &sge, 1};
    ibv_send_wr* bad = nullptr;
    ibv_recv_wr* bad_receive = nullptr;
    EXPECT_EQ(ibv_post_send(c, qp, &wr, &bad), EINVAL);
    EXPECT_EQ(ibv_post_recv(c, qp, &receive, &bad_receive), EINVAL);
    ASSERT_EQ(to_init(c, qp), 0);
    EXPECT_EQ(ibv_post_send(c, qp, &wr, &bad), EINVAL);
    EXPECT_EQ(ibv_post_recv(c, qp, &receive, &bad_receive), 0);
    ASSERT_EQ(to_rtr(c, qp, {3, 99, 6}), 0);
    ASSERT_EQ(to_rts(c, qp, {7, 1, 5}), 0);
    EXPECT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
    ASSERT_EQ(to_state(c, qp, IBV_QPS_ERR), 0);
    EXPECT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);  // to be flushed
  });
}

TEST(Poll, Receives) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c);
    ibv_sge sges[2] = {{0x1000, 16, 1}, {0x2000, 16, 2}};
    ibv_recv_wr* bad = nullptr;
    for (std::uint64_t i = 0; i < 3; ++i) {
      ibv_recv_wr wr{100 + i, nullptr, sges, 2};
      ASSERT_EQ(ibv_post_recv(c, qp, &wr, &bad), 0);
    }
    const hca_qpc q = b.adapter.qpc(qp->qp_num);
    const auto wqe = b.machine.memory_bytes().get<std::array<hca_wqe_data, 4>>(b.adapter.locate(q.rq, 64));
    EXPECT_EQ(wqe[1].address, 0x2000U);
    EXPECT_EQ(wqe[2].key, static_cast<std::uint32_t>(HCA_RECV_END));

    hca_cqe e = send_cqe(qp, 0, HCA_WQE_SEND);
    e.flags = HCA_CQE_RECEIVE;
    e.byte_count = 20;
    b.adapter.complete(cqn_of(b, qp), e);
    e.index = 1;
    e.opcode = HCA_WQE_WRITE_IMM;
    e.flags |= HCA_CQE_WITH_IMM;
    e.immediate = 0xaabbccdd;
    b.adapter.complete(cqn_of(b, qp), e);
    ibv_wc wc[8]{};
    ASSERT_EQ(ibv_poll_cq(c, b.cq, 8, wc), 2);
    EXPECT_EQ(wc[0].wr_id, 100U);
    EXPECT_EQ(wc[0].opcode, IBV_WC_RECV);
    EXPECT_EQ(wc[0].byte_len, 20U);
    EXPECT_EQ(wc[0].wc_flags, 0U);
    EXPECT_EQ(wc[1].wr_id, 101U);
    EXPECT_EQ(wc[1].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(wc[1].wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
    EXPECT_EQ(wc[1].imm_data, 0xaabbccddU);
    EXPECT_EQ(b.machine.memory_bytes().get<hca_cq_record>(b.adapter.cqc(cqn_of(b, qp)).record).ci, 2U);
  });
}

TEST(Poll, OwnerBitOverManyTurns) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c);
    ibv_cq* cq = b.cq;
    ibv_sge sge{0x1000, 1, 2};
    ibv_send_wr* bad = nullptr;
    for (std::uint32_t i = 0; i < 256 * 3 + 5; ++i) {
      ibv_wc wc{};
      ASSERT_EQ(ibv_poll_cq(c, cq, 1, &wc), 0);
      ibv_send_wr wr = make_send(i, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
      ASSERT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
      b.adapter.complete(cqn_of(b, qp), send_cqe(qp, static_cast<std::uint16_t>(i), HCA_WQE_SEND));
      ASSERT_EQ(ibv_poll_cq(c, cq, 1, &wc), 1);
      ASSERT_EQ(wc.wr_id, i);
    }
  });
}

// Completions that were not polled do not survive their QP, nor its reset.
TEST(Poll, StaleCompletionsAreDropped) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c);
    ibv_sge sge{0x1000, 1, 2};
    ibv_send_wr wr = make_send(1, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
    b.adapter.complete(cqn_of(b, qp), send_cqe(qp, 0, HCA_WQE_SEND));
    ASSERT_EQ(to_state(c, qp, IBV_QPS_RESET), 0);
    ibv_wc wc{};
    EXPECT_EQ(ibv_poll_cq(c, b.cq, 1, &wc), 0);
    EXPECT_EQ(b.machine.memory_bytes().get<hca_qp_record>(b.adapter.qpc(qp->qp_num).record).sq_pi, 0U);
    ASSERT_EQ(connect(c, qp, local_endpoint(qp, 1), {3, 99, 2}), 0);
    ASSERT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
    b.adapter.complete(cqn_of(b, qp), send_cqe(qp, 0, HCA_WQE_SEND));
    EXPECT_EQ(ibv_destroy_qp(c, qp), 0);
    EXPECT_EQ(ibv_poll_cq(c, b.cq, 1, &wc), 0);
  });
}

// A polling loop that finds nothing sleeps until the CQE lands, and wakes within a turn of the loop.
TEST(Poll, WaitCq) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c);
    ibv_sge sge{0x1000, 1, 2};
    ibv_send_wr wr = make_send(1, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
    c.sync();
    const ps begin = c.time();
    ps landed{0};
    b.machine.run("completer", [&](cpu& other) {
      other.spend(37_us);
      other.sync();
      landed = other.time();
      b.adapter.complete(cqn_of(b, qp), send_cqe(qp, 0, HCA_WQE_SEND));
    });
    EXPECT_FALSE(wait_cq(c, b.cq, 10_us));
    EXPECT_EQ(c.time(), begin + 10_us);
    EXPECT_TRUE(wait_cq(c, b.cq));
    EXPECT_GE(c.time(), landed);
    EXPECT_LE(c.time(), landed + b.machine.config().poll_interval + b.machine.config().poll_cost);
    EXPECT_TRUE(wait_cq(c, b.cq, 1_ps));  // it is still there
    ibv_wc wc{};
    EXPECT_EQ(ibv_poll_cq(c, b.cq, 1, &wc), 1);
  });
}

}  // namespace
}  // namespace hcasim::testing
