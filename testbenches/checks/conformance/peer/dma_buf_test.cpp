// Group TC-B: regions over dma-bufs [F.7].
#include "models/driver/peer/peer_buffer.h"
#include "testbenches/checks/conformance/peer/peer_script.h"
#include "testbenches/kit/windows.h"

namespace hcasim::kit {
namespace {

constexpr int dma_buf_rights =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

system_config mode(driver::dma_buf_mode m) {
  return configured([m](driver::driver_config& d) { d.dma_buf = m; });
}

// The base case with 256 KiB of GPU memory that the process has a file descriptor of.
struct dma_buf_case : base_case {
  dma_buf_case(cpu& thread, node& n)
      : base_case(thread, n),
        gpu(thread, n),
        va(gpu.memory(p, 256_KiB, peer::placement::scattered)),
        buffer(std::make_shared<peer::peer_buffer>(gpu.owner, n.host, va, 256_KiB)),
        fd(hcax_install_dma_buf(p.context, buffer)) {
    fill_peer(gpu.device, gpu.owner, va, 256_KiB, 7);
  }
  ~dma_buf_case() {
    EXPECT_TRUE(p.close());
    EXPECT_EQ(buffer->pins(), 0U);
    EXPECT_EQ(buffer->maps(), 0U);
    EXPECT_EQ(buffer->importers(), 0U);
    EXPECT_EQ(gpu.core.live(), 0U) << "dma-bufs are no business of the peer clients";
  }
  ibv_mr* reg(std::uint64_t offset, std::uint64_t length, std::uint64_t iova, int access = dma_buf_rights, int of = -2) {
    errno = 0;
    return ibv_reg_dmabuf_mr(c, p.pd, offset, length, iova, of == -2 ? fd : of, access);
  }
  void expect_refused(std::uint64_t offset, std::uint64_t length, std::uint64_t iova, int error, int access = dma_buf_rights,
                      int of = -2) {
    EXPECT_EQ(reg(offset, length, iova, access, of), nullptr);
    EXPECT_EQ(errno, error);
    EXPECT_EQ(buffer->pins(), 0U);
    EXPECT_EQ(buffer->maps(), 0U);
    EXPECT_EQ(buffer->importers(), 0U);
  }
  // 64 bytes where the buffer is now.
  std::vector<std::uint8_t> bytes(std::uint64_t offset) {
    if (!buffer->on_host()) return peer_bytes(gpu.device, gpu.owner, va + offset, 64);
    c.sync();
    std::vector<std::uint8_t> v(64);
    p.n.host.memory_bytes().read(buffer->host_address() + offset, std::as_writable_bytes(std::span(v)));
    return v;
  }
  void expect_alive(std::uint64_t remote, std::uint32_t rkey, std::uint64_t offset) {
    p.fill(here.addr, 64, static_cast<std::uint8_t>(offset + 1));
    EXPECT_EQ(write(remote, rkey).status, IBV_WC_SUCCESS);
    EXPECT_EQ(bytes(offset), p.bytes(here.addr, 64));
  }
  void expect_dead(std::uint64_t remote, std::uint32_t rkey) {
    EXPECT_EQ(write(remote, rkey).status, IBV_WC_REM_ACCESS_ERR);
    reconnect();
    EXPECT_EQ(read(remote, rkey).status, IBV_WC_REM_ACCESS_ERR);
    reconnect();
  }
  // Waits until the importer has the buffer again; with paging the next access brings it.
  void wait_for_map() {
    if (p.n.device().on_demand()) return;
    for (int i = 0; i < 1000 && buffer->maps() == 0; ++i) {
      c.spend(1_us);
      c.sync();
    }
    buffer->reservation().lock(c);
    buffer->reservation().unlock();
  }

  gpu_fixture gpu;
  std::uint64_t va;
  std::shared_ptr<peer::peer_buffer> buffer;
  int fd;
};

PEER_CONFORMANCE(TC_B01) {
  dma_buf_case t(c, n);
  t.expect_refused(0, 256_KiB + 1, 0, EINVAL);
  t.expect_refused(4096, 256_KiB, 4096, EINVAL);
  t.expect_refused(256_KiB, 4096, 0, EINVAL);
  t.expect_refused(~std::uint64_t{0} - 4095, 8192, 0, EINVAL);
  t.expect_refused(4096, ~std::uint64_t{0} - 100, 0, EINVAL);
  t.expect_refused(0, 0, 0, EINVAL);
  t.expect_refused(0, 8192, ~std::uint64_t{0} - 4095, EINVAL);
  t.expect_refused(0, 4096, 0, EBADF, dma_buf_rights, 99);
  t.expect_refused(0, 4096, 0, EBADF, dma_buf_rights, -1);
  ibv_mr* whole = t.reg(0, 256_KiB, 0x10000);
  ASSERT_NE(whole, nullptr);
  t.expect_alive(0x10000 + 256_KiB - 64, whole->rkey, 256_KiB - 64);
  EXPECT_EQ(hcax_close_dma_buf(t.p.context, t.fd), 0);
  EXPECT_EQ(hcax_close_dma_buf(t.p.context, t.fd), EBADF);
  t.expect_alive(0x10000, whole->rkey, 0);  // the region has the buffer, not the descriptor
}

PEER_CONFORMANCE(TC_B02) {
  dma_buf_case t(c, n);
  t.expect_refused(0, 4096, 0x10100, EINVAL);
  t.expect_refused(100, 4096, 0x10000, EINVAL);
  for (const std::uint64_t offset : {std::uint64_t{100}, std::uint64_t{65'000}, 256_KiB - 200}) {
    ibv_mr* mr = t.reg(offset, 200, 0x7000'0000 + offset % 4096);
    ASSERT_NE(mr, nullptr);
    const std::uint64_t iova = 0x7000'0000 + offset % 4096;
    t.expect_alive(iova, mr->rkey, offset);
    t.expect_alive(iova + 136, mr->rkey, offset + 136);
    t.expect_dead(iova - 1, mr->rkey);
    t.expect_dead(iova + 137, mr->rkey);
    EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  }
}

PEER_CONFORMANCE(TC_B03) {
  dma_buf_case t(c, n);
  for (const int wrong : {int{IBV_ACCESS_MW_BIND}, int{IBV_ACCESS_ZERO_BASED}, int{IBV_ACCESS_ON_DEMAND},
                          int{IBV_ACCESS_HUGETLB}, int{IBV_ACCESS_FLUSH_GLOBAL}}) {
    t.expect_refused(0, 4096, 0, EINVAL, dma_buf_rights | wrong);
  }
  t.expect_refused(0, 4096, 0, EINVAL, IBV_ACCESS_REMOTE_WRITE);
  ibv_mr* mr = t.reg(0, 4096, 0, dma_buf_rights | IBV_ACCESS_RELAXED_ORDERING | 1 << 25);
  EXPECT_NE(mr, nullptr) << "optional rights are ignored";
  // Without IBV_ACCESS_MW_BIND, no window can be bound to the region.
  ibv_mw* mw = ibv_alloc_mw(c, t.p.pd, IBV_MW_TYPE_2);
  EXPECT_EQ(kit::bind(c, t.b, mw, mw->rkey + 1, {mr, 0, 64, qp_rights}, {.others = &t.received}).status, IBV_WC_MW_BIND_ERR);
  t.reconnect();
  ibv_mw* type1 = ibv_alloc_mw(c, t.p.pd, IBV_MW_TYPE_1);
  ibv_mw_bind what{1, IBV_SEND_SIGNALED, {mr, 0, 64, qp_rights}};
  EXPECT_EQ(ibv_bind_mw(c, t.b, type1, &what), ENOTSUP);
  EXPECT_EQ(ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, 1), IBV_REREG_MR_ERR_INPUT);
}

TEST(conformance, TC_B05) {
  run_case(
      [](cpu& c, node& n) {
        dma_buf_case t(c, n);
        ibv_mr* mr = t.reg(0, 128_KiB, 0);
        ibv_mr* second = t.reg(64_KiB, 64_KiB, 0);
        ASSERT_TRUE(mr && second);
        EXPECT_EQ(t.buffer->pins(), 2U);
        EXPECT_EQ(t.buffer->evict(c), EBUSY) << "it is pinned";
        t.expect_alive(0, mr->rkey, 0);
        EXPECT_EQ(t.buffer->take_back(c), 0);
        EXPECT_EQ(t.buffer->pins(), 0U);
        EXPECT_EQ(t.buffer->maps(), 0U);
        for_each_piece(t.gpu.owner, t.va, 256_KiB,
                       [&](std::uint64_t offset, std::uint64_t k, std::uint64_t) { t.gpu.monitor.forbid(offset, k); });
        t.expect_dead(0, mr->rkey);
        t.expect_dead(0, second->rkey);
        EXPECT_EQ(t.buffer->take_back(c), 0) << "twice is nothing";
        EXPECT_EQ(t.reg(0, 4096, 0), nullptr) << "it is gone for good";
        EXPECT_EQ(errno, EINVAL);
        EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
        EXPECT_EQ(ibv_dereg_mr(c, second), 0);
        EXPECT_EQ(t.gpu.monitor.late_bytes(), 0U);
      },
      mode(driver::dma_buf_mode::revocable));
}

// The memory goes while WRITEs are under way; and while the region is de-registered.
TEST(conformance, TC_B05_under_traffic_and_deregistration) {
  run_case(
      [](cpu& c, node& n) {
        for (int delay = 0; delay < 12; ++delay) {
          SCOPED_TRACE(delay);
          dma_buf_case t(c, n);
          ibv_mr* mr = t.reg(0, 128_KiB, 0);
          ASSERT_NE(mr, nullptr);
          other_thread owner(n, "owner" + std::to_string(delay), [&](cpu& o) {
            o.spend(delay * 1700_ns);
            EXPECT_EQ(t.buffer->take_back(o), 0);
            o.sync();
            for_each_piece(t.gpu.owner, t.va, 256_KiB,
                           [&](std::uint64_t offset, std::uint64_t k, std::uint64_t) { t.gpu.monitor.forbid(offset, k); });
          });
          if (delay % 2 == 0) {
            while (t.write(0, mr->rkey, 16384).status == IBV_WC_SUCCESS) {
            }
          }
          EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
          owner.join(c);
          EXPECT_EQ(t.gpu.monitor.late_bytes(), 0U);
        }
      },
      mode(driver::dma_buf_mode::revocable));
}

TEST(conformance, TC_B06) {
  run_case(
      [](cpu& c, node& n) {
        dma_buf_case t(c, n);
        ibv_mr* mr = t.reg(0, 128_KiB, 0);
        ASSERT_NE(mr, nullptr);
        EXPECT_EQ(t.buffer->pins(), 1U);
        t.buffer->reservation().lock(c);
        EXPECT_EQ(t.buffer->move_notify(c), 0);
        t.buffer->reservation().unlock();
        EXPECT_EQ(t.buffer->warnings(), 1U);
        EXPECT_EQ(t.buffer->maps(), 1U) << "the mapping is unchanged";
        t.expect_alive(100, mr->rkey, 100);
        EXPECT_EQ(t.buffer->take_back(c), EBUSY) << "it cannot be revoked";
        EXPECT_FALSE(t.buffer->revoked());
        t.expect_alive(200, mr->rkey, 200);
        EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
        EXPECT_EQ(t.buffer->take_back(c), 0);
      },
      mode(driver::dma_buf_mode::pinned));
}

// Moved to host memory and back: the same key, the bytes where they are now.
void moved_and_back(cpu& c, node& n) {
  dma_buf_case t(c, n);
  ibv_mr* mr = t.reg(4096, 128_KiB, 0x10000);
  ASSERT_NE(mr, nullptr);
  const std::uint32_t key = mr->rkey;
  t.expect_alive(0x10000, key, 4096);
  const auto before = t.bytes(70'000);
  EXPECT_EQ(t.buffer->evict(c), 0);
  t.wait_for_map();
  EXPECT_TRUE(t.buffer->on_host());
  EXPECT_EQ(t.bytes(70'000), before) << "what was there went along";
  const std::uint64_t gpu_bytes = t.gpu.monitor.bytes_written() + t.gpu.monitor.bytes_read();
  t.expect_alive(0x10000 + 64_KiB, key, 4096 + 64_KiB);
  EXPECT_EQ(t.gpu.monitor.bytes_written() + t.gpu.monitor.bytes_read(), gpu_bytes) << "not in the GPU";
  EXPECT_EQ(t.buffer->bring_back(c), 0);
  t.wait_for_map();
  EXPECT_EQ(mr->rkey, key);
  t.expect_alive(0x10000 + 128_KiB - 64, key, 4096 + 128_KiB - 64);
  EXPECT_GT(t.gpu.monitor.bytes_written(), 0U);
}

system_config without_paging() {
  system_config s = peer_node();
  s.nodes[0].hca.command_unit.on_demand = false;
  return s;
}

PEER_CONFORMANCE(TC_B07) {
  moved_and_back(c, n);
}
TEST(conformance, TC_B07_without_paging) {
  run_case(moved_and_back, without_paging());
}

void forbid(dma_buf_case& t, bool forbidden) {
  for_each_piece(t.gpu.owner, t.va, 256_KiB, [&](std::uint64_t offset, std::uint64_t k, std::uint64_t) {
    forbidden ? t.gpu.monitor.forbid(offset, k) : t.gpu.monitor.allow(offset, k);
  });
}

std::shared_ptr<peer::dma_fence> begin_move(dma_buf_case& t) {
  auto fence = std::make_shared<peer::dma_fence>();
  t.buffer->reservation().lock(t.c);
  EXPECT_EQ(t.buffer->move_notify(t.c), 0);
  EXPECT_EQ(t.buffer->move_notify(t.c), 0) << "twice is nothing";
  t.buffer->add_fence(fence);
  t.buffer->reservation().unlock();
  forbid(t, true);
  return fence;
}

// No DMA before the exporter's fence, however long that takes: accesses fault, wait, and succeed.
PEER_CONFORMANCE(TC_B07_accesses_wait_for_the_fence) {
  if (!n.device().on_demand()) GTEST_SKIP() << "no on-demand paging";
  dma_buf_case t(c, n);
  ibv_mr* mr = t.reg(0, 128_KiB, 0);
  ASSERT_NE(mr, nullptr);
  for (const char* what : {"write", "read", "send"}) {
    SCOPED_TRACE(what);
    const auto fence = begin_move(t);
    ps signalled{0};
    other_thread exporter(n, "exporter", [&](cpu& o) {
      o.spend(300_us);
      o.sync();
      forbid(t, false);
      signalled = o.time();
      fence->signal();
    });
    const std::string kind = what;
    ibv_wc wc{};
    if (kind == "send") {
      ASSERT_EQ(post_receive(c, t.b, 9, {{t.there.addr, 4096, t.there.mr->lkey}}), 0);
      wc = complete(c, t.a, {.opcode = IBV_WR_SEND, .id = 5, .sges = {{0, 4096, mr->lkey}}}, &t.received);
    } else {
      wc = kind == "read" ? t.read(0, mr->rkey, 4096) : t.write(0, mr->rkey, 4096);
    }
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_GT(signalled, 0_ps) << "it waited";
    EXPECT_EQ(t.gpu.monitor.late_bytes(), 0U);
    exporter.join(c);
  }
  t.expect_alive(0, mr->rkey, 0);
}

// The region is revoked while accesses wait: they are denied.
PEER_CONFORMANCE(TC_B07_revoked_while_accesses_wait) {
  dma_buf_case t(c, n);
  ibv_mr* mr = t.reg(0, 128_KiB, 0);
  ASSERT_NE(mr, nullptr);
  const auto fence = begin_move(t);
  other_thread exporter(n, "exporter", [&](cpu& o) {
    o.spend(100_us);
    o.sync();
    fence->signal();  // the worker maps it, and then
    EXPECT_EQ(t.buffer->take_back(o), 0);
  });
  forbid(t, false);
  t.write(0, mr->rkey, 4096);  // granted before, or denied
  exporter.join(c);
  forbid(t, true);
  t.reconnect();
  t.expect_dead(0, mr->rkey);
  EXPECT_EQ(t.gpu.monitor.late_bytes(), 0U);
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
}

// Without paging they are denied until it is back.
TEST(conformance, TC_B07_the_fence_is_waited_for_without_paging) {
  run_case(
      [](cpu& c, node& n) {
        dma_buf_case t(c, n);
        ibv_mr* mr = t.reg(0, 128_KiB, 0);
        ASSERT_NE(mr, nullptr);
        const auto fence = begin_move(t);
        for (int i = 0; i < 5; ++i) {
          EXPECT_NE(t.write(0, mr->rkey, 4096).status, IBV_WC_SUCCESS);
          t.reconnect();
        }
        EXPECT_EQ(t.gpu.monitor.late_bytes(), 0U);
        forbid(t, false);
        fence->signal();
        c.spend(1_us);
        c.sync();
        t.buffer->reservation().lock(c);  // held by the waiter for the fence
        t.buffer->reservation().unlock();
        t.expect_alive(0, mr->rkey, 0);
      },
      without_paging());
}

// The region is de-registered while waiting for the fence, and while moving.
PEER_CONFORMANCE(TC_B07_deregistration_while_it_moves) {
  for (int delay = 0; delay < 10; ++delay) {
    SCOPED_TRACE(delay);
    dma_buf_case t(c, n);
    ibv_mr* mr = t.reg(0, 128_KiB, 0);
    ASSERT_NE(mr, nullptr);
    other_thread owner(n, "owner" + std::to_string(delay), [&](cpu& o) { EXPECT_EQ(t.buffer->evict(o), 0); });
    c.spend(delay * 3_us);
    c.sync();
    EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
    owner.join(c);
    c.spend(100_us);
    c.sync();
    EXPECT_EQ(t.buffer->maps(), 0U);
  }
}

}  // namespace
}  // namespace hcasim::kit
