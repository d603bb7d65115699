// Group TC-F: memory that is taken away [F].
#include "testbenches/checks/conformance/peer/peer_script.h"
#include "testbenches/kit/windows.h"

namespace hcasim::kit {
namespace {

PEER_CONFORMANCE(TC_F08) {
  peer_case t(c, n);
  write_stream s(t, t.mine.mr->rkey, 4096, t.mine.addr, t.mine.length);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(s.step());
  ps returned{0};
  other_thread owner(n, "owner", [&](cpu& o) {
    EXPECT_EQ(t.gpu.free(o, t.mine.addr), 0);
    returned = o.time();
  });
  while (s.step()) {
  }
  owner.join(c);
  EXPECT_EQ(s.first_failure(), IBV_WC_REM_ACCESS_ERR);
  EXPECT_GT(s.done(), 20U);
  EXPECT_GT(returned, t.gpu.monitor.last_access()) << "nothing moves once the callback has returned";
  t.reconnect();
  t.expect_dead(t.mine.addr, t.mine.mr->rkey);
  EXPECT_EQ(t.gpu.monitor.late_bytes(), 0U);
  EXPECT_EQ(t.gpu.count("num_free_callbacks"), 1U);
}

PEER_CONFORMANCE(TC_F09) {
  peer_case t(c, n);
  log_type calls;
  t.gpu.owner.observe = [&](cpu&, const char* what) { calls.emplace_back(what); };
  EXPECT_EQ(t.gpu.free(c, t.mine.addr), 0);
  EXPECT_EQ(calls, (log_type{"dma_unmap", "put_pages"}));
  EXPECT_EQ(t.gpu.count("num_dealloc_mrs"), 1U);
  hca_mrc m{};
  EXPECT_EQ(hcax_query_mr(c, t.mine.mr, &m), 0) << "the region is still there";
  EXPECT_EQ(ibv_dereg_mr(c, t.mine.mr), 0);
  EXPECT_EQ(calls, (log_type{"dma_unmap", "put_pages", "release"})) << "not unmapped twice";
  EXPECT_EQ(t.gpu.count("num_dealloc_mrs"), 1U);
  EXPECT_EQ(t.gpu.owner.free_bytes(), n.peer(0).memory().size());
}

// The key is not live yet: the invalidation waits for the registration, then takes the memory away.
PEER_CONFORMANCE(TC_F10) {
  scripted_case t(c, n);
  ps invalidated{0};
  std::unique_ptr<other_thread> owner;
  t.client.on_call = [&](cpu&, const std::string& what) {
    if (what != "get_pages") return;
    owner = std::make_unique<other_thread>(n, "owner", [&](cpu& o) {
      EXPECT_EQ(t.client.invalidate(o, t.handle, t.client.ticket), 0);
      invalidated = o.time();
      EXPECT_EQ(t.client.mapped, 0) << "it has been unmapped";
    });
  };
  ps live{0};
  t.core.observe = [&](cpu& o, peer::step s, peer::umem&) {
    if (s == peer::step::activated) live = o.time();
  };
  ibv_mr* mr = t.reg();
  ASSERT_NE(mr, nullptr);
  owner->join(c);
  t.core.observe = nullptr;
  EXPECT_GT(live, 0_ps);
  EXPECT_GT(invalidated, live);
  hca_mrc m{};
  EXPECT_EQ(hcax_query_mr(c, mr, &m), 0);
  EXPECT_EQ(m.state, HCA_MRC_FREE) << "revoked";
  EXPECT_EQ(t.count("num_dealloc_mrs"), 1U);
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
}

// The rule of 2014: the invalidation returns at once, and the registration fails.
TEST(conformance, TC_F10_switch_legacy) {
  run_case(
      [](cpu& c, node& n) {
        scripted_case t(c, n);
        t.client.on_call = [&](cpu& o, const std::string& what) {
          if (what != "dma_map") return;
          EXPECT_EQ(t.client.invalidate(o, t.handle, t.client.ticket), 0);
        };
        t.expect_refused(EAGAIN);
        EXPECT_EQ(t.client.log, (log_type{"acquire", "get_pages", "dma_map", "dma_unmap", "put_pages", "release"}));
        EXPECT_EQ(t.count("num_free_callbacks"), 1U);
      },
      legacy_node());
}

PEER_CONFORMANCE(TC_F12) {
  scripted_case t(c, n);
  ibv_mr* mr = t.reg();
  ASSERT_NE(mr, nullptr);
  const std::uint64_t ticket = t.client.ticket;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(t.client.invalidate(c, t.handle, ticket), 0);
    EXPECT_EQ(t.count("num_free_callbacks"), i);
    EXPECT_EQ(t.count("num_dealloc_mrs"), 1U);
    EXPECT_EQ(t.client.log, (log_type{"acquire", "get_pages", "dma_map", "dma_unmap", "put_pages"}));
  }
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  for (const std::uint64_t stale : {ticket, ticket + 1000, std::uint64_t{0}, std::uint64_t{0xffffffff}, ~std::uint64_t{0}}) {
    EXPECT_EQ(t.client.invalidate(c, t.handle, stale), 0);
  }
  EXPECT_EQ(t.count("num_free_callbacks"), 8U);
  EXPECT_EQ(t.count("num_dealloc_mrs"), 1U);
}

PEER_CONFORMANCE(TC_F13) {
  peer_case t(c, n);
  const region other = t.gpu.allocate(t.p, 64_KiB);
  const std::uint64_t va = t.mine.addr;
  ibv_mr* same_memory = ibv_reg_mr(c, t.p.pd, other.addr, other.length, all_rights);
  EXPECT_EQ(t.gpu.free(c, va), 0);
  t.expect_dead(va, t.mine.mr->rkey);
  t.expect_alive(other.addr, other.mr->rkey);
  t.expect_alive(other.addr + 100, same_memory->rkey);
  EXPECT_EQ(t.gpu.count("num_dealloc_mrs"), 1U);
}

PEER_CONFORMANCE(TC_F14) {
  scripted_case t(c, n);
  ibv_mr* mr = t.reg();
  ASSERT_NE(mr, nullptr);
  scripted_client second("second", node::peer_bar(0));
  ps gone{0};
  other_thread leaver(n, "leaver", [&](cpu& o) {
    t.core.ib_unregister_peer_memory_client(o, t.handle);
    gone = o.time();
  });
  c.spend(50_us);
  c.sync();
  EXPECT_FALSE(leaver.done()) << "a registration is left";
  EXPECT_EQ(t.reg(4096), nullptr) << "it is not asked any more";
  EXPECT_EQ(errno, EFAULT);
  const ps before = c.time();
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  leaver.join(c);
  EXPECT_GE(gone, before);
  const log_type calls = t.client.log;
  EXPECT_EQ(calls.back(), "release");
  EXPECT_EQ(t.reg(4096), nullptr);
  EXPECT_EQ(t.client.log, calls) << "no callback afterwards";
  EXPECT_EQ(t.client.invalidate(c, t.handle, t.client.ticket), EINVAL) << "no such client";
  EXPECT_EQ(t.core.read("scripted", "num_dealloc_mrs"), "1") << "what it counted can still be read";
}

PEER_CONFORMANCE(TC_F17) {
  peer_case t(c, n);
  ibv_mw* type1 = ibv_alloc_mw(c, t.p.pd, IBV_MW_TYPE_1);
  ibv_mw* type2 = ibv_alloc_mw(c, t.p.pd, IBV_MW_TYPE_2);
  ibv_mw* elsewhere = ibv_alloc_mw(c, t.p.pd, IBV_MW_TYPE_2);
  ASSERT_TRUE(type1 && type2 && elsewhere);
  const unsigned rights = qp_rights;
  const change_options o{.others = &t.received};
  EXPECT_EQ(bind_type_1(c, t.b, type1, {t.mine.mr, t.mine.addr, 4096, rights}, o).status, IBV_WC_SUCCESS);
  EXPECT_EQ(kit::bind(c, t.b, type2, type2->rkey + 1, {t.mine.mr, t.mine.addr + 4096, 4096, rights}, o).status, IBV_WC_SUCCESS);
  EXPECT_EQ(kit::bind(c, t.b, elsewhere, elsewhere->rkey + 1, {t.there.mr, t.there.addr, 4096, rights}, o).status,
            IBV_WC_SUCCESS);
  t.expect_alive(t.mine.addr, type1->rkey);
  t.expect_alive(t.mine.addr + 4096, type2->rkey);
  const std::uint64_t va = t.mine.addr;
  EXPECT_EQ(ibv_dereg_mr(c, t.mine.mr), EBUSY) << "windows are bound";
  EXPECT_EQ(t.gpu.free(c, va), 0) << "the owner does not ask for windows";
  t.expect_dead(va, type1->rkey);
  t.expect_dead(va + 4096, type2->rkey);
  t.expect_dead(va, t.mine.mr->rkey);
  EXPECT_EQ(t.read(t.there.addr, elsewhere->rkey).status, IBV_WC_SUCCESS) << "a window of another region stays";
  // Unbound windows can be used again, and everything goes in any order.
  EXPECT_EQ(kit::bind(c, t.b, type2, type2->rkey + 1, {t.there.mr, t.there.addr, 4096, rights}, o).status, IBV_WC_SUCCESS);
  EXPECT_EQ(bind_type_1(c, t.b, type1, {t.there.mr, t.there.addr, 4096, rights}, o).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.read(t.there.addr, type1->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.read(t.there.addr, type2->rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(c, t.mine.mr), 0);
  EXPECT_EQ(ibv_dealloc_mw(c, type1), 0);
  EXPECT_EQ(ibv_dealloc_mw(c, type2), 0);
  EXPECT_EQ(ibv_dealloc_mw(c, elsewhere), 0);
}

PEER_CONFORMANCE(a_bind_to_memory_that_was_taken_away_is_refused) {
  peer_case t(c, n);
  ibv_mw* mw = ibv_alloc_mw(c, t.p.pd, IBV_MW_TYPE_2);
  const std::uint64_t va = t.mine.addr;
  EXPECT_EQ(t.gpu.free(c, va), 0);
  EXPECT_EQ(kit::bind(c, t.b, mw, mw->rkey + 1, {t.mine.mr, va, 4096, qp_rights}, {.others = &t.received}).status,
            IBV_WC_MW_BIND_ERR);
  t.reconnect();
  hca_mrc m{};
  EXPECT_EQ(hcax_query_mr(c, t.mine.mr, &m), 0);
  EXPECT_EQ(m.parent, 0U) << "nothing is counted at it";
  EXPECT_EQ(ibv_dereg_mr(c, t.mine.mr), 0);
}

// Gathers from peer memory are on their way: each is sent whole, or fails and nothing more goes; and nothing is read
// afterwards.
PEER_CONFORMANCE(TC_F18) {
  constexpr std::uint64_t sends = 48;
  int sent = 0;
  int denied = 0;
  for (int delay = 0; delay < 16; ++delay) {
    peer_case t(c, n);
    const std::uint32_t bytes = 16384;
    const auto content = t.there_bytes(bytes);
    for (std::uint64_t i = 0; i < sends; ++i) {
      ASSERT_EQ(post_receive(c, t.b, 100 + i, {{t.there.addr, bytes, t.there.mr->lkey}}), 0);
    }
    for (std::uint64_t i = 0; i < sends; ++i) {
      ASSERT_EQ(post(c, t.a, {.opcode = IBV_WR_SEND, .id = i, .sges = {{t.mine.addr, bytes, t.mine.mr->lkey}}}), 0);
    }
    const std::uint64_t va = t.mine.addr;
    other_thread owner(n, "owner" + std::to_string(delay), [&](cpu& o) {
      o.spend(delay * 2_us);
      EXPECT_EQ(t.gpu.free(o, va), 0);
    });
    bool failed = false;
    for (std::uint64_t id = 0; id < sends;) {
      const auto wc = next_completion(c, t.p.cq);
      ASSERT_TRUE(wc.has_value());
      if (wc->qp_num != t.a->qp_num) continue;
      EXPECT_EQ(wc->wr_id, id++);
      EXPECT_EQ(wc->status, failed ? IBV_WC_WR_FLUSH_ERR : wc->status == IBV_WC_SUCCESS ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
      sent += wc->status == IBV_WC_SUCCESS;
      denied += wc->status == IBV_WC_LOC_PROT_ERR;
      failed |= wc->status != IBV_WC_SUCCESS;
      if (wc->status == IBV_WC_SUCCESS) {
        EXPECT_EQ(t.p.bytes(t.there.addr, bytes), content);
      }
    }
    owner.join(c);
    EXPECT_EQ(t.gpu.monitor.late_bytes(), 0U);
  }
  EXPECT_GT(sent, 0);
  EXPECT_GT(denied, 0);
}

PEER_CONFORMANCE(TC_F19) {
  peer_case t(c, n);
  const int flags[] = {IBV_REREG_MR_CHANGE_ACCESS, IBV_REREG_MR_CHANGE_PD, IBV_REREG_MR_CHANGE_TRANSLATION};
  for (const int flag : flags) {
    const region r = t.gpu.allocate(t.p, 64_KiB);
    EXPECT_EQ(
        ibv_rereg_mr(c, r.mr, flag, t.p.pd, flag == IBV_REREG_MR_CHANGE_TRANSLATION ? t.here.addr : 0,
                     flag == IBV_REREG_MR_CHANGE_TRANSLATION ? 4096 : 0, flag == IBV_REREG_MR_CHANGE_ACCESS ? all_rights : 0),
        IBV_REREG_MR_ERR_CMD);
    EXPECT_EQ(errno, EOPNOTSUPP);
    t.expect_dead(r.addr, r.mr->rkey);  // after -4 it must not be used (failed_rereg = revoke)
    EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
    EXPECT_EQ(t.gpu.free(c, r.addr), 0);
  }
  // Nor can a region of host memory be moved there.
  EXPECT_EQ(ibv_rereg_mr(c, t.here.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, t.mine.addr, 4096, 0), IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EFAULT);
}

TEST(conformance, TC_F19_switch_failed_rereg_keep) {
  run_case(
      [](cpu& c, node& n) {
        peer_case t(c, n);
        EXPECT_EQ(ibv_rereg_mr(c, t.mine.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, all_rights), IBV_REREG_MR_ERR_CMD);
        EXPECT_EQ(errno, EOPNOTSUPP);
        t.expect_alive(t.mine.addr, t.mine.mr->rkey);
      },
      configured([](driver::driver_config& d) { d.failed_rereg = driver::failed_rereg_policy::keep; }));
}

}  // namespace
}  // namespace hcasim::kit
