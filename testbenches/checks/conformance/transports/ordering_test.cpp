// Group TC-O: order of binds and invalidations against requests of the same and of other QPs [C.7].
#include "testbenches/checks/conformance/window.h"
#include "testbenches/kit/counters.h"

namespace hcasim::kit {
namespace {

request read_of(const window_case& t, std::uint64_t id, std::uint64_t va, std::uint32_t key, std::uint32_t bytes = 4096) {
  return {.opcode = IBV_WR_RDMA_READ, .id = id, .sges = {{t.here.addr, bytes, t.here.mr->lkey}}, .remote = va, .rkey = key};
}

// The target binds, then sends the key on the same queue; the peer uses the key as soon as it arrives.
CONFORMANCE(TC_O01) {
  window_case t(c, n);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  for (int i = 0; i < 50; ++i) {
    const std::uint32_t key = ibv_inc_rkey(mw->rkey);
    ASSERT_EQ(post_receive(c, t.a, 5, {{t.here.addr, 64, t.here.mr->lkey}}), 0);
    ASSERT_EQ(post_bind(c, t.b, mw, key, t.piece(0, 4096), {.id = 1, .flags = 0}), 0);
    ASSERT_EQ(post(c, t.b, {.opcode = IBV_WR_SEND, .id = 2, .sges = {{t.there.addr + 8192, 64, t.there.mr->lkey}}, .flags = 0}),
              0);
    const auto arrived = next_completion(c, t.p.cq);
    ASSERT_TRUE(arrived);
    ASSERT_EQ(arrived->opcode, IBV_WC_RECV);
    EXPECT_EQ(t.write(t.there.addr, key).status, IBV_WC_SUCCESS);
    mw->rkey = key;
    ASSERT_EQ(t.invalidate_on_b(key).status, IBV_WC_SUCCESS);
  }
}

// A bind overtakes the data of an earlier READ, but not its completion.
CONFORMANCE(TC_O02) {
  window_case t(c, n);
  const region big = t.p.allocate(1_MiB);
  const region sink = t.p.allocate(1_MiB);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  ASSERT_EQ(post(c, t.b,
                 {.opcode = IBV_WR_RDMA_READ,
                  .id = 1,
                  .sges = {{sink.addr, 1 << 20, sink.mr->lkey}},
                  .remote = big.addr,
                  .rkey = big.mr->rkey}),
            0);
  ASSERT_EQ(post_bind(c, t.b, mw, mw->rkey + 1, t.piece(0, 4096), {.id = 2}), 0);
  c.spend(10_us);
  c.sync();
  EXPECT_EQ(statistic_of(n.hca.window_unit, "binds"), 1.0) << "it waits for no READ";
  const auto first = next_completion(c, t.p.cq);
  const auto second = next_completion(c, t.p.cq);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->wr_id, 1U);
  EXPECT_EQ(second->wr_id, 2U);
  EXPECT_EQ(second->status, IBV_WC_SUCCESS);
}

CONFORMANCE(TC_O02_with_fence) {
  window_case t(c, n);
  const region big = t.p.allocate(1_MiB);
  const region sink = t.p.allocate(1_MiB);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  ASSERT_EQ(post(c, t.b,
                 {.opcode = IBV_WR_RDMA_READ,
                  .id = 1,
                  .sges = {{sink.addr, 1 << 20, sink.mr->lkey}},
                  .remote = big.addr,
                  .rkey = big.mr->rkey}),
            0);
  ASSERT_EQ(post_bind(c, t.b, mw, mw->rkey + 1, t.piece(0, 4096), {.id = 2, .flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE}), 0);
  c.spend(10_us);
  c.sync();
  EXPECT_EQ(statistic_of(n.hca.window_unit, "binds"), 0.0);
  EXPECT_EQ(wait_for(c, t.b, {.id = 2}).status, IBV_WC_SUCCESS);
}

CONFORMANCE(TC_O03) {
  window_case t(c, n);
  t.p.fill(t.there.addr, 16384, 17);
  const std::uint64_t landing = t.there.addr + 12288;
  ASSERT_EQ(post_receive(c, t.b, 5, {{landing, 4096, t.there.mr->lkey}}), 0);
  request read = read_of(t, 1, t.there.addr, t.there.mr->rkey);
  read.flags = 0;
  ASSERT_EQ(post(c, t.a, read), 0);
  ASSERT_EQ(post(c, t.a,
                 {.opcode = IBV_WR_SEND,
                  .id = 2,
                  .sges = {{t.here.addr, 4096, t.here.mr->lkey}},
                  .flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE}),
            0);
  EXPECT_EQ(wait_for(c, t.a, {.id = 2, .others = &t.received}).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.receive_completion().status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(landing, 4096), t.p.bytes(t.there.addr, 4096)) << "the SEND carries what the READ brought";
}

CONFORMANCE(TC_O04) {
  window_case t(c, n, {.privileged = true});
  ibv_mr* fast = hcax_alloc_fast_mr(c, t.p.pd, 256);
  const std::uint64_t memory = t.p.memory.allocate(512_KiB);
  const region target = t.p.allocate(512_KiB);
  t.p.fill(memory, 512_KiB, 8);
  ASSERT_EQ(hcax_map_mr(c, fast, memory, 512_KiB), 0);
  ASSERT_EQ(kit::reg_mr(c, t.a, fast, fast->lkey + 1, all_rights).status, IBV_WC_SUCCESS);
  const std::uint32_t half = 256 << 10;
  ASSERT_EQ(post(c, t.a, {.id = 1, .sges = {{memory, half, fast->lkey}}, .remote = target.addr, .rkey = target.mr->rkey}), 0);
  ASSERT_EQ(post(c, t.a,
                 {.opcode = IBV_WR_RDMA_READ,
                  .id = 2,
                  .sges = {{memory + half, half, fast->lkey}},
                  .remote = target.addr,
                  .rkey = target.mr->rkey}),
            0);
  ASSERT_EQ(post_local_inv(c, t.a, fast->lkey, {.id = 3}), 0);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const auto wc = next_completion(c, t.p.cq);
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wr_id, id);
    EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
  }
  EXPECT_EQ(t.p.bytes(target.addr, half), t.p.bytes(memory, half));
  EXPECT_EQ(t.p.bytes(memory + half, half), t.p.bytes(target.addr, half));
  EXPECT_EQ(
      complete(c, t.a, {.id = 4, .sges = {{memory, 64, fast->lkey}}, .remote = target.addr, .rkey = target.mr->rkey}).status,
      IBV_WC_LOC_PROT_ERR);
}

// Bytes that were sent before stand and are right; the rest never comes [O8c]. `end` ends the window and returns when that is
// complete.
void cut_a_read_short(window_case& t, const std::function<void(ibv_mw*, std::vector<ibv_wc>&)>& end) {
  const region big = t.p.allocate(1_MiB);
  const region sink = t.p.allocate(1_MiB);
  t.p.fill(big.addr, 1_MiB, 61);
  ibv_mw* mw = t.window(IBV_MW_TYPE_2);
  ASSERT_EQ(t.on_b(mw, mw->rkey + 1, {big.mr, big.addr, 1_MiB, window_rights}).status, IBV_WC_SUCCESS);
  ASSERT_EQ(post(t.c, t.a,
                 {.opcode = IBV_WR_RDMA_READ,
                  .id = 1,
                  .sges = {{sink.addr, 1 << 20, sink.mr->lkey}},
                  .remote = big.addr,
                  .rkey = mw->rkey}),
            0);
  t.c.spend(40_us);
  t.c.sync();
  std::vector<ibv_wc> done;
  end(mw, done);
  const double read_until_then = statistic_of(t.p.n.hca.responder, "payload_read");
  if (done.empty()) done.push_back(wait_for(t.c, t.a, {.id = 1}));
  EXPECT_EQ(done[0].wr_id, 1U);
  EXPECT_EQ(done[0].status, IBV_WC_REM_ACCESS_ERR);
  const auto from = t.p.bytes(big.addr, 1_MiB);
  const auto to = t.p.bytes(sink.addr, 1_MiB);
  std::size_t same = 0;
  while (same < from.size() && from[same] == to[same]) ++same;
  EXPECT_GT(same, 4096U) << "it had begun";
  EXPECT_LT(same, from.size()) << "it was cut off";
  EXPECT_LE(static_cast<double>(same), read_until_then) << "nothing is read after the end of the window";
  const std::size_t whole = (same + 1023) / 1024 * 1024;
  EXPECT_EQ(std::vector<std::uint8_t>(to.begin() + static_cast<std::ptrdiff_t>(whole), to.end()),
            std::vector<std::uint8_t>(to.size() - whole, 0));
}

CONFORMANCE(TC_O06) {
  window_case t(c, n);
  cut_a_read_short(t, [&](ibv_mw* mw, std::vector<ibv_wc>&) { EXPECT_EQ(ibv_dealloc_mw(c, mw), 0); });
}

// By a work request of the QP at which the READ arrives: the READ's failure puts this QP into error. The error may flush the
// work request, its own cause.
CONFORMANCE(TC_O06_by_local_invalidate) {
  window_case t(c, n);
  cut_a_read_short(t, [&](ibv_mw* mw, std::vector<ibv_wc>& done) {
    const ibv_wc_status status = kit::local_inv(c, t.b, mw->rkey, {.others = &done}).status;
    EXPECT_TRUE(status == IBV_WC_SUCCESS || status == IBV_WC_WR_FLUSH_ERR) << status;
  });
}

// The window moves between two pages, each full of one byte value, while READs go on: none sees both.
CONFORMANCE(TC_O09) {
  window_case t(c, n, {.read_depth = 8});
  const region two = t.p.allocate(8192);
  const std::vector<std::byte> ones(4096, std::byte{1});
  const std::vector<std::byte> twos(4096, std::byte{2});
  t.p.memory.write(two.addr, ones);
  t.p.memory.write(two.addr + 4096, twos);
  ibv_mw* mw = t.window(IBV_MW_TYPE_1);
  int good = 0;
  int denied = 0;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t at = two.addr + static_cast<std::uint64_t>(i & 1) * 4096;
    const std::uint64_t next = two.addr + static_cast<std::uint64_t>(~i & 1) * 4096;
    ASSERT_EQ(t.on_b_type_1(mw, {two.mr, at, 4096, IBV_ACCESS_REMOTE_READ}).status, IBV_WC_SUCCESS);
    const std::uint32_t key = mw->rkey;
    ASSERT_EQ(post(c, t.a, read_of(t, 1, at, key)), 0);
    c.spend(ps(static_cast<std::int64_t>(i) * 60'000));
    ibv_mw_bind request{.wr_id = 2, .send_flags = IBV_SEND_SIGNALED, .bind_info = {two.mr, next, 4096, IBV_ACCESS_REMOTE_READ}};
    ASSERT_EQ(ibv_bind_mw(c, t.b, mw, &request), 0);
    std::vector<ibv_wc> done;
    while (done.size() < 2) {
      const auto wc = next_completion(c, t.p.cq);
      ASSERT_TRUE(wc);
      done.push_back(*wc);
    }
    const ibv_wc& read = done[0].wr_id == 1 ? done[0] : done[1];
    if (read.status == IBV_WC_SUCCESS) {
      ++good;
      EXPECT_EQ(t.p.bytes(t.here.addr, 4096), std::vector<std::uint8_t>(4096, static_cast<std::uint8_t>(1 + (i & 1))));
    } else {
      ++denied;
      EXPECT_EQ(read.status, IBV_WC_REM_ACCESS_ERR);
      t.reconnect();
    }
  }
  EXPECT_GT(good, 10);
  EXPECT_GT(denied, 10);
}

CONFORMANCE(TC_O10) {
  window_case t(c, n);
  const ibv_mw* mw = t.bound();
  t.p.store64(t.here.addr, 111);
  t.p.store64(t.here.addr + 8, 333);
  t.p.store64(t.there.addr + 8, 0);
  ASSERT_EQ(post_receive(c, t.b, 5, {}), 0);
  const auto write = [&](std::uint64_t id, std::uint64_t offset) {
    return post(
        c, t.a,
        {.id = id, .sges = {{t.here.addr + offset, 8, t.here.mr->lkey}}, .remote = t.there.addr + offset, .rkey = mw->rkey});
  };
  ASSERT_EQ(write(1, 0), 0);
  ASSERT_EQ(post(c, t.a, {.opcode = IBV_WR_SEND_WITH_INV, .id = 2, .sges = {}, .immediate = mw->rkey}), 0);
  ASSERT_EQ(write(3, 8), 0);
  EXPECT_EQ(wait_for(c, t.a, {.id = 1, .others = &t.received}).status, IBV_WC_SUCCESS);
  EXPECT_EQ(wait_for(c, t.a, {.id = 2, .others = &t.received}).status, IBV_WC_SUCCESS);
  EXPECT_EQ(wait_for(c, t.a, {.id = 3, .others = &t.received}).status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(t.p.load64(t.there.addr), 111U);
  EXPECT_EQ(t.p.load64(t.there.addr + 8), 0U);
}

// Posts a READ, then a SEND invalidating the READ's key; returns how many READs were cut.
unsigned read_and_invalidate(unsigned flags) {
  unsigned cut = 0;
  run_case([&](cpu& c, node& n) {
    constexpr std::uint32_t most = 256 << 10;
    window_case t(c, n);
    const region near = t.p.allocate(most);
    const region far = t.p.allocate(most);
    for (std::uint32_t bytes = 256; bytes <= most; bytes *= 4) {
      SCOPED_TRACE(bytes);
      ibv_mw* const mw = t.window(IBV_MW_TYPE_2);
      ASSERT_EQ(t.on_b(mw, mw->rkey + 1, {far.mr, far.addr, most, window_rights}).status, IBV_WC_SUCCESS);
      t.p.fill(near.addr, most, 1);
      t.p.fill(far.addr, most, static_cast<std::uint8_t>(bytes / 256 + 2));
      const auto untouched = t.p.bytes(near.addr, most);
      ASSERT_EQ(post_receive(c, t.b, 5, {}), 0);
      ASSERT_EQ(post(c, t.a,
                     {.opcode = IBV_WR_RDMA_READ,
                      .id = 1,
                      .sges = {{near.addr, bytes, near.mr->lkey}},
                      .remote = far.addr,
                      .rkey = mw->rkey}),
                0);
      ASSERT_EQ(
          post(
              c, t.a,
              {.opcode = IBV_WR_SEND_WITH_INV, .id = 2, .sges = {}, .flags = IBV_SEND_SIGNALED | flags, .immediate = mw->rkey}),
          0);
      const ibv_wc_status read = wait_for(c, t.a, {.id = 1, .others = &t.received}).status;
      const ibv_wc_status send = wait_for(c, t.a, {.id = 2, .others = &t.received}).status;
      const auto landed = t.p.bytes(near.addr, most);
      const auto sent = t.p.bytes(far.addr, most);
      std::size_t right = 0;
      while (right < bytes && landed[right] == sent[right]) ++right;
      if (read == IBV_WC_SUCCESS) {
        EXPECT_EQ(right, bytes);
        EXPECT_EQ(send, IBV_WC_SUCCESS);
      } else {
        ++cut;
        EXPECT_EQ(read, IBV_WC_REM_ACCESS_ERR);
        EXPECT_EQ(send, IBV_WC_WR_FLUSH_ERR);
        EXPECT_TRUE(std::equal(landed.begin() + static_cast<std::ptrdiff_t>(right), landed.end(),
                               untouched.begin() + static_cast<std::ptrdiff_t>(right)))
            << "a response behind the one that was refused";
      }
      t.reconnect();
      t.expect_no_read(far.addr, mw->rkey);
      EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
    }
  });
  return cut;
}

TEST(conformance, TC_O11_unfenced) {
  EXPECT_GT(read_and_invalidate(0), 0U) << "a READ does not hold back what comes behind it";
}
TEST(conformance, TC_O11) {
  EXPECT_EQ(read_and_invalidate(IBV_SEND_FENCE), 0U);
}

}  // namespace
}  // namespace hcasim::kit
