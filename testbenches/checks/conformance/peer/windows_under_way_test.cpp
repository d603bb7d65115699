// Accesses through a window while the region behind it goes [B4.1, S11, G1]. None touches memory taken away by a returned call:
// no READ, WRITE or atomic, in the host's memory or a peer's.
#include <cstdlib>

#include "models/driver/verbs/x_verbs.h"
#include "testbenches/checks/conformance/peer/peer_script.h"
#include "testbenches/checks/conformance/window.h"
#include "testbenches/kit/grant_monitor.h"

namespace hcasim::kit {
namespace {

constexpr std::uint64_t one_page = 4096;
constexpr std::uint32_t message_bytes = 16384;
constexpr unsigned requests = 16;
// A scarce adapter reads contexts and the map of ICM all the time, so its accesses begin later.
const int slowness = std::getenv("HCASIM_SCARCE") ? 8 : 1;
const ps apart = slowness * 65_ns;
const ps longest = slowness * 2600_ns;

system_config with_orphans(system_config s = world::one_node()) {
  for (node_config& n : s.nodes) n.hca.key_check.orphan_windows = true;
  return s;
}

// Moments at which bytes moved between a call and its return.
struct meetings {
  void note(std::uint64_t before, std::uint64_t after) { met += after > before; }
  ~meetings() { EXPECT_GT(met, 5U) << "the call and the accesses must meet"; }
  unsigned met = 0;
};

// Requests of QP a at `va`, one behind the other.
void shoot(base_case& t, ibv_wr_opcode opcode, std::uint64_t va, std::uint32_t key) {
  const std::uint32_t bytes = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : message_bytes;
  for (unsigned i = 0; i < requests; ++i) {
    const request r{
        .opcode = opcode, .id = 100 + i, .sges = {{t.here.addr, bytes, t.here.mr->lkey}}, .remote = va, .rkey = key};
    ASSERT_EQ(post(t.c, t.a, r), 0);
  }
}

void collect(base_case& t) {
  for (unsigned i = 0; i < requests; ++i)
    ASSERT_TRUE(next_completion(t.c, t.p.cq)) << i << " of " << requests << " have completed";
  t.reconnect();
}

constexpr ibv_wr_opcode uses[] = {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD};

// The region, registered or registered fast, is de-registered at every moment of the accesses.
void region_goes(cpu& c, node& n, ibv_wr_opcode opcode, ibv_mw_type type, bool fast) {
  SCOPED_TRACE(opcode);
  window_case t(c, n);
  meetings m;
  ibv_qp* const kernel = t.p.create_qp({.privileged = true});
  ASSERT_EQ(t.p.connect(kernel, t.p.address_of(kernel)), 0);
  ibv_mw* const mw = t.window(type);
  for (ps after{0}; after < longest; after += apart) {
    SCOPED_TRACE(after.count());
    region r = t.p.allocate(message_bytes);
    if (fast) {
      ASSERT_EQ(ibv_dereg_mr(c, r.mr), 0);
      r.mr = hcax_alloc_fast_mr(c, t.p.pd, message_bytes / one_page);
      ASSERT_EQ(hcax_map_mr(c, r.mr, r.addr, message_bytes), 0);
      ASSERT_EQ(reg_mr(c, kernel, r.mr, r.mr->rkey, all_rights).status, IBV_WC_SUCCESS);
    }
    const ibv_mw_bind_info what{r.mr, r.addr, message_bytes, window_rights};
    const ibv_wc bound = type == IBV_MW_TYPE_1 ? t.on_b_type_1(mw, what) : t.on_b(mw, ibv_inc_rkey(mw->rkey), what);
    ASSERT_EQ(bound.status, IBV_WC_SUCCESS);
    grant_monitor monitor(n.host, t.p.memory, r.addr, message_bytes);
    monitor.allow(r.addr, message_bytes, grant_monitor::readable | grant_monitor::writable);
    shoot(t, opcode, r.addr, mw->rkey);
    c.spend(after);
    c.sync();
    const std::uint64_t before = monitor.bytes_seen();
    ASSERT_EQ(ibv_dereg_mr(c, r.mr), 0);
    c.sync();
    m.note(before, monitor.bytes_seen());
    monitor.forbid(r.addr, message_bytes);
    collect(t);
    ASSERT_EQ(monitor.violation(), "");
    t.p.memory.unmap(c, r.addr);
    if (type == IBV_MW_TYPE_2) {
      ASSERT_EQ(t.invalidate_on_b(mw->rkey).status, IBV_WC_SUCCESS);
    }
  }
}

TEST(conformance, TC_V35) {
  run_case(
      [](cpu& c, node& n) {
        for (const ibv_wr_opcode opcode : uses) region_goes(c, n, opcode, IBV_MW_TYPE_1, false);
      },
      with_orphans());
}
TEST(conformance, TC_V35_fast_region) {
  run_case([](cpu& c, node& n) { region_goes(c, n, IBV_WR_RDMA_READ, IBV_MW_TYPE_2, true); }, with_orphans());
}

// A region is re-registered no sooner than its windows are gone, and nothing is read at its old place.
void region_moves(cpu& c, node& n) {
  window_case t(c, n);
  meetings m;
  ibv_mw* const mw = t.window(IBV_MW_TYPE_1);
  for (ps after{0}; after < longest; after += apart) {
    SCOPED_TRACE(after.count());
    const region r = t.p.allocate(message_bytes);
    const std::uint64_t next = t.p.memory.allocate(message_bytes);
    ASSERT_EQ(t.on_b_type_1(mw, {r.mr, r.addr, message_bytes, window_rights}).status, IBV_WC_SUCCESS);
    grant_monitor monitor(n.host, t.p.memory, r.addr, message_bytes);
    monitor.allow(r.addr, message_bytes, grant_monitor::readable);
    shoot(t, IBV_WR_RDMA_READ, r.addr, mw->rkey);
    c.spend(after);
    ibv_mw_bind nothing{.wr_id = 0x77, .send_flags = IBV_SEND_SIGNALED, .bind_info = {}};
    ASSERT_EQ(ibv_bind_mw(c, t.b, mw, &nothing), 0);
    c.sync();
    const std::uint64_t before = monitor.bytes_seen();
    int error = -1;
    do {
      errno = 0;
      error = ibv_rereg_mr(c, r.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, next, message_bytes, 0);
    } while (error != 0 && errno == EBUSY);
    ASSERT_EQ(error, 0);
    c.sync();
    m.note(before, monitor.bytes_seen());
    monitor.forbid(r.addr, message_bytes);
    ASSERT_TRUE(next_completion(c, t.p.cq)) << "of the bind";
    collect(t);
    ASSERT_EQ(monitor.violation(), "");
    ASSERT_EQ(ibv_dereg_mr(c, r.mr), 0);
  }
  EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
}
CONFORMANCE(a_region_moves_when_no_access_through_its_windows_is_under_way) {
  region_moves(c, n);
}
TEST(conformance, TC_V35_reregistered) {
  run_case(region_moves, with_orphans());
}

std::uint64_t moved(const port_monitor& m) {
  return m.bytes_read() + m.bytes_written();
}

// The driver core calls put_pages when no access to the device's memory is under way.
TEST(conformance, TC_V35_put_pages) {
  run_case(
      [](cpu& c, node& n) {
        for (const ibv_wr_opcode opcode : uses) {
          meetings m;
          for (ps after{0}; after < longest; after += 2 * apart) {
            SCOPED_TRACE(after.count());
            peer_case t(c, n);
            ibv_mw* const mw = ibv_alloc_mw(c, t.p.pd, IBV_MW_TYPE_1);
            const change_options others{.others = &t.received};
            ASSERT_EQ(bind_type_1(c, t.b, mw, {t.mine.mr, t.mine.addr, message_bytes, window_rights}, others).status,
                      IBV_WC_SUCCESS);
            t.gpu.core.observe = [&](cpu& thread, peer::step s, peer::umem&) {
              if (s != peer::step::before_put_pages) return;
              thread.sync();
              t.gpu.monitor.forbid(0, t.gpu.device.memory().size());
            };
            shoot(t, opcode, t.mine.addr, mw->rkey);
            c.spend(after);
            c.sync();
            const std::uint64_t before = moved(t.gpu.monitor);
            ASSERT_EQ(ibv_dereg_mr(c, t.mine.mr), 0);
            m.note(before, moved(t.gpu.monitor));
            t.gpu.core.observe = nullptr;
            collect(t);
            ASSERT_EQ(t.gpu.monitor.violation(), "");
            ASSERT_EQ(ibv_dealloc_mw(c, mw), 0);
            t.gpu.monitor.allow(0, t.gpu.device.memory().size());
          }
        }
      },
      with_orphans(peer_node()));
}

// The owner takes its memory away, whatever becomes of windows when their region goes.
void peer_memory_goes(cpu& c, node& n) {
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE}) {
    meetings m;
    for (ps after{0}; after < longest; after += 2 * apart) {
      SCOPED_TRACE(after.count());
      peer_case t(c, n);
      ibv_mw* const mw = ibv_alloc_mw(c, t.p.pd, IBV_MW_TYPE_1);
      const change_options others{.others = &t.received};
      ASSERT_EQ(bind_type_1(c, t.b, mw, {t.mine.mr, t.mine.addr, message_bytes, window_rights}, others).status, IBV_WC_SUCCESS);
      shoot(t, opcode, t.mine.addr, mw->rkey);
      c.spend(after);
      c.sync();
      const std::uint64_t before = moved(t.gpu.monitor);
      ASSERT_EQ(t.gpu.free(c, t.mine.addr), 0);
      m.note(before, moved(t.gpu.monitor));
      collect(t);
      ASSERT_EQ(t.gpu.monitor.violation(), "");
      ASSERT_EQ(ibv_dealloc_mw(c, mw), 0);
    }
  }
}
PEER_CONFORMANCE(X20_with_accesses_through_windows_under_way) {
  peer_memory_goes(c, n);
}
TEST(conformance, X20_with_accesses_through_windows_that_may_be_orphans) {
  run_case(peer_memory_goes, with_orphans(peer_node()));
}

// A window after an unbind, or after a bind to another segment, no longer holds its segment. Accesses through it may still be
// under way when the segment goes. The segment lies in slow memory to make this happen.
enum class segment_end : std::uint8_t { removed, exchanged };
void segment_goes(cpu& c, node& n, segment_end how, bool rebound) {
  window_case t(c, n);
  gpu_fixture gpu(c, n);
  meetings m;
  ibv_mw* const mw = t.window(IBV_MW_TYPE_1);
  const std::uint64_t offset = gpu.owner.place(gpu.memory(t.p, message_bytes))->offset;
  const x_buffer leaving{node::peer_bar(0) + offset, message_bytes, true};
  const x_buffer kept{t.p.memory.allocate(one_page), one_page};
  const x_buffer coming{t.p.memory.allocate(one_page), one_page};
  x_result space;
  ASSERT_EQ(x_register(c, t.p.pd, nullptr, {&kept, 1}, all_rights, X_EXTEND, &space), 0);
  for (ps after{0}; after < longest; after += 4 * apart) {
    SCOPED_TRACE(after.count());
    x_result r;
    ASSERT_EQ(x_reregister_add(c, t.p.context, space.key, {&leaving, 1}, &r), 0);
    ibv_mr* const mr = x_mr(t.p.context, space.key);
    ASSERT_EQ(t.on_b_type_1(mw, {mr, r.added, message_bytes, window_rights}).status, IBV_WC_SUCCESS);
    gpu.monitor.allow(offset, message_bytes);
    shoot(t, IBV_WR_RDMA_READ, r.added, mw->rkey);
    c.spend(after);
    ibv_mw_bind change{.wr_id = 0x77, .send_flags = IBV_SEND_SIGNALED, .bind_info = {}};
    if (rebound) change.bind_info = {mr, space.start, one_page, window_rights};
    ASSERT_EQ(ibv_bind_mw(c, t.b, mw, &change), 0);
    int error = EBUSY;
    const std::uint32_t handle = r.handle;
    c.sync();
    const std::uint64_t before = moved(gpu.monitor);
    while (error == EBUSY) {  // the window is there until its change takes effect
      error = how == segment_end::removed ? x_deregister_part(c, t.p.context, space.key, handle, &r)
                                          : x_exchange(c, t.p.context, space.key, handle, {&coming, 1}, &r);
    }
    ASSERT_EQ(error, 0);
    c.sync();
    m.note(before, moved(gpu.monitor));
    gpu.monitor.forbid(offset, message_bytes);
    ASSERT_TRUE(next_completion(c, t.p.cq)) << "of the bind";
    collect(t);
    ASSERT_EQ(gpu.monitor.violation(), "");
    ASSERT_EQ(t.on_b_type_1(mw, {mr, 0, 0, 0}).status, IBV_WC_SUCCESS);
    if (how == segment_end::exchanged) {
      ASSERT_EQ(x_deregister_part(c, t.p.context, space.key, r.handle, &r), 0);
    }
  }
  EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
  EXPECT_EQ(x_teardown(c, t.p.context, space.key), 0);
  EXPECT_TRUE(t.p.close());
}

system_config late_peer_node() {
  system_config s = peer_node();
  s.nodes[0].peer[0].read_latency = 50_us;
  return s;
}
#define NEEDS_LATE_MEMORY() \
  if (std::getenv("HCASIM_IOMMU")) GTEST_SKIP() << "a BAR is no memory of the kernel behind an IOMMU"
TEST(conformance, TC_P29) {
  NEEDS_LATE_MEMORY();
  run_case(
      [](cpu& c, node& n) {
        for (const bool rebound : {false, true}) {
          for (const segment_end how : {segment_end::removed, segment_end::exchanged}) segment_goes(c, n, how, rebound);
        }
      },
      late_peer_node());
}
TEST(conformance, TC_P29_orphan_windows) {
  NEEDS_LATE_MEMORY();
  run_case([](cpu& c, node& n) { segment_goes(c, n, segment_end::removed, true); }, with_orphans(late_peer_node()));
}

// Without tag memory the next region has the key of the previous one. The window over this key reaches the memory of the new
// region, or none, and never that of the old one [A10, E11].
TEST(conformance, TC_V36) {
  system_config s = with_orphans();
  s.nodes[0].hca.command_unit.tag_memory = false;
  s.nodes[0].hca.command_unit.log_mrs = 4;
  run_case(
      [](cpu& c, node& n) {
        window_case t(c, n);
        const region other = t.p.allocate(2 * one_page);
        const region gone = t.p.allocate(2 * one_page);
        const std::uint32_t key = gone.mr->rkey;
        hca_mrc before{};
        ASSERT_EQ(hcax_query_mr(c, gone.mr, &before), 0);
        ibv_mw* const mw = t.window(IBV_MW_TYPE_1);
        ASSERT_EQ(t.on_b_type_1(mw, {gone.mr, gone.addr, one_page, window_rights}).status, IBV_WC_SUCCESS);
        t.p.fill(gone.addr, one_page, 3);
        t.expect_reads(gone.addr, mw->rkey);
        ASSERT_EQ(ibv_dereg_mr(c, gone.mr), 0);
        t.expect_no_read(gone.addr, mw->rkey);

        // Its table may become another region's.
        const std::uint64_t next = t.p.memory.allocate(2 * one_page);
        ASSERT_EQ(ibv_rereg_mr(c, other.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, next, 2 * one_page, 0), 0);
        const std::uint64_t fresh = t.p.memory.allocate(2 * one_page);
        ibv_mr* same = nullptr;
        for (int i = 0; i < 16 && (!same || same->rkey != key); ++i) {
          if (same) {
            ASSERT_EQ(ibv_dereg_mr(c, same), 0);
          }
          same = ibv_reg_mr_iova(c, t.p.pd, fresh, 2 * one_page, gone.addr, all_rights);
        }
        ASSERT_EQ(same->rkey, key);
        hca_mrc after{};
        ASSERT_EQ(hcax_query_mr(c, same, &after), 0);
        ASSERT_NE(after.table, before.table);
        t.p.fill(fresh, one_page, 44);
        grant_monitor monitor(n.host, t.p.memory, gone.addr, 2 * one_page);
        EXPECT_EQ(t.read(gone.addr, mw->rkey).status, IBV_WC_SUCCESS);
        EXPECT_EQ(t.p.bytes(t.here.addr, 64), t.p.bytes(fresh, 64));
        EXPECT_EQ(monitor.violation(), "");
        EXPECT_EQ(ibv_dereg_mr(c, same), 0);
        EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
      },
      s);
}

}  // namespace
}  // namespace hcasim::kit
