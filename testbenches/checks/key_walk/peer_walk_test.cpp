// Peer memory at random: registrations over one arena of a GPU's memory, windows on them, accesses through live and dead keys.
// The owner takes memory away between two accesses and in the middle of them. Every verdict is compared with a list of grants.
// The monitor at the device's port checks that no byte outside is touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "testbenches/checks/conformance/peer/peer_script.h"
#include "testbenches/kit/grant_monitor.h"
#include "testbenches/kit/windows.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

struct grant {
  ibv_mr* mr = nullptr;
  ibv_mw* window = nullptr;  // bound over the same bytes
  std::size_t block = 0;
  std::uint64_t va = 0;
  std::uint64_t bytes = 0;
  int access = 0;
  bool live = true;
};

// The arena is made of blocks, each an allocation that may be freed and made again.
class peer_walk {
 public:
  peer_walk(cpu& c, node& n, std::uint64_t seed)
      : t_(c, n), n_(n), gpu_(n.host, node::peer_bar(0), "gpu0", {.allocate_call = 0_ps}), random_(seed, "peer_walk") {
    EXPECT_EQ(gpu_.open(c), 0);
    EXPECT_TRUE(gpu_.join(n.device().peers()));
    blocks_.resize(6);
    for (std::size_t i = 0; i < blocks_.size(); ++i) renew(i);
  }
  ~peer_walk() {
    for (grant& g : grants_) end(g);
    EXPECT_TRUE(t_.p.close());
    monitors_.clear();
    gpu_.leave(t_.c);
    const auto& core = n_.device().peers();
    EXPECT_EQ(core.live(), 0U);
    EXPECT_EQ(core.count("gpu0", "num_alloc_mrs"), core.count("gpu0", "num_dealloc_mrs"));
    EXPECT_EQ(core.count("gpu0", "num_reg_bytes"), core.count("gpu0", "num_dereg_bytes"));
    EXPECT_EQ(core.count("gpu0", "num_reg_pages"), core.count("gpu0", "num_dereg_pages"));
  }

  void step() {
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2:
        return add();
      case 3:
        return remove();
      case 4:
        return take_away(false);
      case 5:
        return take_away(true);
      default:
        return access();
    }
  }
  std::uint64_t granted = 0;
  std::uint64_t denied = 0;
  std::uint64_t taken = 0;
  std::uint64_t raced = 0;

 private:
  static constexpr std::uint64_t block_bytes = 192_KiB;
  struct block {
    std::uint64_t va = 0;
  };

  // All blocks' pages lie in one stretch of the device's memory, which the monitor watches.
  void renew(std::size_t i) {
    block& b = blocks_[i];
    b.va = gpu_.allocate(t_.c, t_.p.memory, block_bytes,
                         random_.below(2) ? peer::placement::contiguous : peer::placement::scattered);
    ASSERT_NE(b.va, 0U);
    watch();
  }
  // Watches the bytes of live grants; others must not be touched.
  void watch() {
    monitors_.clear();
    monitors_.push_back(std::make_unique<grant_monitor>(n_.peer(0), 0, arena, [](std::uint64_t at) { return at; }));
    for (const grant& g : grants_) allow(g);
  }
  void allow(const grant& g) {
    if (!g.live) return;
    for_each_piece(gpu_, g.va, g.bytes, [&](std::uint64_t offset, std::uint64_t n, std::uint64_t) {
      ASSERT_LE(offset + n, arena);
      const bool writes = g.access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
      const bool reads = g.access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
      monitors_.front()->allow(
          offset, n, static_cast<std::uint8_t>((reads ? grant_monitor::readable : 0) | (writes ? grant_monitor::writable : 0)));
    });
  }
  void settle() {
    ASSERT_EQ(monitors_.front()->violation(), "");
    monitors_.front()->forbid_all();
    for (const grant& g : grants_) allow(g);
  }

  void add() {
    if (grants_.size() > 12) return remove();
    grant g;
    g.block = random_.below(blocks_.size());
    const std::uint64_t from = random_.below(block_bytes - 1);
    g.va = blocks_[g.block].va + from;
    g.bytes = 1 + random_.below(block_bytes - from);
    const int rights[] = {IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_ATOMIC};
    for (const int r : rights) g.access |= random_.below(3) != 0 ? r : 0;
    g.mr = ibv_reg_mr(t_.c, t_.p.pd, g.va, g.bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | g.access);
    ASSERT_NE(g.mr, nullptr) << errno;
    if (random_.below(3) == 0) {
      g.window = ibv_alloc_mw(t_.c, t_.p.pd, random_.below(2) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
      const ibv_mw_bind_info what{g.mr, g.va, g.bytes, static_cast<unsigned>(g.access)};
      const change_options o{.others = &t_.received};
      const ibv_wc wc = g.window->type == IBV_MW_TYPE_1 ? bind_type_1(t_.c, t_.b, g.window, what, o)
                                                        : kit::bind(t_.c, t_.b, g.window, g.window->rkey + 1, what, o);
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
    }
    grants_.push_back(g);
    settle();
  }

  void end(grant& g) {
    if (g.window) {
      EXPECT_EQ(ibv_dealloc_mw(t_.c, g.window), 0);
    }
    EXPECT_EQ(ibv_dereg_mr(t_.c, g.mr), 0);
    g.live = false;
  }
  void remove() {
    if (grants_.empty()) return;
    const std::size_t i = random_.below(grants_.size());
    end(grants_[i]);
    grants_.erase(grants_.begin() + static_cast<std::ptrdiff_t>(i));
    settle();
  }

  // `race`: while WRITEs and READs of one of its grants are under way.
  void take_away(bool race) {
    const std::size_t i = random_.below(blocks_.size());
    const std::uint64_t va = blocks_[i].va;
    const auto user =
        std::find_if(grants_.begin(), grants_.end(), [i](const grant& g) { return g.block == i && g.live && g.bytes > 4096; });
    int error = -1;
    if (race && user != grants_.end() && (user->access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE))) {
      const bool reads = (user->access & IBV_ACCESS_REMOTE_READ) != 0;
      const std::uint32_t key = user->window && random_.below(2) ? user->window->rkey : user->mr->rkey;
      const ps delay = ps(static_cast<std::int64_t>(random_.below(30'000'000)));
      // The owner's thread says at once, in simulated time, that no access may come any more.
      other_thread owner(n_, "owner", [&](cpu& o) {
        o.spend(delay);
        error = gpu_.free(o, va);
        o.sync();
        gone(i);
      });
      ibv_wc wc{};
      do {
        wc = reads ? t_.read(user->va, key, 4096) : t_.write(user->va, key, 4096);
      } while (wc.status == IBV_WC_SUCCESS);
      EXPECT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
      owner.join(t_.c);
      t_.reconnect();
      ++raced;
    } else {
      error = gpu_.free(t_.c, va);
      t_.c.sync();
      gone(i);
    }
    ASSERT_EQ(error, 0);
    ++taken;
    renew(i);
  }
  void gone(std::size_t block_index) {
    for (grant& g : grants_) g.live = g.live && g.block != block_index;
    EXPECT_EQ(monitors_.front()->violation(), "");
    monitors_.front()->forbid_all();
    for (const grant& g : grants_) {
      if (g.live) allow(g);
    }
  }

  void access() {
    if (grants_.empty()) return add();
    const grant& g = grants_[random_.below(grants_.size())];
    const std::uint32_t key = g.window && random_.below(2) ? g.window->rkey : g.mr->rkey;
    const auto bytes = static_cast<std::uint32_t>(1 + random_.below(12'000));
    std::uint64_t va = g.va + random_.below(g.bytes);
    if (random_.below(8) == 0) va -= 1 + random_.below(64);
    const unsigned what = static_cast<unsigned>(random_.below(3));
    if (what == 2) va = align_down(va, 8);
    const std::uint64_t n = what == 2 ? 8 : bytes;
    const int right = what == 0 ? IBV_ACCESS_REMOTE_READ : what == 1 ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_ATOMIC;
    const bool good = g.live && (g.access & right) && va >= g.va && n <= g.bytes && va - g.va <= g.bytes - n;
    t_.p.fill(t_.here.addr, 12'288, static_cast<std::uint8_t>(random_.below(256)));
    std::vector<std::uint8_t> before;
    if (g.live && good) before = peer_bytes(n_.peer(0), gpu_, va, n);
    const ibv_wc wc = what == 0 ? t_.read(va, key, bytes) : what == 1 ? t_.write(va, key, bytes) : t_.add(va, key, 3);
    ASSERT_EQ(wc.status, good ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR) << what << " " << g.live << " " << g.access;
    if (good) {
      const auto after = peer_bytes(n_.peer(0), gpu_, va, n);
      const auto here = t_.p.bytes(t_.here.addr, n);
      if (what == 1) {
        EXPECT_EQ(after, here);
      } else {
        EXPECT_EQ(here, before);
      }
      ++granted;
    } else {
      ++denied;
      t_.reconnect();
    }
    settle();
  }

  static constexpr std::uint64_t arena = 4_MiB;  // bytes of the device's memory, from 0 on
  base_case t_;
  node& n_;
  peer::memory_owner gpu_;
  random_stream random_;
  std::vector<block> blocks_;
  std::vector<grant> grants_;
  std::vector<std::unique_ptr<grant_monitor>> monitors_;
};

void walk(std::uint64_t seed, bool with_switch) {
  system_config s = peer_node();
  s.nodes[0].peer[0].memory = 4_MiB;
  s.nodes[0].pcie.has_switch = with_switch;
  run_case(
      [seed](cpu& c, node& n) {
        peer_walk w(c, n, seed);
        for (int i = 0; i < 300 && !::testing::Test::HasFatalFailure(); ++i) w.step();
        EXPECT_GT(w.granted, 20U);
        EXPECT_GT(w.denied, 20U);
        EXPECT_GT(w.taken, 10U);
        EXPECT_GT(w.raced, 1U);
      },
      s);
}

TEST(peer_walk, behind_root_ports_1) {
  walk(1, false);
}
TEST(peer_walk, behind_root_ports_2) {
  walk(2, false);
}
TEST(peer_walk, behind_one_switch) {
  walk(3, true);
}

}  // namespace
}  // namespace hcasim::kit
