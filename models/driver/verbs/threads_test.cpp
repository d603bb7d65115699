// Threads that share a QP, its receive queue or a CQ: their calls follow one another in simulated time.
#include <algorithm>
#include <numeric>
#include <vector>

#include "models/driver/testing/bench.h"

namespace hcasim::testing {
namespace {

using namespace verbs;

constexpr std::uint32_t posts_of_a_thread = 4;

// Runs `work` in two threads, the second 10 ns after the first, and returns when both have ended. A thread's local time runs
// ahead of the kernel. So the second thread gets its turn after the first one's last call, but earlier in simulated time.
void in_two_threads(bench& b, cpu& c, const std::function<void(cpu&, unsigned)>& work) {
  unsigned ended = 0;
  for (unsigned i = 0; i < 2; ++i) {
    b.machine.run("thread", [&, i](cpu& own) {
      own.spend(ps(10'000) * i);
      own.sync();
      work(own, i);
      own.sync();
      ++ended;
    });
  }
  while (ended < 2) {
    c.spend(1_us);
    c.sync();
  }
}

// With a record, a store or a doorbell of the second thread before the first one's, the adapter would fetch stale bytes.
TEST(Threads, PostInTurnOnOneQueuePair) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c);
    b.settle(c);
    b.adapter.uar_writes.clear();
    in_two_threads(b, c, [&](cpu& own, unsigned) {
      ibv_sge sge{0x1000, 64, 0xa1};
      ibv_send_wr* bad = nullptr;
      for (std::uint32_t i = 0; i < posts_of_a_thread; ++i) {
        ibv_send_wr wr = make_send(i, IBV_WR_SEND, &sge, 1, 0);
        ASSERT_EQ(ibv_post_send(own, qp, &wr, &bad), 0);
      }
    });
    ASSERT_EQ(b.adapter.uar_writes.size(), 2 * posts_of_a_thread);
    for (std::uint32_t i = 0; i < 2 * posts_of_a_thread; ++i)
      EXPECT_EQ(bench::at<hca_wqe_control>(b.adapter.uar_writes[i].bytes, 0).index, i);
  });
}

TEST(Threads, PostReceivesInTurn) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c);
    b.settle(c);
    b.adapter.uar_writes.clear();
    in_two_threads(b, c, [&](cpu& own, unsigned) {
      ibv_sge sge{0x1000, 64, 0xa1};
      ibv_recv_wr* bad = nullptr;
      for (std::uint32_t i = 0; i < posts_of_a_thread; ++i) {
        ibv_recv_wr wr{i, nullptr, &sge, 1};
        ASSERT_EQ(ibv_post_recv(own, qp, &wr, &bad), 0);
      }
    });
    ASSERT_EQ(b.adapter.uar_writes.size(), 2 * posts_of_a_thread);
    for (std::uint32_t i = 0; i < 2 * posts_of_a_thread; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, b.adapter.uar_writes[i].bytes.data(), sizeof word);
      EXPECT_EQ(word >> 32, i + 1);
    }
  });
}

// A poll waits for memory in between: another thread may come meanwhile, and would take the same CQE.
TEST(Threads, TakeEachCompletionOnce) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c, {64, 0, 1, 0, 0});
    ibv_sge sge{0x1000, 64, 0xa1};
    ibv_send_wr* bad = nullptr;
    constexpr std::uint32_t all = 32;
    for (std::uint32_t i = 0; i < all; ++i) {
      ibv_send_wr wr = make_send(i, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
      ASSERT_EQ(ibv_post_send(c, qp, &wr, &bad), 0);
    }
    b.settle(c);
    std::uint32_t sent = 0;
    b.machine.run("completer", [&](cpu& own) {
      for (; sent < all; ++sent) {
        hca_cqe e{};
        e.qpn = qp->qp_num;
        e.index = static_cast<std::uint16_t>(sent);
        e.opcode = HCA_WQE_SEND;
        b.adapter.complete(b.adapter.qpc(qp->qp_num).send_cqn, e);
        own.spend(7_ns);
        own.sync();
      }
    });
    std::vector<std::uint64_t> taken;
    in_two_threads(b, c, [&](cpu& own, unsigned) {
      while (taken.size() < all && own.time() < 1_ms) {
        ibv_wc wc{};
        const int n = ibv_poll_cq(own, b.cq, 1, &wc);
        ASSERT_GE(n, 0);
        if (n == 1) taken.push_back(wc.wr_id);
      }
    });
    std::vector<std::uint64_t> wanted(all);
    std::iota(wanted.begin(), wanted.end(), 0);
    std::sort(taken.begin(), taken.end());
    EXPECT_EQ(taken, wanted);
  });
}

}  // namespace
}  // namespace hcasim::testing
