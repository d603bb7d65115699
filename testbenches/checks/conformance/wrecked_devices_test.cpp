// A failing device as a program sees it [E11]: its event, the end of requests, the results of verbs, the objects still to be
// freed.
#include "firmware/abi/pci_config.h"
#include "testbenches/checks/conformance/window.h"

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

// The device is lost `after` the first of several accesses through a window; its region then goes before the window.
void window_is_lost(cpu& c, node& n, ps after, ibv_wr_opcode opcode) {
  constexpr std::uint32_t lost_bytes = 16 * 1024;
  window_case t(c, n);
  const region r = t.p.allocate(lost_bytes);
  ibv_mw* const mw = t.window(IBV_MW_TYPE_2);
  ASSERT_EQ(t.on_b(mw, mw->rkey + 1, {r.mr, r.addr, lost_bytes, window_rights}).status, IBV_WC_SUCCESS);
  t.p.fill(t.here.addr, lost_bytes, 0x5a);
  for (std::uint64_t i = 0; i < 8; ++i) {
    const request access{opcode, i, {{t.here.addr, lost_bytes, t.here.mr->lkey}}, r.addr, mw->rkey};
    ASSERT_EQ(post(c, t.a, access), 0);
  }
  c.spend(after);
  fail_device(c, n);
  const std::uint32_t old_key = mw->rkey;
  const std::uint32_t old_index = r.mr->lkey >> 8;
  EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0) << "a bound window does not hold it";
  t.p.fill(r.addr, lost_bytes, 0x77);
  const std::vector<std::uint8_t> given_back = t.p.bytes(r.addr, lost_bytes);
  ASSERT_EQ(n.device().open(c), 0);

  window_case next(c, n);
  ibv_mr* again = ibv_reg_mr(c, next.p.pd, next.there.addr, 4096, all_rights);
  for (int i = 0; i < 64 && again->lkey >> 8 != old_index; ++i) {
    ASSERT_EQ(ibv_dereg_mr(c, again), 0);
    again = ibv_reg_mr(c, next.p.pd, next.there.addr, 4096, all_rights);
  }
  ASSERT_EQ(again->lkey >> 8, old_index);
  next.expect_denied([&] { return next.write(next.there.addr, old_key); }, IBV_WC_REM_ACCESS_ERR, next.there.addr);
  EXPECT_EQ(t.p.bytes(r.addr, lost_bytes), given_back) << "no byte comes late";

  ibv_mw* const orphan = next.window(IBV_MW_TYPE_2);
  ASSERT_EQ(next.on_b(orphan, orphan->rkey + 1, {again, next.there.addr, 4096, window_rights}).status, IBV_WC_SUCCESS);
  next.expect_reads(next.there.addr, orphan->rkey);
  EXPECT_EQ(ibv_dereg_mr(c, again), 0);
  next.expect_no_read(next.there.addr, orphan->rkey);
  EXPECT_EQ(ibv_dealloc_mw(c, orphan), 0);
  EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
}

TEST(conformance, a_lost_device_leaves_nothing_of_windows_that_may_be_orphans) {
  system_config config = watched_closely();
  config.nodes[0].hca.key_check.orphan_windows = true;
  config.nodes[0].hca.command_unit.log_mrs = 5;
  run_case(
      [](cpu& c, node& n) {
        for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
          for (ps after{0}; after < 8_us; after += 700_ns) {
            SCOPED_TRACE(after.count());
            window_is_lost(c, n, after, opcode);
          }
        }
      },
      config);
}

}  // namespace
}  // namespace hcasim::kit
