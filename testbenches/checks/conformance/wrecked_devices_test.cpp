// A program's view of a device that fails under it [E11]: its event, the end of its requests, the answers of its verbs, and the
// objects that it can give back.
#include "firmware/abi/pci_config.h"
#include "testbenches/checks/conformance/base.h"

namespace hcasim::kit {
namespace {

system_config watched_closely() {
  system_config config = world::one_node();
  config.nodes[0].driver.health_period = 100_us;
  config.nodes[0].driver.command_timeout = 500_us;
  return config;
}

// Resets the function, and the driver notices.
void fail_device(cpu& c, node& n) {
  const std::uint64_t before = n.device().counters().failures.value();
  const std::uint32_t reset = PCI_FUNCTION_RESET;
  c.mmio_write(PCI_CONFIG_WINDOW + PCI_EXPRESS_CONTROL, std::as_bytes(std::span(&reset, 1)));
  while (n.device().counters().failures.value() == before) {
    c.spend(1_us);
    c.sync();
  }
}

void fail_case(const std::function<void(cpu&, node&)>& body) {
  run_case(body, watched_closely());
}

TEST(conformance, TC_L01) {
  fail_case([](cpu& c, node& n) {
    base_case t(c, n);
    process_context second(c, n);
    fail_device(c, n);
    for (process_context* p : {&t.p, &second}) {
      ibv_async_event e{};
      ASSERT_EQ(ibv_get_async_event(c, p->context, &e), 0);
      EXPECT_EQ(e.event_type, IBV_EVENT_DEVICE_FATAL);
      ibv_ack_async_event(&e);
      EXPECT_EQ(ibv_get_async_event(c, p->context, &e), EIO);
    }
  });
}

TEST(conformance, TC_L02) {
  fail_case([](cpu& c, node& n) {
    base_case t(c, n);
    for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(post_receive(c, t.b, 10 + i, {{t.there.addr, 64, t.there.mr->lkey}}), 0);
    ASSERT_EQ(t.send().status, IBV_WC_SUCCESS);
    fail_device(c, n);
    ASSERT_EQ(n.device().open(c), 0);
    for (std::uint64_t i = 1; i < 3; ++i) {
      const auto wc = next_completion(c, t.p.cq, 1_ms);
      ASSERT_TRUE(wc.has_value());
      EXPECT_EQ(wc->wr_id, 10 + i);
      EXPECT_EQ(wc->status, IBV_WC_WR_FLUSH_ERR);
    }
    EXPECT_FALSE(next_completion(c, t.p.cq, 10_us).has_value()) << "each once";
  });
}

TEST(conformance, TC_L03) {
  fail_case([](cpu& c, node& n) {
    base_case t(c, n);
    const auto refused = [&](const char* when) {
      SCOPED_TRACE(when);
      errno = 0;
      EXPECT_EQ(ibv_reg_mr(c, t.p.pd, t.here.addr, 4096, IBV_ACCESS_LOCAL_WRITE), nullptr);
      EXPECT_EQ(errno, EIO);
      errno = 0;
      EXPECT_EQ(ibv_alloc_pd(c, t.p.context), nullptr);
      EXPECT_EQ(errno, EIO);
      errno = 0;
      EXPECT_EQ(ibv_create_cq(c, t.p.context, 16, nullptr, nullptr, 0), nullptr);
      EXPECT_EQ(errno, EIO);
      EXPECT_EQ(t.p.reset(t.a), EIO);
      EXPECT_EQ(post(c, t.a, {.id = 9, .sges = {{t.here.addr, 64, t.here.mr->lkey}}, .remote = t.there.addr}), EIO);
    };
    fail_device(c, n);
    refused("before the device is back");
    ASSERT_EQ(n.device().open(c), 0);
    refused("and after");
  });
}

TEST(conformance, TC_L04) {
  fail_case([](cpu& c, node& n) {
    base_case t(c, n);
    fail_device(c, n);
    EXPECT_EQ(ibv_destroy_qp(c, t.a), 0);
    EXPECT_EQ(ibv_dereg_mr(c, t.here.mr), 0);
    EXPECT_TRUE(t.p.close());
    EXPECT_EQ(t.p.memory.pinned_bytes(), 0U);
  });
}

TEST(conformance, TC_L05) {
  fail_case([](cpu& c, node& n) {
    base_case lost(c, n);
    const std::uint64_t old_address = lost.there.addr;
    const std::uint32_t old_key = lost.there.mr->rkey;
    fail_device(c, n);
    ASSERT_EQ(n.device().open(c), 0);
    process_context p(c, n);
    ibv_qp* const a = p.create_qp();
    ibv_qp* const b = p.create_qp();
    ASSERT_EQ(p.connect(a, p.address_of(b)), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a)), 0);
    const region mine = p.allocate(4096);
    ASSERT_NE(mine.mr->rkey, old_key);
    const std::vector<std::uint8_t> before = lost.p.bytes(old_address, 64);
    EXPECT_EQ(
        complete(c, a, {.id = 1, .sges = {{mine.addr, 64, mine.mr->lkey}}, .remote = old_address, .rkey = old_key}).status,
        IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(lost.p.bytes(old_address, 64), before);
    EXPECT_TRUE(p.close());
    EXPECT_TRUE(lost.p.close());
  });
}

}  // namespace
}  // namespace hcasim::kit
