// Group TC-P: one R_Key over a changing set of segments [S1..S13].
#include <algorithm>
#include <map>

#include "models/driver/embodiments/fill_credits.h"
#include "models/driver/embodiments/tcp_window.h"
#include "models/driver/verbs/x_verbs.h"
#include "testbenches/checks/conformance/space.h"
#include "testbenches/kit/windows.h"
#include "testbenches/scenarios/rkey_reuse.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

CONFORMANCE(TC_P01) {
  space_case t(c, n, 4);
  EXPECT_NE(t.r.key, 0U);
  EXPECT_EQ(t.r.length, 4 * page);
  EXPECT_EQ(t.r.end - t.r.start, 4 * page);
  EXPECT_NE(t.r.handle, 0U);
  EXPECT_TRUE(t.reaches(t.r.start, t.memory));
}

CONFORMANCE(TC_P02) {
  space_case t(c, n, 4);
  const x_result first = t.r;
  const std::uint64_t more = t.add(4);
  EXPECT_EQ(t.r.key, first.key);
  EXPECT_EQ(t.r.length, 8 * page);
  EXPECT_NE(t.r.handle, first.handle);
  EXPECT_TRUE(t.reaches(first.start, t.memory));
  EXPECT_TRUE(t.reaches(t.r.added, more));
}

// The old half goes, by handle or by range; the rest keeps its key and its bytes.
void remove_first_half(cpu& c, node& n, bool by_handle) {
  space_case t(c, n, 4);
  const x_result first = t.r;
  const std::uint64_t more = t.add(4);
  const std::uint64_t kept = t.r.added;
  EXPECT_EQ(by_handle ? t.remove(first.handle) : t.remove(first.start, 4 * page), 0);
  EXPECT_EQ(t.r.key, first.key);
  EXPECT_EQ(t.r.length, 4 * page);
  EXPECT_EQ(t.r.start, kept);
  EXPECT_TRUE(t.reaches(kept, more));
  t.denied(first.start);
  EXPECT_TRUE(t.reaches(kept + 3 * page, more + 3 * page));
}

CONFORMANCE(TC_P03) {
  remove_first_half(c, n, true);
}
CONFORMANCE(TC_P04) {
  remove_first_half(c, n, false);
}

// Removing and adding in one step [S6, S11]: same key, and every page of the buffer that left is unpinned.
CONFORMANCE(x_exchange) {
  space_case t(c, n, 2);
  const x_result first = t.r;
  const std::uint64_t kept = t.add(2);
  const x_result second = t.r;
  const x_buffer buffer{t.p().memory.allocate(2 * page), 2 * page};
  x_result r;
  EXPECT_EQ(x_exchange(c, t.p().context, first.key, 0x7777, {&buffer, 1}, &r), ENOENT);
  EXPECT_EQ(x_exchange(c, t.p().context, first.key, 0, {&buffer, 1}, &r), ENOENT);
  const x_buffer odd{buffer.addr + 8, page};
  EXPECT_EQ(x_exchange(c, t.p().context, first.key, first.handle, {&odd, 1}, &r, first.start), EINVAL);
  EXPECT_TRUE(t.reaches(first.start, t.memory));
  const std::uint64_t pinned = t.p().memory.pinned_bytes();
  EXPECT_EQ(x_exchange(c, t.p().context, first.key, first.handle, {&buffer, 1}, &r), 0);
  EXPECT_EQ(t.p().memory.pinned_bytes(), pinned);
  EXPECT_EQ(r.key, first.key);
  EXPECT_EQ(r.start, second.added);
  EXPECT_EQ(r.added, second.end);
  EXPECT_EQ(r.length, 4 * page);
  EXPECT_TRUE(t.reaches(r.added, buffer.addr));
  EXPECT_TRUE(t.reaches(r.start, kept));
  t.denied(first.start);
}

// Frames that have left a space, and later DMA to them.
class frames_that_left final : public dma_monitor {
 public:
  explicit frames_that_left(hcasim::host& h) : host_(h) { host_.observe_dma(this); }
  ~frames_that_left() override { host_.observe_dma(nullptr); }
  frames_that_left(const frames_that_left&) = delete;
  frames_that_left& operator=(const frames_that_left&) = delete;

  void set(std::vector<std::uint64_t> frames) {
    frames_ = std::move(frames);
    since_ = now();
  }
  void dma(bool, std::uint64_t address, std::uint64_t bytes, ps t) override {
    if (t > since_ && std::find(frames_.begin(), frames_.end(), align_down(address, page)) != frames_.end()) late_ += bytes;
  }
  [[nodiscard]] std::uint64_t late() const { return late_; }

 private:
  hcasim::host& host_;
  std::vector<std::uint64_t> frames_;
  ps since_{0};
  std::uint64_t late_ = 0;
};

// Other pages under the same VAs [S11]. A READ under way sees, packet by packet, the old pages and from some packet on the new
// ones. Once the call has returned, nothing moves in the old ones.
CONFORMANCE(TC_P30) {
  constexpr std::uint32_t bytes = 4 * page;
  space_case t(c, n, 1);
  const x_result low = t.r;
  const std::uint64_t below = t.memory;
  std::uint64_t current = t.add(4);
  const std::uint64_t va = t.r.added;
  std::uint32_t handle = t.r.handle;
  const std::uint64_t above = t.add(1);
  const std::uint64_t above_va = t.r.added;
  const x_result whole = t.r;
  const std::uint64_t pinned = t.p().memory.pinned_bytes();
  const fw_usage before = n.hca.command_unit.usage();
  frames_that_left guard(n.host);
  for (int k = 0; k < 60; ++k) {
    SCOPED_TRACE(k);
    const x_buffer fresh{t.p().memory.allocate(bytes, page_policy::scattered), bytes};
    t.p().fill(current, bytes, 10);
    t.p().fill(fresh.addr, bytes, 20);
    const auto old_bytes = t.p().bytes(current, bytes);
    const auto new_bytes = t.p().bytes(fresh.addr, bytes);
    std::vector<std::uint64_t> old_frames;
    for (std::uint64_t at = current; at < current + bytes; at += page) old_frames.push_back(t.p().memory.translate(at));
    guard.set({});
    n.host.run("reader", [&t, &whole, va, k](cpu& thread) {
      thread.spend(ps{std::int64_t{k} * 150'000});
      EXPECT_EQ(post(thread, t.base.a,
                     {.opcode = IBV_WR_RDMA_READ,
                      .id = 7,
                      .sges = {{t.base.here.addr, bytes, t.base.here.mr->lkey}},
                      .remote = va,
                      .rkey = whole.key}),
                0);
    });
    x_result r;
    ASSERT_EQ(x_exchange(c, t.p().context, whole.key, handle, {&fresh, 1}, &r, va), 0);
    c.sync();
    guard.set(old_frames);
    const auto wc = next_completion(c, t.p().cq);
    ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS);
    const auto seen = t.p().bytes(t.base.here.addr, bytes);
    std::size_t at = 0;
    while (at < bytes &&
           std::equal(seen.begin() + static_cast<std::ptrdiff_t>(at), seen.begin() + static_cast<std::ptrdiff_t>(at + 1024),
                      old_bytes.begin() + static_cast<std::ptrdiff_t>(at))) {
      at += 1024;
    }
    EXPECT_TRUE(std::equal(seen.begin() + static_cast<std::ptrdiff_t>(at), seen.end(),
                           new_bytes.begin() + static_cast<std::ptrdiff_t>(at)))
        << "a mixture within a packet, or old pages behind new ones";
    EXPECT_EQ(r.key, whole.key);
    EXPECT_EQ(r.added, va);
    EXPECT_EQ(r.start, whole.start);
    EXPECT_EQ(r.end, whole.end);
    EXPECT_EQ(r.segments, 3U);
    EXPECT_NE(r.handle, handle);
    x_result none;
    EXPECT_EQ(x_deregister_part(c, t.p().context, whole.key, handle, &none), ENOENT) << "the handle has gone";
    handle = r.handle;
    current = fresh.addr;
    EXPECT_EQ(t.p().memory.pinned_bytes(), pinned);
  }
  EXPECT_EQ(guard.late(), 0U) << "bytes moved in pages that had left";
  EXPECT_TRUE(t.reaches(low.start, below)) << "the neighbours are as they were";
  EXPECT_TRUE(t.reaches(above_va, above));
  EXPECT_TRUE(t.reaches(va + 3 * page, current + 3 * page));
  EXPECT_EQ(n.hca.command_unit.usage().table_bytes, before.table_bytes);
  // A part of the leaving segment, or more than it, is an overlap.
  const x_buffer less{t.p().memory.allocate(page), page};
  x_result r;
  EXPECT_EQ(x_exchange(c, t.p().context, whole.key, handle, {&less, 1}, &r, va), EINVAL);
  EXPECT_EQ(t.remove(handle), 0);
  t.denied(va);
}

// A window keeps the table of its bind.
CONFORMANCE(TC_P30_window) {
  base_case t(c, n);
  const x_buffer buffers[] = {{t.p.memory.allocate(page), page}, {t.p.memory.allocate(page), page}};
  x_result r;
  ASSERT_EQ(x_register(c, t.p.pd, nullptr, {buffers, 1}, all_rights, X_EXTEND, &r), 0);
  ibv_mw* const mw = ibv_alloc_mw(c, t.p.pd, IBV_MW_TYPE_1);
  ASSERT_EQ(bind_type_1(c, t.b, mw, {x_mr(t.p.context, r.key), r.start, 64, IBV_ACCESS_REMOTE_WRITE}).status, IBV_WC_SUCCESS);
  x_result changed;
  EXPECT_EQ(x_exchange(c, t.p.context, r.key, r.handle, {buffers + 1, 1}, &changed, r.start), EBUSY);
  EXPECT_EQ(ibv_dealloc_mw(c, mw), 0);
  EXPECT_EQ(x_exchange(c, t.p.context, r.key, r.handle, {buffers + 1, 1}, &changed, r.start), 0);
  EXPECT_EQ(t.write(r.start, r.key).status, IBV_WC_SUCCESS);
  EXPECT_EQ(t.p.bytes(buffers[1].addr, 64), t.p.bytes(t.here.addr, 64));
  EXPECT_EQ(x_teardown(c, t.p.context, r.key), 0);
}

CONFORMANCE(TC_P05) {
  space_case t(c, n, 4);
  const x_result first = t.r;
  const x_buffer buffer{t.p().memory.allocate(page), page};
  x_result r;
  // The last page again, and a range that ends one page into the space.
  EXPECT_EQ(x_reregister_add(c, t.p().context, first.key, {&buffer, 1}, &r, first.end - page), EINVAL);
  const x_buffer two{t.p().memory.allocate(2 * page), 2 * page};
  EXPECT_EQ(x_reregister_add(c, t.p().context, first.key, {&two, 1}, &r, first.start - page), EINVAL);
  EXPECT_TRUE(t.reaches(first.start, t.memory));
  EXPECT_TRUE(t.reaches(first.end - page, t.memory + 3 * page));
}

CONFORMANCE(TC_P06) {
  space_case t(c, n, 1);
  const std::uint64_t seam = t.r.end;
  const std::uint64_t more = t.add(1);
  EXPECT_EQ(t.r.added, seam);
  EXPECT_EQ(t.base.write(seam - 100, t.r.key, 200).status, IBV_WC_SUCCESS);
  const auto sent = t.p().bytes(t.base.here.addr, 200);
  EXPECT_EQ(t.p().bytes(t.memory + page - 100, 100), std::vector<std::uint8_t>(sent.begin(), sent.begin() + 100));
  EXPECT_EQ(t.p().bytes(more, 100), std::vector<std::uint8_t>(sent.begin() + 100, sent.end()));
}

CONFORMANCE(TC_P08) {
  space_case t(c, n, 1, X_PAGE_ALIGNED);
  const x_result first = t.r;
  const x_buffer crooked{t.p().memory.allocate(page) + 100, 200};
  x_result r;
  EXPECT_EQ(x_reregister_add(c, t.p().context, first.key, {&crooked, 1}, &r, x_any_va, X_PAGE_ALIGNED), EINVAL);
  EXPECT_TRUE(t.reaches(first.start, t.memory));
}

CONFORMANCE(TC_P09) {
  space_case t(c, n, 2, X_REMAP);
  const x_result first = t.r;
  const std::uint64_t more = t.add(2);
  EXPECT_EQ(t.r.key, first.key);
  EXPECT_NE(t.r.start, first.start);
  EXPECT_TRUE(t.reaches(t.r.start, t.memory));
  EXPECT_TRUE(t.reaches(t.r.added, more));
  t.denied(first.start);
}

CONFORMANCE(TC_P10) {
  space_case t(c, n, 1);
  const std::uint32_t key = t.r.key;
  t.add(1);
  const std::uint32_t middle = t.r.handle;
  const std::uint64_t middle_va = t.r.added;
  t.add(1);
  EXPECT_EQ(t.remove(middle), 0);
  EXPECT_EQ(t.r.segments, 2U);
  t.denied(middle_va);
  const std::uint64_t elsewhere = t.r.end + 1_GiB;
  const std::uint64_t again = t.add(1, elsewhere);
  EXPECT_EQ(t.r.key, key);
  EXPECT_EQ(t.r.segments, 3U);
  EXPECT_TRUE(t.reaches(elsewhere, again));
  t.denied(middle_va);
}

CONFORMANCE(TC_P11) {
  space_case t(c, n, 4);
  const x_result first = t.r;
  t.add(4);
  const std::uint32_t second = t.r.handle;
  EXPECT_EQ(t.remove(first.handle), 0);
  EXPECT_EQ(t.remove(second), 0);
  EXPECT_EQ(t.r.length, 0U);
  t.denied(first.start, first.key);
  const x_buffer buffer{t.memory, page};
  x_result fresh;
  EXPECT_EQ(x_register(c, t.p().pd, t.base.b, {&buffer, 1}, all_rights & ~IBV_ACCESS_MW_BIND, X_EXTEND, &fresh), 0);
  EXPECT_NE(fresh.key, first.key);
  t.r = fresh;
}

CONFORMANCE(TC_P14) {
  space_case t(c, n, 1);
  tcp_window window;
  ASSERT_TRUE(window.apply(t.r));
  std::vector<std::uint32_t> handles{t.r.handle};
  for (int i = 0; i < 100; ++i) {
    t.add(1);
    handles.push_back(t.r.handle);
    ASSERT_TRUE(window.apply(t.r));
    EXPECT_EQ(window.window(), t.r.length);
    ASSERT_TRUE(window.receive(page));
    EXPECT_EQ(t.remove(handles[static_cast<std::size_t>(i)]), 0);
    ASSERT_TRUE(window.apply(t.r));
    EXPECT_EQ(window.window(), t.r.length);
  }
  EXPECT_EQ(window.key(), t.r.key);
}

// The stream of the rkey_reuse testbench over verbs whose re-register gives a new key; one outcome for each way.
std::vector<reuse_outcome> stream_of(std::uint64_t buffers, std::vector<reuse_mode> modes) {
  system_config config = world::two_nodes();
  for (node_config& n : config.nodes) n.driver.rereg_key = driver::rereg_key_policy::renew;
  world w(config);
  reuse_options o;
  o.buffer = 4_KiB;
  o.message = 2_KiB;
  o.quiet_swaps = 0;
  std::vector<std::uint8_t> bytes(buffers * o.buffer);
  random_stream random(5, "stream");
  for (auto& b : bytes) b = static_cast<std::uint8_t>(random.next());
  std::vector<reuse_outcome> outcomes;
  start_reuse(w.sys(), o, bytes, modes, outcomes);
  sc_core::sc_start();
  for (const reuse_outcome& r : outcomes) EXPECT_TRUE(r.ok) << r.problem;
  return outcomes;
}

TEST(conformance, TC_P15) {
  const auto r = stream_of(1000, {reuse_mode::kept_extend});
  EXPECT_EQ(r[0].key_updates, 1U);
  EXPECT_EQ(r[0].swaps, 1000U - 8U);
}

CONFORMANCE(TC_P16) {
  space_case t(c, n, 1);
  fill_host host_side;
  fill_target target_side;
  host_side.added(t.r, {t.memory, page});
  target_side.notice(t.r);
  for (int i = 0; i < 50; ++i) {
    std::uint64_t va = 0;
    ASSERT_TRUE(target_side.place(page, &va));
    t.p().fill(t.base.here.addr, page, static_cast<std::uint8_t>(i));
    ASSERT_EQ(t.base.write(va, target_side.key(), static_cast<std::uint32_t>(page)).status, IBV_WC_SUCCESS);
    const std::uint64_t fresh = t.add(1);
    host_side.added(t.r, {fresh, page});
    fill_host::buffer filled{};
    ASSERT_TRUE(host_side.take_filled(target_side.filled_to(), &filled));
    EXPECT_EQ(t.p().bytes(filled.host, page), t.p().bytes(t.base.here.addr, page));
    ASSERT_EQ(t.remove(filled.handle), 0);
    target_side.notice(t.r);
  }
  EXPECT_EQ(target_side.key_updates(), 1U);
  EXPECT_EQ(target_side.notices(), 51U);
}

// Counts key messages at the targets: keys that a target is told and does not hold yet.
TEST(conformance, TC_P17) {
  const auto r = stream_of(100, {reuse_mode::kept_extend, reuse_mode::kept_remap, reuse_mode::whole, reuse_mode::reregister,
                                 reuse_mode::deregister});
  EXPECT_EQ(r[0].key_updates, 1U);
  EXPECT_EQ(r[1].key_updates, 1U);
  EXPECT_EQ(r[2].key_updates, 100U);
  EXPECT_EQ(r[3].key_updates, 100U);
  EXPECT_EQ(r[4].key_updates, 100U);
}

CONFORMANCE(TC_P18) {
  space_case t(c, n, 4);
  const x_result first = t.r;
  t.add(4);
  EXPECT_EQ(t.remove(first.handle), 0);
  const x_result left = t.r;
  EXPECT_EQ(t.remove(first.handle), ENOENT);
  EXPECT_NE(t.remove(left.start + page, 4 * page), 0);
  EXPECT_NE(t.remove(first.start, page), 0);
  x_result r;
  EXPECT_EQ(x_deregister_part(c, t.p().context, 0xffffff00, left.start, page, &r), ENOENT);
  EXPECT_TRUE(t.reaches(left.start, t.last_memory));
  EXPECT_TRUE(t.reaches(left.end - page, t.last_memory + 3 * page));
}

CONFORMANCE(TC_P22) {
  space_case t(c, n, 1, X_EXTEND, nullptr);
  ibv_pd* other = ibv_alloc_pd(c, t.p().context);
  ibv_qp* foreign = t.p().create_qp({}, other);
  ibv_qp* asker = t.p().create_qp();
  ASSERT_EQ(t.p().connect(foreign, t.p().address_of(asker)), 0);
  ASSERT_EQ(t.p().connect(asker, t.p().address_of(foreign)), 0);
  const request r{.id = 8, .sges = {{t.base.here.addr, 64, t.base.here.mr->lkey}}, .remote = t.r.start, .rkey = t.r.key};
  EXPECT_EQ(complete(c, asker, r).status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(t.p().bytes(t.memory, 64), std::vector<std::uint8_t>(64, 0));
  EXPECT_TRUE(t.reaches(t.r.start, t.memory));
}

// Memory of the kernel between two buffers of the process, under one key; no process may pin it.
CONFORMANCE(TC_P28) {
  space_case t(c, n, 2);
  const x_result first = t.r;
  const std::uint64_t pinned = t.p().memory.pinned_bytes();
  const std::uint64_t kernel = n.host.reserve_physical(3 * page, page);
  const x_buffer mixed[] = {{kernel, 3 * page, true}, {t.p().memory.allocate(page), page}};
  ASSERT_EQ(x_reregister_add(c, t.p().context, first.key, mixed, &t.r), 0);
  const x_result both = t.r;
  EXPECT_EQ(both.length, 6 * page);
  EXPECT_EQ(t.p().memory.pinned_bytes(), pinned + page);
  const auto lies_at = [&](std::uint64_t va, std::uint64_t at, std::uint8_t with) {
    t.p().fill(t.base.here.addr, 200, with);
    if (t.base.write(va, first.key, 200).status != IBV_WC_SUCCESS) return false;
    std::vector<std::uint8_t> found(200);
    n.host.memory_bytes().read(at, std::as_writable_bytes(std::span(found)));
    return found == t.p().bytes(t.base.here.addr, 200);
  };
  EXPECT_TRUE(lies_at(both.added, kernel, 1));
  EXPECT_TRUE(lies_at(both.added + 2 * page - 100, kernel + 2 * page - 100, 2));
  EXPECT_TRUE(t.reaches(both.added + 3 * page, mixed[1].addr));

  // The middle page of the three goes, its neighbours stay.
  EXPECT_EQ(t.remove(both.added + page, page), 0);
  t.denied(both.added + page);
  EXPECT_TRUE(lies_at(both.added + 2 * page, kernel + 2 * page, 3));
  EXPECT_EQ(t.remove(both.handle), 0);
  EXPECT_EQ(t.p().memory.pinned_bytes(), pinned);
  t.denied(both.added);
  EXPECT_TRUE(t.reaches(first.start, t.memory));
}

// 10 000 random changes of up to 256 segments against a map of intervals, with random accesses between them.
CONFORMANCE(TC_P23) {
  space_case t(c, n, 1);
  random_stream random(23, "spaces");
  struct segment {
    std::uint64_t length;
    std::uint64_t memory;
    std::uint32_t handle;
  };
  std::map<std::uint64_t, segment> reference{{t.r.start, {page, t.memory, t.r.handle}}};
  const std::uint64_t base_va = t.r.start;
  std::vector<std::uint64_t> frames;
  for (int i = 0; i < 64; ++i) frames.push_back(t.p().memory.allocate(8 * page));
  std::uint64_t allowed = 0;
  std::uint64_t refused = 0;
  for (int step = 0; step < 10'000; ++step) {
    const std::uint64_t va = base_va + random.below(4096) * page;
    if (random.chance(0.55) && reference.size() < 256) {
      const std::uint64_t pages = 1 + random.below(8);
      const x_buffer buffer{frames[random.below(frames.size())], pages * page};
      bool free = true;
      for (const auto& [start, s] : reference) free = free && (va + pages * page <= start || start + s.length <= va);
      x_result r;
      const int status = x_reregister_add(c, t.p().context, t.r.key, {&buffer, 1}, &r, va);
      ASSERT_EQ(status, free ? 0 : EINVAL) << step;
      if (free) {
        reference[va] = {pages * page, buffer.addr, r.handle};
        t.r = r;
      }
    } else if (reference.size() > 1) {
      auto victim = reference.lower_bound(va);
      if (victim == reference.end()) victim = reference.begin();
      ASSERT_EQ(t.remove(victim->second.handle), 0) << step;
      reference.erase(victim);
    }
    std::uint64_t mapped = 0;
    for (const auto& [start, s] : reference) mapped += s.length;
    ASSERT_EQ(t.r.length, mapped) << step;
    if (step % 20 != 0) continue;
    const std::uint64_t at = base_va + random.below(4096) * page + random.below(page);
    const auto bytes = static_cast<std::uint32_t>(1 + random.below(2 * page));
    std::uint64_t covered = at;
    for (const auto& [start, s] : reference) {
      if (start <= covered && covered < start + s.length) covered = start + s.length;
    }
    const ibv_wc wc = t.base.write(at, t.r.key, bytes);
    if (covered >= at + bytes) {
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << step;
      ++allowed;
    } else {
      ASSERT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR) << step;
      ++refused;
      t.base.reconnect();
    }
  }
  EXPECT_GT(allowed, 20U);
  EXPECT_GT(refused, 20U);
}

}  // namespace
}  // namespace hcasim::kit
