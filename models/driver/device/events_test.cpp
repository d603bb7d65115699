// Completion channels and asynchronous events, through interrupts.
#include "models/driver/testing/bench.h"
#include "models/driver/verbs/waiting.h"

namespace hcasim::testing {
namespace {

using namespace verbs;

TEST(Events, CompletionChannel) {
  bench b;
  b.run([&](cpu& c) {
    ibv_comp_channel* channel = ibv_create_comp_channel(c, b.context);
    int tag = 0;
    ibv_cq* cq = ibv_create_cq(c, b.context, 16, &tag, channel, 1);
    ASSERT_NE(cq, nullptr);
    EXPECT_EQ(ibv_create_cq(c, b.context, 16, nullptr, nullptr, 99), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_destroy_comp_channel(c, channel), EBUSY);
    b.settle(c);
    b.adapter.uar_writes.clear();
    EXPECT_EQ(ibv_req_notify_cq(c, cq, 1), 0);
    b.settle(c);
    ASSERT_EQ(b.adapter.uar_writes.size(), 1U);
    EXPECT_EQ(b.adapter.uar_writes[0].offset, std::uint64_t{HCA_UAR_PAGE} + HCA_UAR_CQ);
    EXPECT_EQ(bench::at<std::uint32_t>(b.adapter.uar_writes[0].bytes, 3) & 0xff, static_cast<std::uint32_t>(HCA_ARM_SOLICITED));
    b.settle(c);
    const std::uint32_t cqn = bench::at<std::uint32_t>(b.adapter.uar_writes[0].bytes, 0) & 0xffffff;

    ps raised{0};
    b.machine.run("adapter", [&](cpu& other) {
      other.spend(50_us);
      other.sync();
      raised = other.time();
      b.adapter.event(b.adapter.cqc(cqn).eqn, HCA_EVENT_COMPLETION, cqn);
    });
    ibv_cq* from = nullptr;
    void* context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(c, channel, &from, &context), 0);
    EXPECT_EQ(from, cq);
    EXPECT_EQ(context, &tag);
    EXPECT_GE(c.time(), raised + b.machine.config().interrupt_latency);
    EXPECT_EQ(b.device.counters().completion_events.value(), 1U);
    // The queue is armed again, with the consumer index.
    c.spend(1_us);
    c.sync();
    b.settle(c);
    const auto& rearm = b.adapter.uar_writes.back();
    EXPECT_EQ(rearm.offset, static_cast<std::uint64_t>(HCA_UAR_EQ));
    EXPECT_EQ(bench::at<std::uint32_t>(rearm.bytes, 0), b.adapter.cqc(cqn).eqn | static_cast<std::uint32_t>(HCA_ARM_NEXT)
                                                                                     << 24);
    EXPECT_EQ(bench::at<std::uint32_t>(rearm.bytes, 4), 1U);

    // Destroying waits for the acknowledgement.
    const ps before = c.time();
    b.machine.run("acknowledge", [&](cpu& other) {
      other.spend(80_us);
      other.sync();
      ibv_ack_cq_events(cq, 1);
    });
    EXPECT_EQ(ibv_destroy_cq(c, cq), 0);
    EXPECT_GE(c.time() - before, 80_us);
    EXPECT_EQ(ibv_destroy_comp_channel(c, channel), 0);
  });
}

// A thread in poll() wakes for an event, and at its time without one.
TEST(Events, ChannelIsPolledForATime) {
  bench b;
  b.run([&](cpu& c) {
    ibv_comp_channel* channel = ibv_create_comp_channel(c, b.context);
    ibv_cq* cq = ibv_create_cq(c, b.context, 16, nullptr, channel, 0);
    EXPECT_EQ(ibv_req_notify_cq(c, cq, 0), 0);
    b.settle(c);
    const std::uint32_t cqn = bench::at<std::uint32_t>(b.adapter.uar_writes.back().bytes, 0) & 0xffffff;
    const ps asleep = c.time();
    EXPECT_FALSE(hcax_poll_channel(c, channel, 20_us));
    EXPECT_GE(c.time() - asleep, 20_us);
    EXPECT_LT(c.time() - asleep, 21_us);
    b.adapter.event(b.adapter.cqc(cqn).eqn, HCA_EVENT_COMPLETION, cqn);
    const ps before = c.time();
    EXPECT_TRUE(hcax_poll_channel(c, channel, 1000_ms));
    EXPECT_LT(c.time() - before, 20_us) << "the event and not the time ends the sleep";
    EXPECT_TRUE(hcax_poll_channel(c, channel, 1000_ms)) << "the event is there until it is taken";
    ibv_cq* from = nullptr;
    void* context = nullptr;
    EXPECT_TRUE(hcax_take_cq_event(c, channel, &from, &context));
    EXPECT_EQ(from, cq);
    ibv_ack_cq_events(from, 1);
  });
}

TEST(Events, QueueWrapsAround) {
  driver::driver_config config;
  config.log_eq_entries = 4;
  bench b(config);
  b.run([&](cpu& c) {
    ibv_comp_channel* channel = ibv_create_comp_channel(c, b.context);
    ibv_cq* cq = ibv_create_cq(c, b.context, 16, nullptr, channel, 0);
    EXPECT_EQ(ibv_req_notify_cq(c, cq, 0), 0);
    b.settle(c);
    const std::uint32_t cqn = bench::at<std::uint32_t>(b.adapter.uar_writes.back().bytes, 0) & 0xffffff;
    for (int i = 0; i < 100; ++i) {
      b.adapter.event(b.adapter.cqc(cqn).eqn, HCA_EVENT_COMPLETION, cqn);
      ibv_cq* from = nullptr;
      void* context = nullptr;
      ASSERT_EQ(ibv_get_cq_event(c, channel, &from, &context), 0);
      ibv_ack_cq_events(from, 1);
    }
  });
  EXPECT_EQ(b.device.counters().completion_events.value(), 100U);
}

TEST(Events, Asynchronous) {
  bench b;
  b.run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c);
    const std::uint32_t cqn = b.adapter.qpc(qp->qp_num).send_cqn;
    for (const auto& [type, number, expected] : {std::tuple{HCA_EVENT_QP_FATAL, qp->qp_num, IBV_EVENT_QP_FATAL},
                                                 {HCA_EVENT_QP_REQUEST, qp->qp_num, IBV_EVENT_QP_REQ_ERR},
                                                 {HCA_EVENT_QP_ACCESS, qp->qp_num, IBV_EVENT_QP_ACCESS_ERR},
                                                 {HCA_EVENT_SQ_DRAINED, qp->qp_num, IBV_EVENT_SQ_DRAINED},
                                                 {HCA_EVENT_CQ_OVERFLOW, cqn, IBV_EVENT_CQ_ERR},
                                                 {HCA_EVENT_CQ_ERROR, cqn, IBV_EVENT_CQ_ERR},
                                                 {HCA_EVENT_CATASTROPHIC, 0U, IBV_EVENT_DEVICE_FATAL}}) {
      b.adapter.event(0, static_cast<std::uint32_t>(type), number);
      ibv_async_event event{};
      ASSERT_EQ(ibv_get_async_event(c, b.context, &event), 0);
      EXPECT_EQ(event.event_type, expected);
      if (expected == IBV_EVENT_CQ_ERR) {
        EXPECT_EQ(event.element.cq, b.cq);
      } else if (expected != IBV_EVENT_DEVICE_FATAL) {
        EXPECT_EQ(event.element.qp, qp);
      }
      ibv_ack_async_event(&event);
    }
    b.adapter.event(0, HCA_EVENT_QP_FATAL, 777);  // of no QP
    c.spend(100_us);
    c.sync();
    EXPECT_EQ(ibv_destroy_qp(c, qp), 0);
  });
}

}  // namespace
}  // namespace hcasim::testing
