// The extended verbs over the real control firmware: TC-P* as far as they need no traffic.
#include "models/driver/verbs/x_verbs.h"

#include <rapidcheck.h>

#include <map>

#include "models/driver/embodiments/fill_credits.h"
#include "models/driver/embodiments/send_fallback.h"
#include "models/driver/embodiments/tcp_window.h"
#include "models/driver/testing/bench.h"

namespace hcasim::testing {
namespace {

using namespace verbs;

constexpr int space_rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr std::uint64_t page = 4096;

struct x_test : ::testing::Test {
  bench b;
  std::uint64_t at = b.memory.allocate(64 * page);
  std::uint64_t pinned_before = 0;

  void run(std::function<void(cpu&)> program) {
    b.run([&](cpu& c) {
      b.pd = ibv_alloc_pd(c, b.context);
      pinned_before = b.memory.pinned_bytes();
      program(c);
    });
  }
  [[nodiscard]] std::uint64_t pinned() const { return b.memory.pinned_bytes() - pinned_before; }
  [[nodiscard]] x_buffer buffer(std::uint64_t first_page, std::uint64_t pages) const {
    return {at + first_page * page, pages * page};
  }
  x_result make(cpu& c, x_buffer from, unsigned flags = X_EXTEND, std::uint64_t va = x_any_va) {
    x_result r;
    EXPECT_EQ(x_register(c, b.pd, nullptr, std::span(&from, 1), space_rights, flags, &r, va), 0);
    return r;
  }
  int add(cpu& c, std::uint32_t key, x_buffer more, x_result* r, std::uint64_t va = x_any_va) {
    return x_reregister_add(c, b.context, key, std::span(&more, 1), r, va);
  }
  // The physical address behind a VA of the space, by the table the adapter would walk; 0 = not mapped.
  std::uint64_t walk(std::uint32_t key, std::uint64_t va) {
    const hca_mrc m = b.adapter.mrc(key);
    std::uint64_t node = m.table;
    const std::uint64_t number = (va - m.table_va) >> m.page_shift;
    for (unsigned level = m.levels; level > 0; --level) {
      const auto e = b.machine.memory_bytes().get<hca_pte>(node + (number >> (9 * (level - 1)) & 511) * 8);
      if (!(e & HCA_PTE_PRESENT)) return 0;
      node = hca_pte_address(e);
    }
    return (node & ~(page - 1)) + (va & (page - 1));
  }
};

TEST_F(x_test, TC_P01_P02_P03_GrowAndShrinkUnderOneKey) {
  run([&](cpu& c) {
    const x_result first = make(c, buffer(0, 4));
    EXPECT_NE(first.key, 0U);
    EXPECT_EQ(first.length, 4 * page);
    EXPECT_EQ(first.end, first.start + 4 * page);
    EXPECT_EQ(pinned(), 4 * page);
    x_result second;
    ASSERT_EQ(add(c, first.key, buffer(10, 4), &second), 0);
    EXPECT_EQ(second.key, first.key);
    EXPECT_EQ(second.length, 8 * page);
    EXPECT_NE(second.handle, first.handle);
    EXPECT_EQ(second.start, first.start);
    EXPECT_EQ(second.added, first.end);
    EXPECT_EQ(walk(first.key, first.start), b.memory.translate(at));
    EXPECT_EQ(walk(first.key, second.added + page), b.memory.translate(at + 11 * page));
    EXPECT_EQ(pinned(), 8 * page);
    x_result third;
    ASSERT_EQ(x_deregister_part(c, b.context, first.key, first.handle, &third), 0);
    EXPECT_EQ(third.key, first.key);
    EXPECT_EQ(third.length, 4 * page);
    EXPECT_EQ(third.start, second.added);
    EXPECT_EQ(walk(first.key, first.start), 0U);
    EXPECT_EQ(pinned(), 4 * page);
    // TC-P18: the same handle again; a range that is gone.
    EXPECT_EQ(x_deregister_part(c, b.context, first.key, first.handle, nullptr), ENOENT);
    EXPECT_EQ(x_deregister_part(c, b.context, first.key, first.start, page, nullptr), EINVAL);
    EXPECT_EQ(x_deregister_part(c, b.context, first.key + 1, third.start, page, nullptr), ENOENT);
    EXPECT_EQ(pinned(), 4 * page);
    EXPECT_EQ(ibv_dealloc_pd(c, b.pd), EBUSY);
    // TC-P11: the last one goes, the key is retired.
    x_result last;
    ASSERT_EQ(x_deregister_part(c, b.context, first.key, second.handle, &last), 0);
    EXPECT_EQ(last.length, 0U);
    EXPECT_EQ(pinned(), 0U);
    EXPECT_NE(b.adapter.mrc(first.key).state, HCA_MRC_VALID);
    EXPECT_EQ(add(c, first.key, buffer(0, 1), &last), ENOENT);
    EXPECT_EQ(pinned(), 0U);
    EXPECT_NE(make(c, buffer(0, 1)).key, first.key);
  });
}

// TC-P04, claim 1: a part goes, by VA range, in the middle of what was one set of buffers.
TEST_F(x_test, TC_P04_PartByRange) {
  run([&](cpu& c) {
    const x_result r = make(c, buffer(0, 8));
    x_result left;
    ASSERT_EQ(x_deregister_part(c, b.context, r.key, r.start + 2 * page, 3 * page, &left), 0);
    EXPECT_EQ(left.key, r.key);
    EXPECT_EQ(left.length, 5 * page);
    EXPECT_EQ(left.segments, 2U);
    EXPECT_EQ(pinned(), 5 * page);
    EXPECT_EQ(walk(r.key, r.start + 3 * page), 0U);
    EXPECT_EQ(walk(r.key, r.start + 5 * page), b.memory.translate(at + 5 * page));
    EXPECT_EQ(x_deregister_part(c, b.context, r.key, r.start + 100, page, nullptr), EINVAL);
    ASSERT_EQ(x_deregister_part(c, b.context, r.key, r.handle, &left), 0);  // both ends keep the handle
    EXPECT_EQ(left.length, 0U);
    EXPECT_EQ(pinned(), 0U);
  });
}

TEST_F(x_test, TC_P05_P08_P10_Placement) {
  run([&](cpu& c) {
    const x_result r = make(c, buffer(0, 4), X_EXTEND, 0x4000'0000);
    EXPECT_EQ(r.start, 0x4000'0000U);
    x_result more;
    EXPECT_EQ(add(c, r.key, buffer(8, 2), &more, 0x4000'0000 + 3 * page), EINVAL);  // overlap
    EXPECT_EQ(pinned(), 4 * page);
    ASSERT_EQ(add(c, r.key, buffer(8, 2), &more, 0x4010'0000), 0);  // a hole in between
    EXPECT_EQ(more.segments, 2U);
    EXPECT_EQ(more.end, 0x4010'0000 + 2 * page);
    ASSERT_EQ(add(c, r.key, buffer(20, 2), &more, 0x4020'0000), 0);
    const std::uint32_t key = r.key;
    EXPECT_EQ(x_deregister_part(c, b.context, key, 0x4010'0000, 2 * page, &more), 0);
    EXPECT_EQ(more.segments, 2U);
    ASSERT_EQ(add(c, key, buffer(8, 2), &more, 0x5000'0000), 0);
    EXPECT_EQ(more.segments, 3U);
    EXPECT_EQ(more.key, key);

    const x_buffer misaligned{at + 40 * page + 8, page};
    EXPECT_EQ(x_register(c, b.pd, nullptr, std::span(&misaligned, 1), space_rights, X_PAGE_ALIGNED, nullptr), EINVAL);
    EXPECT_EQ(x_register(c, b.pd, nullptr, std::span(&misaligned, 1), space_rights, X_EXTEND, nullptr), 0);
  });
}

TEST_F(x_test, TC_P09_Remap) {
  run([&](cpu& c) {
    const x_result r = make(c, buffer(0, 4), X_REMAP);
    x_result moved;
    ASSERT_EQ(add(c, r.key, buffer(10, 4), &moved), 0);
    EXPECT_EQ(moved.key, r.key);
    EXPECT_NE(moved.start, r.start);
    EXPECT_EQ(moved.length, 8 * page);
    EXPECT_EQ(walk(r.key, moved.start + page), b.memory.translate(at + page));
    EXPECT_EQ(walk(r.key, moved.added), b.memory.translate(at + 10 * page));
    // The driver follows the move: removing by the new VAs unpins the right pages.
    x_result left;
    ASSERT_EQ(x_deregister_part(c, b.context, r.key, moved.start + 3 * page, 2 * page, &left), 0);
    EXPECT_NE(left.start, moved.start);
    EXPECT_EQ(pinned(), 6 * page);
    ASSERT_EQ(x_deregister_part(c, b.context, r.key, left.start, 3 * page, &left), 0);
    EXPECT_EQ(pinned(), 3 * page);
    EXPECT_EQ(walk(r.key, left.start), b.memory.translate(at + 11 * page));
    ASSERT_EQ(x_teardown(c, b.context, r.key), 0);
    EXPECT_EQ(pinned(), 0U);
    EXPECT_EQ(x_teardown(c, b.context, r.key), ENOENT);
  });
}

TEST_F(x_test, SeveralBuffersInOneCall) {
  run([&](cpu& c) {
    const x_buffer buffers[] = {{at + 100, page - 100}, {at + 5 * page, 2 * page}, {at + 7 * page, 50}};
    x_result r;
    ASSERT_EQ(x_register(c, b.pd, nullptr, buffers, space_rights, X_EXTEND, &r), 0);
    EXPECT_EQ(r.length, page - 100 + 2 * page + 50);
    EXPECT_EQ(r.segments, 1U);
    EXPECT_EQ(r.start % page, 100U);
    EXPECT_EQ(walk(r.key, r.start), b.memory.translate(at + 100));
    EXPECT_EQ(walk(r.key, r.end - 1), b.memory.translate(at + 7 * page + 49));
    const x_buffer gap[] = {{at, 100}, {at + 5 * page, page}};
    EXPECT_EQ(x_register(c, b.pd, nullptr, gap, space_rights, X_EXTEND, &r), EINVAL);
    EXPECT_EQ(x_register(c, b.pd, nullptr, {}, space_rights, X_EXTEND, &r), EINVAL);
    const x_buffer unmapped[] = {{at, page}, {0x1000, page}};
    const std::uint64_t before = pinned();
    EXPECT_EQ(x_register(c, b.pd, nullptr, unmapped, space_rights, X_EXTEND, &r), EFAULT);
    EXPECT_EQ(pinned(), before);
    EXPECT_EQ(x_register(c, b.pd, nullptr, std::span(buffers, 1), IBV_ACCESS_REMOTE_WRITE, X_EXTEND, &r), EINVAL);
  });
}

// [S7, SUN2]: the key belongs to a connection, and goes with it.
TEST_F(x_test, TiedToAConnection) {
  run([&](cpu& c) {
    ibv_qp* qp = b.connected_qp(c);
    const std::uint64_t base = b.memory.pinned_bytes();
    const x_buffer mine[] = {buffer(0, 2)};
    x_result r;
    ASSERT_EQ(x_register(c, b.pd, qp, mine, space_rights, X_EXTEND, &r), 0);
    EXPECT_EQ(b.adapter.mrc(r.key).qpn, qp->qp_num);
    ibv_pd* other = ibv_alloc_pd(c, b.context);
    EXPECT_EQ(x_register(c, other, qp, mine, space_rights, X_EXTEND, &r), EINVAL);
    EXPECT_EQ(b.memory.pinned_bytes(), base + 2 * page);
    EXPECT_EQ(ibv_destroy_qp(c, qp), 0);
    EXPECT_EQ(b.adapter.usage().spaces, 0U);
    EXPECT_NE(b.adapter.mrc(r.key).state, HCA_MRC_VALID);
    EXPECT_EQ(x_teardown(c, b.context, r.key), ENOENT);
  });
}

// TC-P14: the window is the sum of the segments after every verb.
TEST_F(x_test, TC_P14_TcpWindow) {
  run([&](cpu& c) {
    tcp_window w;
    x_result r = make(c, buffer(0, 1));
    ASSERT_TRUE(w.apply(r));
    std::deque<std::uint32_t> handles{r.handle};
    std::uint64_t edge = w.right();
    for (std::uint64_t i = 1; i <= 100; ++i) {
      const bool grow = handles.size() < 2 || i % 3 != 0;
      if (grow && handles.size() < 20) {
        ASSERT_EQ(add(c, r.key, buffer(i % 60, 1 + i % 3), &r), 0);
        handles.push_back(r.handle);
      } else {
        const std::uint64_t used = (r.start == 0) ? 0 : w.window();
        ASSERT_TRUE(w.receive(std::min(used, w.right() - w.left() - w.used())));
        ASSERT_EQ(x_deregister_part(c, b.context, r.key, handles.front(), &r), 0);
        handles.pop_front();
      }
      ASSERT_TRUE(w.apply(r));
      ASSERT_EQ(w.window(), r.length);
      ASSERT_GE(w.right(), edge) << "the window was shrunk from the right";
      edge = w.right();
    }
    x_result other = r;
    other.key += 256;
    EXPECT_FALSE(w.apply(other));
    EXPECT_FALSE(w.receive(w.window() + 1));
  });
}

// TC-P16 without the wire: the target fills, the host swaps buffers; one key update for 200 buffers.
TEST_F(x_test, TC_P16_FillNotifications) {
  run([&](cpu& c) {
    fill_target target;
    fill_host host_side;
    x_result r = make(c, buffer(0, 1));
    host_side.added(r, buffer(0, 1));
    target.notice(r);
    std::uint64_t next = 1;
    std::uint64_t consumed = 0;
    while (consumed < 200) {
      while (host_side.outstanding() < 4) {
        const x_buffer fresh = buffer(next++ % 64, 1);
        ASSERT_EQ(add(c, r.key, fresh, &r), 0);
        host_side.added(r, fresh);
        target.notice(r);
      }
      std::uint64_t va = 0;
      while (target.place(1000, &va)) ASSERT_NE(walk(target.key(), va), 0U);
      fill_host::buffer full{};
      std::uint64_t got = 0;
      while (host_side.outstanding() > 1 && host_side.take_filled(target.filled_to(), &full)) {
        ASSERT_EQ(walk(r.key, full.va), b.memory.translate(full.host));
        ASSERT_EQ(x_deregister_part(c, b.context, r.key, full.handle, &r), 0);
        ++got;
      }
      ASSERT_GT(got, 0U);
      consumed += got;
    }
    EXPECT_EQ(target.key_updates(), 1U);
    EXPECT_GT(target.notices(), 200U);
  });
}

TEST(Embodiments, SendFallback) {
  send_fallback f;
  ibv_wc wc{};
  EXPECT_EQ(f.next(wc), fallback_step::done);
  wc.status = IBV_WC_REM_ACCESS_ERR;
  EXPECT_EQ(f.next(wc), fallback_step::recover);
  wc.status = IBV_WC_SUCCESS;
  EXPECT_EQ(f.next(wc), fallback_step::done);
  EXPECT_EQ(f.written(), 1U);
  EXPECT_EQ(f.sent(), 1U);
  wc.status = IBV_WC_REM_ACCESS_ERR;
  EXPECT_EQ(f.next(wc), fallback_step::recover);
  EXPECT_EQ(f.next(wc), fallback_step::fail);
  send_fallback g;
  wc.status = IBV_WC_RETRY_EXC_ERR;
  EXPECT_EQ(g.next(wc), fallback_step::fail);
}

// TC-P23 without traffic: random changes against a reference map of pages; the adapter's table agrees with it, and so do the
// pins.
TEST_F(x_test, TC_P23_RandomChanges) {
  std::uint64_t fresh = b.memory.allocate(1500 * 6 * page);
  run([&](cpu& c) {
    random_stream random(7, "x");
    constexpr std::uint64_t base = 0x6000'0000;
    const x_buffer first = buffer(0, 1);
    x_result r;
    ASSERT_EQ(x_register(c, b.pd, nullptr, std::span(&first, 1), space_rights, X_EXTEND, &r, base), 0);
    const std::uint32_t key = r.key;
    std::map<std::uint64_t, std::uint64_t> reference{{base, at}};
    for (int step = 0; step < 1500; ++step) {
      const std::uint64_t va = base + random.below(96) * page;
      const std::uint64_t pages = 1 + random.below(6);
      std::uint64_t present = 0;
      for (std::uint64_t p = 0; p < pages; ++p) present += reference.count(va + p * page);
      if (random.below(2) == 0) {
        const x_buffer more{fresh, pages * page};
        fresh += pages * page;
        ASSERT_EQ(add(c, key, more, &r, va), present ? EINVAL : 0);
        if (!present) {
          for (std::uint64_t p = 0; p < pages; ++p) reference[va + p * page] = more.addr + p * page;
        }
      } else if (present < reference.size()) {
        ASSERT_EQ(x_deregister_part(c, b.context, key, va, pages * page, &r), present == pages ? 0 : EINVAL);
        if (present == pages) {
          for (std::uint64_t p = 0; p < pages; ++p) reference.erase(va + p * page);
        }
      }
      ASSERT_EQ(r.key, key);
      ASSERT_EQ(pinned(), reference.size() * page);
    }
    for (std::uint64_t p = 0; p < 102; ++p) {
      const auto it = reference.find(base + p * page);
      EXPECT_EQ(walk(key, base + p * page), it == reference.end() ? 0 : b.memory.translate(it->second)) << p;
    }
  });
}

}  // namespace
}  // namespace hcasim::testing
