// The races of peer memory, by their number [X8..X24]. A race is forced at every step of the other side: the driver core
// reports each step, and the invalidation starts there in another thread. It gets time to end or to wait for a lock. After each
// race nothing is mapped, nothing is counted twice, and no byte moves that must not.
#include "testbenches/checks/conformance/peer/peer_script.h"
#include "testbenches/kit/windows.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

// Registers peer memory, lets WRITEs run, and de-registers it; the memory is taken away at step `at`, by another thread.
struct forced {
  peer::step at;
  ps patience;  // how long the step waits for the invalidation

  struct outcome {
    bool registered = false;
    bool revoked = false;  // the key was dead before it was de-registered
    int free_error = 0;
  };

  outcome run(cpu& c, node& n, gpu_fixture& gpu) const {
    outcome o;
    base_case t(c, n);
    const std::uint64_t bytes = 128_KiB;
    const std::uint64_t va = gpu.memory(t.p, bytes);
    std::unique_ptr<other_thread> owner;
    const auto take_away = [&] {
      if (owner) return;
      owner = std::make_unique<other_thread>(n, "owner", [&](cpu& thread) { o.free_error = gpu.free(thread, va); });
    };
    gpu.core.observe = [&](cpu& thread, peer::step s, peer::umem&) {
      if (s != at || owner) return;
      take_away();
      thread.spend(patience);
      thread.sync();
    };
    ibv_mr* mr = ibv_reg_mr(c, t.p.pd, va, bytes, all_rights);
    o.registered = mr != nullptr;
    if (mr) {
      for (bool last = false; !last && !o.revoked;) {
        last = !owner || owner->done();  // once more when the memory has been taken away
        o.revoked = t.write(va, mr->rkey, 1024).status != IBV_WC_SUCCESS;
        if (o.revoked) t.reconnect();
      }
      EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
    }
    take_away();
    owner->join(c);
    gpu.core.observe = nullptr;
    EXPECT_EQ(o.free_error, 0);
    EXPECT_EQ(gpu.monitor.late_bytes(), 0U);
    gpu.expect_balanced();
    EXPECT_TRUE(t.p.close());
    return o;
  }
};

const ps long_enough = 60_us;

void at_every_step(cpu& c, node& n, const peer::owner_options& options, ps patience) {
  gpu_fixture gpu(c, n, options);
  for (std::size_t s = 0; s < peer::steps; ++s) {
    SCOPED_TRACE(s);
    const forced f{static_cast<peer::step>(s), patience};
    const forced::outcome o = f.run(c, n, gpu);
    const bool legacy = n.device().config().peer_semantics == driver::peer_semantics::legacy;
    if (s < static_cast<std::size_t>(peer::step::before_get_pages)) {
      // Gone before or, without waiting, during the pinning: the registration fails or ends revoked.
      EXPECT_TRUE(!o.registered || o.revoked);
    } else if (s <= static_cast<std::size_t>(peer::step::before_activate)) {
      EXPECT_EQ(o.registered, !legacy && s != static_cast<std::size_t>(peer::step::before_get_pages));
      EXPECT_EQ(o.revoked, o.registered);
    } else if (s == static_cast<std::size_t>(peer::step::activated)) {
      EXPECT_TRUE(o.registered && o.revoked);
    } else {
      EXPECT_TRUE(o.registered && !o.revoked);
    }
  }
  EXPECT_EQ(gpu.owner.free_bytes(), n.peer(0).memory().size());
}

// [X8, X9, X10, X13]: before, between and after get_pages, dma_map and activation, and at every step of the de-registration.
PEER_CONFORMANCE(X08_X09_X10_X13_invalidation_at_every_step) {
  at_every_step(c, n, {}, long_enough);
}
PEER_CONFORMANCE(X08_X09_X10_X13_at_every_step_with_a_client_that_unmaps) {
  at_every_step(c, n, {.unmaps = true}, long_enough);
}
TEST(conformance, X08_X09_X10_X13_at_every_step_legacy) {
  run_case([](cpu& c, node& n) { at_every_step(c, n, {}, long_enough); }, legacy_node());
}

PEER_CONFORMANCE(X08_between_get_pages_and_dma_map) {
  gpu_fixture gpu(c, n);
  const auto o = forced{peer::step::got_pages, long_enough}.run(c, n, gpu);
  EXPECT_TRUE(o.registered && o.revoked) << "it waits until the key is live, and takes it away";
}

PEER_CONFORMANCE(X09_between_dma_map_and_activation) {
  gpu_fixture gpu(c, n);
  const auto o = forced{peer::step::mapped, long_enough}.run(c, n, gpu);
  EXPECT_TRUE(o.registered && o.revoked);
}

PEER_CONFORMANCE(X10_just_after_activation) {
  gpu_fixture gpu(c, n);
  const auto o = forced{peer::step::activated, 0_ps}.run(c, n, gpu);
  EXPECT_TRUE(o.registered && o.revoked);
}

// The memory goes while requests are under way: at `moments` moments spread over the stream.
void under_traffic(cpu& c, node& n, ibv_wr_opcode opcode, std::uint32_t bytes, int moments, ps apart) {
  for (int i = 0; i < moments; ++i) {
    SCOPED_TRACE(i);
    peer_case t(c, n);
    write_stream s(t, t.mine.mr->rkey, bytes, t.mine.addr, t.mine.length, opcode);
    for (int k = 0; k < 3; ++k) ASSERT_TRUE(s.step());
    const std::uint64_t va = t.mine.addr;
    ps returned{0};
    other_thread owner(n, "owner" + std::to_string(i), [&](cpu& o) {
      o.spend(i * apart);
      EXPECT_EQ(t.gpu.free(o, va), 0);
      returned = o.time();
    });
    while (s.step()) {
    }
    owner.join(c);
    EXPECT_EQ(s.first_failure(), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(t.gpu.monitor.late_bytes(), 0U);
    EXPECT_LE(t.gpu.monitor.last_access(), returned);
    t.reconnect();
    t.expect_dead(va, t.mine.mr->rkey);
    EXPECT_EQ(t.gpu.count("num_dealloc_mrs"), t.gpu.count("num_alloc_mrs"));
  }
}

PEER_CONFORMANCE(X11_with_inbound_writes) {
  under_traffic(c, n, IBV_WR_RDMA_WRITE, 4096, 12, 170_ns);
}
PEER_CONFORMANCE(X11_with_a_long_inbound_write) {
  under_traffic(c, n, IBV_WR_RDMA_WRITE, 16384, 8, 310_ns);
}
PEER_CONFORMANCE(X12_with_read_responses) {
  under_traffic(c, n, IBV_WR_RDMA_READ, 16384, 12, 270_ns);
}

PEER_CONFORMANCE(X13_with_deregistration_at_random) {
  gpu_fixture gpu(c, n);
  random_stream random(n.host.seed(), "x13");
  process_context p(c, n);
  int before = 0;
  for (int i = 0; i < 60; ++i) {
    const region r = gpu.allocate(p, 64_KiB);
    const std::uint64_t dealloc = gpu.count("num_dealloc_mrs");
    ps owner_done{0};
    other_thread owner(n, "owner" + std::to_string(i), [&](cpu& o) {
      o.spend(ps(static_cast<std::int64_t>(random.below(40'000'000))));
      EXPECT_EQ(gpu.free(o, r.addr), 0);
      owner_done = o.time();
    });
    c.spend(ps(static_cast<std::int64_t>(random.below(20'000'000))));
    EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
    before += owner_done > 0_ps;
    owner.join(c);
    EXPECT_EQ(gpu.count("num_dealloc_mrs"), dealloc + 1) << "one of them unmaps";
    gpu.expect_balanced();
  }
  EXPECT_TRUE(before > 5 && before < 55) << before << ": both orders were seen";
  EXPECT_TRUE(p.close());
}

PEER_CONFORMANCE(X14_twice_at_once) {
  scripted_case t(c, n);
  ibv_mr* mr = t.reg();
  ASSERT_NE(mr, nullptr);
  const auto call = [&](cpu& o) { EXPECT_EQ(t.client.invalidate(o, t.handle, t.client.ticket), 0); };
  other_thread first(n, "first", [&](cpu& o) {
    call(o);
    EXPECT_EQ(t.client.mapped, 0);
  });
  other_thread second(n, "second", [&](cpu& o) {
    call(o);
    EXPECT_EQ(t.client.mapped, 0) << "the second one does not return before the first one is through";
  });
  first.join(c);
  second.join(c);
  EXPECT_EQ(t.count("num_free_callbacks"), 2U);
  EXPECT_EQ(t.count("num_dealloc_mrs"), 1U);
  EXPECT_EQ(t.client.log, (log_type{"acquire", "get_pages", "dma_map", "dma_unmap", "put_pages"}));
}

PEER_CONFORMANCE(X15_stale_ticket_after_deregistration) {
  scripted_case t(c, n);
  ibv_mr* mr = t.reg();
  const std::uint64_t stale = t.client.ticket;
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  mr = t.reg();
  ASSERT_NE(t.client.ticket, stale);
  EXPECT_EQ(t.client.invalidate(c, t.handle, stale), 0);
  EXPECT_EQ(t.client.mapped, 1) << "the new registration is not meant";
  EXPECT_EQ(t.count("num_free_callbacks"), 1U);
}

PEER_CONFORMANCE(X16_the_other_region_is_not_affected) {
  peer_case t(c, n);
  const region other = t.gpu.allocate(t.p, 64_KiB, all_rights, peer::placement::scattered);
  write_stream s(t, other.mr->rkey, 4096, other.addr, other.length);
  for (int k = 0; k < 8; ++k) ASSERT_TRUE(s.step());
  const std::uint64_t va = t.mine.addr;
  other_thread owner(n, "owner", [&](cpu& o) { EXPECT_EQ(t.gpu.free(o, va), 0); });
  while (!owner.done()) ASSERT_TRUE(s.step());
  for (int k = 0; k < 40; ++k) ASSERT_TRUE(s.step());
  EXPECT_EQ(s.first_failure(), IBV_WC_SUCCESS);
}

PEER_CONFORMANCE(X17_unregistration_with_live_regions_blocks) {
  gpu_fixture gpu(c, n);
  process_context p(c, n);
  const region a = gpu.allocate(p, 64_KiB);
  const region b = gpu.allocate(p, 64_KiB);
  other_thread leaver(n, "leaver", [&](cpu& o) { gpu.owner.leave(o); });
  c.spend(20_us);
  c.sync();
  EXPECT_FALSE(leaver.done());
  EXPECT_EQ(gpu.free(c, a.addr), 0) << "the owner can still take memory away";
  EXPECT_EQ(ibv_dereg_mr(c, a.mr), 0);
  EXPECT_FALSE(leaver.done());
  EXPECT_EQ(ibv_dereg_mr(c, b.mr), 0);
  leaver.join(c);
  EXPECT_TRUE(gpu.core.empty());
  gpu.expect_balanced();
  EXPECT_TRUE(p.close());
}

PEER_CONFORMANCE(X18_unregistration_races_acquire) {
  // 0 = while acquire is under way, 1 = after its answer, 2 = before its call.
  for (const int when : {0, 1, 2}) {
    SCOPED_TRACE(when);
    peer::peer_core& core = n.device().peers();
    process_context p(c, n);
    scripted_client s("racer", node::peer_bar(0));
    void* handle = core.ib_register_peer_memory_client(&s, &s.invalidate);
    std::unique_ptr<other_thread> leaver;
    const auto leave = [&](cpu& thread) {
      leaver = std::make_unique<other_thread>(n, "leaver" + std::to_string(when),
                                              [&](cpu& o) { core.ib_unregister_peer_memory_client(o, handle); });
      thread.spend(10_us);
      thread.sync();
    };
    s.on_call = [&](cpu& thread, const std::string& what) {
      if (when == 0 && what == "acquire" && !leaver) leave(thread);
    };
    core.observe = [&](cpu& thread, peer::step st, peer::umem&) {
      if (when == 1 && st == peer::step::acquired && !leaver) leave(thread);
    };
    if (when == 2) leave(c);
    ibv_mr* mr = ibv_reg_mr(c, p.pd, s.va, 4096, all_rights);
    core.observe = nullptr;
    EXPECT_EQ(mr != nullptr, when != 2);
    if (mr) {
      EXPECT_FALSE(leaver->done());
      EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
    }
    leaver->join(c);
    EXPECT_TRUE(s.balanced());
    EXPECT_TRUE(core.empty());
    EXPECT_TRUE(p.close());
  }
}

PEER_CONFORMANCE(X19_the_process_ends_while_its_memory_is_taken_away) {
  for (int delay = 0; delay < 12; ++delay) {
    SCOPED_TRACE(delay);
    gpu_fixture gpu(c, n);
    process_context p(c, n);
    std::vector<region> all;
    for (int i = 0; i < 4; ++i) all.push_back(gpu.allocate(p, 64_KiB));
    other_thread owner(n, "owner" + std::to_string(delay), [&](cpu& o) {
      o.spend(delay * 4_us);
      for (const region& r : all) EXPECT_EQ(gpu.free(o, r.addr), 0);
    });
    EXPECT_TRUE(p.close());
    owner.join(c);
    gpu.expect_balanced();
    EXPECT_EQ(gpu.count("num_alloc_mrs"), 4U);
  }
}

// Windows bound, rebound and invalidated while their region goes.
PEER_CONFORMANCE(X20_while_windows_are_bound) {
  int bound = 0;
  int refused = 0;
  for (int delay = 0; delay < 16; ++delay) {
    SCOPED_TRACE(delay);
    peer_case t(c, n);
    std::vector<ibv_mw*> windows;
    for (int i = 0; i < 8; ++i) windows.push_back(ibv_alloc_mw(c, t.p.pd, i % 2 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1));
    const std::uint64_t va = t.mine.addr;
    ibv_mr* mr = t.mine.mr;
    other_thread owner(n, "owner" + std::to_string(delay), [&](cpu& o) {
      o.spend(delay * 1500_ns);
      EXPECT_EQ(t.gpu.free(o, va), 0);
    });
    for (ibv_mw* mw : windows) {
      const ibv_mw_bind_info what{mr, va, 4096, qp_rights};
      const change_options o{.others = &t.received};
      const ibv_wc wc =
          mw->type == IBV_MW_TYPE_1 ? bind_type_1(c, t.b, mw, what, o) : kit::bind(c, t.b, mw, mw->rkey + 1, what, o);
      if (wc.status == IBV_WC_SUCCESS) {
        ++bound;
      } else {
        EXPECT_EQ(wc.status, IBV_WC_MW_BIND_ERR);
        ++refused;
        t.reconnect();
      }
    }
    owner.join(c);
    for (ibv_mw* mw : windows) {
      EXPECT_EQ(t.read(va, mw->rkey).status, IBV_WC_REM_ACCESS_ERR);
      t.reconnect();
      EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
    }
    EXPECT_EQ(t.gpu.monitor.late_bytes(), 0U);
    EXPECT_EQ(ibv_dereg_mr(c, mr), 0) << "no window is counted";
  }
  EXPECT_GT(bound, 8);
  EXPECT_GT(refused, 8);
}

// A QP may go when its 2A windows were unbound with their region.
TEST(conformance, X20_windows_of_type_2a) {
  system_config s = peer_node();
  s.nodes[0].hca.key_check.window_type2 = window_association::qp;
  run_case(
      [](cpu& c, node& n) {
        peer_case t(c, n);
        ibv_qp* qp = t.p.create_qp();
        EXPECT_EQ(t.p.connect(qp, t.p.address_of(qp)), 0);
        ibv_mw* mw = ibv_alloc_mw(c, t.p.pd, IBV_MW_TYPE_2);
        EXPECT_EQ(kit::bind(c, qp, mw, mw->rkey + 1, {t.mine.mr, t.mine.addr, 4096, qp_rights}).status, IBV_WC_SUCCESS);
        EXPECT_EQ(ibv_destroy_qp(c, qp), EBUSY);
        EXPECT_EQ(t.gpu.free(c, t.mine.addr), 0);
        EXPECT_EQ(ibv_destroy_qp(c, qp), 0);
        EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
      },
      s);
}

PEER_CONFORMANCE(X21_peer_pages_larger_than_the_hosts) {
  peer_case t(c, n);
  random_stream random(n.host.seed(), "x21");
  const std::uint64_t va = t.gpu.memory(t.p, 1_MiB, peer::placement::scattered);
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    const std::uint64_t from = random.below(1_MiB - 64);
    const std::uint64_t bytes = 64 + random.below(1_MiB - from - 63);
    fill_peer(t.gpu.device, t.gpu.owner, va, 1_MiB, static_cast<std::uint8_t>(i));
    const std::uint64_t pages = t.gpu.count("num_reg_pages");
    ibv_mr* mr = ibv_reg_mr(c, t.p.pd, va + from, bytes, all_rights);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(t.gpu.count("num_reg_pages") - pages, (from + bytes + 65535) / 65536 - from / 65536);
    t.expect_alive(va + from, mr->rkey);
    t.expect_alive(va + from + bytes - 64, mr->rkey);
    const auto before = peer_bytes(t.gpu.device, t.gpu.owner, va, 1_MiB);
    for (const std::uint64_t outside : {va + from - 1, va + from + bytes - 63}) {
      EXPECT_EQ(t.write(outside, mr->rkey).status, IBV_WC_REM_ACCESS_ERR);
      t.reconnect();
    }
    EXPECT_EQ(peer_bytes(t.gpu.device, t.gpu.owner, va, 1_MiB), before);
    EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  }
}

// A controller memory buffer has pages of the host's size; another client has smaller ones.
TEST(conformance, X22_peer_pages_of_the_hosts_size_or_smaller) {
  run_case(
      [](cpu& c, node& n) {
        peer_case t(c, n);
        gpu_fixture drive(c, n, {}, 1);
        EXPECT_EQ(drive.owner.page(), 4096U);
        const region r = drive.allocate(t.p, 20'000, all_rights, peer::placement::scattered);
        EXPECT_EQ(drive.count("num_reg_pages"), 5U);
        t.p.fill(t.here.addr, 64, 77);
        EXPECT_EQ(t.write(r.addr + 4090, r.mr->rkey).status, IBV_WC_SUCCESS);
        EXPECT_EQ(peer_bytes(drive.device, drive.owner, r.addr + 4090, 64), t.p.bytes(t.here.addr, 64));
        EXPECT_EQ(drive.free(c, r.addr), 0);
        t.expect_dead(r.addr, r.mr->rkey);
        t.expect_alive(t.mine.addr, t.mine.mr->rkey);
        scripted_client tiny("tiny", node::peer_bar(1) + 1_MiB);
        tiny.page = 512;
        void* handle = t.gpu.core.ib_register_peer_memory_client(&tiny, &tiny.invalidate);
        ibv_mr* mr = ibv_reg_mr(c, t.p.pd, tiny.va + 5000, 3500, all_rights);
        ASSERT_NE(mr, nullptr);
        EXPECT_EQ(t.gpu.core.count("tiny", "num_reg_pages"), 2U) << "counted in pages of the host";
        EXPECT_EQ(t.write(tiny.va + 5000 + 3436, mr->rkey).status, IBV_WC_SUCCESS);
        std::vector<std::uint8_t> got(64);
        drive.device.memory().read(1_MiB + 5000 + 3436, std::as_writable_bytes(std::span(got)));
        EXPECT_EQ(got, t.p.bytes(t.here.addr, 64));
        EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
        EXPECT_EQ(ibv_dereg_mr(c, r.mr), 0);
        t.gpu.core.ib_unregister_peer_memory_client(c, handle);
      },
      peer_node(true));
}

// The target of READ responses is peer memory, and goes.
PEER_CONFORMANCE(X23_while_the_adapters_own_requests_use_it) {
  int good = 0;
  int denied = 0;
  for (int delay = 0; delay < 16; ++delay) {
    SCOPED_TRACE(delay);
    peer_case t(c, n);
    ASSERT_EQ(post(c, t.a,
                   {.opcode = IBV_WR_RDMA_READ,
                    .id = 7,
                    .sges = {{t.mine.addr, 16384, t.mine.mr->lkey}},
                    .remote = t.there.addr,
                    .rkey = t.there.mr->rkey}),
              0);
    const std::uint64_t va = t.mine.addr;
    other_thread owner(n, "owner" + std::to_string(delay), [&](cpu& o) {
      o.spend(delay * 2_us);
      EXPECT_EQ(t.gpu.free(o, va), 0);
    });
    const auto wc = next_completion(c, t.p.cq);
    ASSERT_TRUE(wc.has_value());
    good += wc->status == IBV_WC_SUCCESS;
    denied += wc->status == IBV_WC_LOC_PROT_ERR;
    EXPECT_EQ(t.p.state(t.b), IBV_QPS_RTS) << "the other side is not concerned";
    owner.join(c);
    EXPECT_EQ(t.gpu.monitor.late_bytes(), 0U);
  }
  EXPECT_EQ(good + denied, 16);
  EXPECT_TRUE(good > 0 && denied > 0) << good << " " << denied;
}

PEER_CONFORMANCE(X24_the_range_straddles_peer_and_host_memory) {
  peer_case t(c, n);
  const std::uint64_t end = t.mine.addr + t.mine.length;
  const std::uint64_t host = t.p.memory.allocate(64_KiB, page_policy::scattered, end);
  ASSERT_EQ(host, end) << "host memory right behind the GPU's";
  const std::uint64_t before = t.p.memory.pinned_bytes();
  for (const auto& [from, bytes] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {end - 4096, 8192}, {end - 1, 2}, {t.mine.addr, t.mine.length + 1}, {t.mine.addr - 1, 64}}) {
    EXPECT_EQ(ibv_reg_mr(c, t.p.pd, from, bytes, all_rights), nullptr);
    EXPECT_EQ(errno, EFAULT);
  }
  EXPECT_EQ(t.p.memory.pinned_bytes(), before) << "nothing is held";
  EXPECT_EQ(t.gpu.owner.pinned(), 1U);
  process_context stranger(c, n);
  EXPECT_EQ(ibv_reg_mr(c, stranger.pd, t.mine.addr, 4096, all_rights), nullptr) << "memory of another process";
  EXPECT_EQ(errno, EFAULT);
  EXPECT_TRUE(stranger.close());
}

}  // namespace
}  // namespace hcasim::kit
