// Peer memory goes at every moment of an access [G1, B4.1]: no byte of it is read or written after the call has returned. The
// owner takes the memory away or the region is de-registered; the access has the region's key or a window's.
#include <algorithm>
#include <cstdlib>

#include "testbenches/checks/conformance/peer/peer_script.h"
#include "testbenches/checks/conformance/window.h"

namespace hcasim::kit {
namespace {

enum class loss : std::uint8_t { taken_away, deregistered };

constexpr ps lead = 4_us;  // from the first moment to the call

// One connection; memory, region and window are new for every moment.
struct peer_moments {
  peer_moments(cpu& thread, node& n, loss how, ibv_wr_opcode access, bool by_window)
      : t(thread, n), gpu(thread, n), what(how), opcode(access), bytes(access == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : 2148) {
    if (by_window) mw = ibv_alloc_mw(thread, t.p.pd, IBV_MW_TYPE_1);
  }
  ~peer_moments() { EXPECT_TRUE(t.p.close()); }

  // Returns how long after `begin` the call returned.
  ps run(ps at) {
    cpu& c = t.c;
    const region r = gpu.allocate(t.p, 64_KiB);
    if (mw) {
      EXPECT_EQ(bind_type_1(c, t.b, mw, {r.mr, r.addr, 64_KiB, window_rights}).status, IBV_WC_SUCCESS);
    }
    c.sync();
    const ps begin = c.time();
    ps end{0};
    other_thread owner(t.p.n, "owner" + std::to_string(served + refused), [&](cpu& o) {
      o.spend(lead);
      o.sync();
      const auto place = *gpu.owner.place(r.addr);
      if (what == loss::taken_away) {
        EXPECT_EQ(gpu.free(o, r.addr), 0);
      } else {
        EXPECT_EQ(ibv_dereg_mr(o, r.mr), 0);
        o.sync();
        gpu.monitor.forbid(place.offset, place.bytes);
      }
      end = o.time() - begin;
    });
    c.spend(at);
    const request access{.opcode = opcode,
                         .id = 8,
                         .sges = {{t.here.addr, bytes, t.here.mr->lkey}},
                         .remote = r.addr + 64,
                         .rkey = mw ? mw->rkey : r.mr->rkey};
    const bool granted = complete(c, t.a, access).status == IBV_WC_SUCCESS;
    ++(granted ? served : refused);
    owner.join(c);
    if (!granted) t.reconnect();
    EXPECT_EQ(what == loss::taken_away ? ibv_dereg_mr(c, r.mr) : gpu.free(c, r.addr), 0);
    return end;
  }

  base_case t;
  gpu_fixture gpu;
  loss what;
  ibv_wr_opcode opcode;
  std::uint32_t bytes;
  ibv_mw* mw = nullptr;
  unsigned served = 0;
  unsigned refused = 0;
};

// An access begins every 20 ns, with HCASIM_FULL every 5 ns, from well before the call until it has returned.
void at_every_moment(loss what, bool by_window, bool orphans) {
  const ps step = std::getenv("HCASIM_FULL") ? 5_ns : 20_ns;
  system_config s = peer_node();
  s.nodes[0].hca.key_check.orphan_windows = orphans;
  run_case(
      [&](cpu& c, node& n) {
        for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
          peer_moments m(c, n, what, opcode, by_window);
          ps until = lead;
          for (ps at{0}; at < until; at += step) {
            SCOPED_TRACE(std::to_string(opcode) + " at " + std::to_string(at.count()));
            until = std::max(until, m.run(at));
            ASSERT_EQ(m.gpu.monitor.violation(), "");
          }
          EXPECT_GT(m.served, 10U);
          EXPECT_GT(m.refused, 10U);
        }
      },
      s);
}

TEST(conformance, peer_memory_is_taken_away_at_every_moment) {
  at_every_moment(loss::taken_away, false, false);
}
TEST(conformance, peer_memory_is_taken_away_at_every_moment_of_an_access_through_a_window) {
  at_every_moment(loss::taken_away, true, false);
}
TEST(conformance, peer_memory_is_taken_away_at_every_moment_of_an_access_through_a_window_that_may_be_an_orphan) {
  at_every_moment(loss::taken_away, true, true);
}
TEST(conformance, peer_memory_is_deregistered_at_every_moment) {
  at_every_moment(loss::deregistered, false, false);
}
TEST(conformance, peer_memory_is_deregistered_at_every_moment_of_an_access_through_a_window) {
  at_every_moment(loss::deregistered, true, true);
}

}  // namespace
}  // namespace hcasim::kit
