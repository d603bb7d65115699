// A life of every object, with the n-th DMA access failing, for every n: a status, no leak, and the adapter goes on.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "firmware/control/firmware_bench.h"

using namespace hcasim::testing;

namespace {

class life {
 public:
  explicit life(firmware_bench& bench) : b(bench) {}

  void run() {
    if (b.init() != HCA_OK) note(b.command.status);
    if (b.create_eq() == ~0U) note(b.command.status);
    queue_pair();
    regions();
    spaces();
  }
  // Cleans up as a driver does, with working memory.
  void clean_up() {
    for (const std::uint32_t key : spaces_) b.x_teardown(key);
    for (const std::uint32_t key : regions_) b.deregister(key);
    for (const std::uint32_t qpn : qps_) b.run(HCA_CMD_DESTROY_QP, qpn);
    for (const std::uint32_t cqn : cqs_) b.run(HCA_CMD_DESTROY_CQ, cqn);
    b.run(HCA_CMD_DESTROY_EQ, 0);
  }
  std::set<int> statuses;

 private:
  bool note(int status) {
    statuses.insert(status);
    return status == HCA_OK;
  }
  void queue_pair() {
    const std::uint32_t cqn = b.create_cq();
    if (!note(b.command.status)) return;
    cqs_.push_back(cqn);
    note(b.run(HCA_CMD_MODIFY_CQ, cqn, 7));
    hca_resize_cq larger{};
    larger.log_entries = 8;
    larger.page_shift = 12;
    larger.pages = 4;
    note(b.run(HCA_CMD_RESIZE_CQ, cqn, 0, larger, std::vector<std::uint64_t>{0xa000, 0xc000, 0xb000, 0xe000}));
    const std::uint32_t qpn = b.create_qp(cqn);
    if (!note(b.command.status)) return;
    qps_.push_back(qpn);
    hca_modify_qp a{};
    a.mtu_shift = 12;
    a.state = HCA_QP_INIT;
    note(b.run(HCA_CMD_MODIFY_QP, qpn, HCA_QP_STATE | HCA_QP_ACCESS, a));
    a.state = HCA_QP_RTR;
    note(b.run(HCA_CMD_MODIFY_QP, qpn,
               HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN | HCA_QP_MAX_READ_IN |
                   HCA_QP_MIN_RNR_TIMER,
               a));
    note(b.query(HCA_CMD_QUERY_QP, qpn, 256));
    a.state = HCA_QP_ERR;
    note(b.run(HCA_CMD_MODIFY_QP, qpn, HCA_QP_STATE, a));
    a.state = HCA_QP_RESET;
    note(b.run(HCA_CMD_MODIFY_QP, qpn, HCA_QP_STATE, a));
    note(b.run(HCA_CMD_DESTROY_QP, qpn));
    note(b.run(HCA_CMD_DESTROY_CQ, cqn));
  }
  void regions() {
    if (!note(b.register_region(region(0x100000, 600 * page), scattered(600, 0x10000000)))) return;
    const std::uint32_t key = b.command.result[0];
    regions_.push_back(key);
    note(b.query(HCA_CMD_QUERY_MR, key, 64));
    note(b.reregister(key, 7, region(0x900000, 1100 * page), scattered(1100, 0x50000000)));
    note(b.reregister(key, HCA_REREG_PD, region(0, 0)));
    renewed(HCA_REREG_TRANSLATION, region(0x900000, 1200 * page), scattered(1200, 0x70000000));
    renewed(HCA_REREG_PD, region(0, 0), {});
    note(b.deregister(regions_.back()));
  }
  void renewed(std::uint32_t flags, const hca_region& r, const std::vector<hca_chunk>& chunks) {
    if (note(b.reregister(regions_.back(), flags | HCA_REREG_RENEW, r, chunks))) regions_.back() = b.command.result[0];
  }
  void spaces() {
    hca_region r = region(0x7f0000000000, 3 * page);
    if (!note(b.x_register(r, scattered(3, 0x10000000)))) return;
    const std::uint32_t key = b.space.key;
    spaces_.push_back(key);
    r.va += 16 * page;
    note(b.x_reregister(key, r, scattered(3, 0x20000000)));
    r.va += 1024 * page;
    note(b.x_reregister(key, r, scattered(3, 0x30000000)));
    r.va -= GiB;
    note(b.x_reregister(key, r, scattered(3, 0x40000000)));
    r = region(0x7f0000800000, 600 * page);
    note(b.x_reregister(key, r, scattered(600, 0x50000000), HCA_X_REMAP));
    note(b.x_remove(key, 3));
    note(b.x_remove(key, 0, b.space.start + page, page));
    note(b.x_remove(key, 5));
    note(b.x_remove(key, 1));
    note(b.x_remove(key, 2));
    note(b.x_remove(key, 4));
  }

  firmware_bench& b;
  std::vector<std::uint32_t> spaces_, regions_, qps_, cqs_;
};

std::int64_t calls_of_a_life() {
  firmware_bench b(small_limits(), false);
  life l(b);
  l.run();
  EXPECT_EQ(l.statuses, (std::set<int>{HCA_OK}));
  return b.h.dma_calls;
}

TEST(faults, any_one_access) {
  const std::int64_t calls = calls_of_a_life();
  ASSERT_GT(calls, 150);
  std::int64_t felt = 0;
  for (std::int64_t n = 0; n < calls; n++) {
    SCOPED_TRACE(n);
    firmware_bench b(small_limits(), false);
    b.h.fail_at = n;
    life l(b);
    l.run();
    felt += l.statuses.count(HCA_MEMORY_FAULT) ? 1 : 0;
    l.clean_up();
    const fw_usage u = b.usage();
    ASSERT_EQ(u.qps + u.cqs + u.eqs + u.mrs + u.spaces + u.segments + u.extent_lines, 0U);
    ASSERT_EQ(u.table_bytes, 0U);
    EXPECT_TRUE(b.h.events.empty()) << "one fault is survived";
  }
  EXPECT_GT(felt, calls / 2);
}

// Memory fails for good: a status for every command, and a fresh start after reset.
TEST(faults, memory_goes_away) {
  const std::int64_t calls = calls_of_a_life();
  for (std::int64_t n = 0; n < calls; n++) {
    SCOPED_TRACE(n);
    firmware_bench b(small_limits(), false);
    b.h.fail_at = n;
    b.h.fail_on = true;
    life l(b);
    l.run();
    EXPECT_TRUE(l.statuses.count(HCA_MEMORY_FAULT));
    l.clean_up();
    EXPECT_LE(b.h.events.size(), 1U);
    b.h.fail_at = -1;
    b.reset();
    ASSERT_EQ(b.init(), HCA_OK);
  }
}

// A failed change leaves the address space unchanged.
TEST(faults, a_failed_change_of_a_space_changes_nothing) {
  const std::uint64_t va = 0x7f0000000000;
  const std::vector<std::function<int(firmware_bench&, std::uint32_t)>> changes{
      [](firmware_bench& b, std::uint32_t key) {
        return b.x_reregister(key, region(va + 8 * page, 2 * page), scattered(2, 0x30000000));
      },
      [](firmware_bench& b, std::uint32_t key) {
        return b.x_reregister(key, region(va - GiB, 2 * page), scattered(2, 0x30000000));
      },
      [](firmware_bench& b, std::uint32_t key) {
        return b.x_reregister(key, region(va + 8 * page, 2 * page), scattered(2, 0x30000000), HCA_X_REMAP);
      },
      [](firmware_bench& b, std::uint32_t key) {  // other pages under the same VAs
        hca_region r = region(va, 4 * page);
        r.leaving = 1;
        return b.x_reregister(key, r, scattered(4, 0x30000000));
      },
      [](firmware_bench& b, std::uint32_t key) { return b.x_remove(key, 0, va + page, page); },
      [](firmware_bench& b, std::uint32_t key) { return b.x_remove(key, 2); },
  };
  for (const auto& change : changes) {
    int failures = 0;
    for (std::int64_t n = 0;; n++) {
      firmware_bench b;
      ASSERT_EQ(b.x_register(region(va, 4 * page), scattered(4, 0x10000000)), HCA_OK);
      const std::uint32_t key = b.space.key;
      ASSERT_EQ(b.x_reregister(key, region(va + 32 * page, 2 * page), scattered(2, 0x20000000)), HCA_OK);
      const fw_usage before = b.usage();
      b.h.fail_at = b.h.dma_calls + n;
      const int status = change(b, key);
      if (b.h.dma_calls <= b.h.fail_at) break;
      if (status != HCA_OK) {
        failures++;
        ASSERT_EQ(status, HCA_MEMORY_FAULT);
        for (std::uint64_t i = 0; i < 4; i++) ASSERT_EQ(b.translate(key, va + i * page), 0x10000000 + 2 * i * page);
        ASSERT_EQ(b.translate(key, va + 33 * page), 0x20000000 + 2 * page);
        for (const std::uint64_t i : {4U, 8U, 9U, 31U, 34U}) ASSERT_EQ(b.translate(key, va + i * page), std::nullopt);
        ASSERT_EQ(b.usage().segments, before.segments);
        ASSERT_EQ(b.usage().extent_lines, before.extent_lines);
      }
      b.h.fail_at = -1;
      ASSERT_EQ(b.x_teardown(key), HCA_OK);
      ASSERT_EQ(b.usage().table_bytes, 0U);
    }
    EXPECT_GT(failures, 1);
  }
}

// Nor does a change without room for a segment, an extent line or a table node, at each step that takes one.
TEST(faults, a_change_without_room_changes_nothing) {
  const std::uint64_t va = 0x7f0000000000;
  int refused = 0;
  int refused_in_place = 0;
  for (std::uint32_t room = 1; room < 12; room++) {
    for (const int what : {0, 1, 2}) {
      SCOPED_TRACE(std::to_string(room) + " of " + std::to_string(what));
      fw_limits l = small_limits();
      if (what == 0) l.max_segments = room;
      if (what == 1) l.max_extent_lines = room;
      if (what == 2) l.max_table_bytes = room * page;
      firmware_bench b(l);
      if (b.x_register(region(va, 4 * page), scattered(4, 0x10000000)) != HCA_OK) continue;
      const std::uint32_t key = b.space.key;
      std::vector<std::pair<std::uint64_t, std::uint64_t>> mapped{{va, 0x10000000}};
      for (std::uint64_t i = 1; i < 12; i++) {
        const hca_region r = region(va + (i % 3) * GiB + (i % 4) * 2 * MiB + 16 * i * page, 2 * page);
        const fw_usage before = b.usage();
        const int status = b.x_reregister(key, r, scattered(2, 0x20000000 + i * MiB), i % 5 == 0 ? HCA_X_REMAP : 0);
        if (status == HCA_OK) {
          const std::uint64_t moved = b.space.added - r.va;
          mapped.emplace_back(r.va, 0x20000000 + i * MiB);
          for (auto& [at, memory] : mapped) at += moved;
          if (moved != 0) break;
        } else {
          refused++;
          ASSERT_EQ(status, HCA_NO_RESOURCES);
          EXPECT_EQ(b.usage().segments, before.segments);
          EXPECT_EQ(b.usage().extent_lines, before.extent_lines);
          EXPECT_EQ(b.translate(key, r.va), std::nullopt);
        }
        for (const auto& [at, memory] : mapped) ASSERT_EQ(b.translate(key, at + page), memory + 2 * page);
      }
      hca_region same = region(mapped.front().first, 4 * page);
      same.leaving = 1;
      const fw_usage before = b.usage();
      const int status = b.x_reregister(key, same, scattered(4, 0x70000000));
      refused_in_place += status == HCA_NO_RESOURCES;
      ASSERT_TRUE(status == HCA_OK || status == HCA_NO_RESOURCES) << status;
      if (status == HCA_OK) mapped.front().second = 0x70000000;
      EXPECT_EQ(b.usage().table_bytes, before.table_bytes);
      EXPECT_EQ(b.usage().extent_lines, before.extent_lines);
      for (const auto& [at, memory] : mapped) ASSERT_EQ(b.translate(key, at + page), memory + 2 * page);
      EXPECT_TRUE(b.h.events.empty());
      ASSERT_EQ(b.x_teardown(key), HCA_OK);
      EXPECT_EQ(b.usage().table_bytes, 0U);
      EXPECT_EQ(b.usage().segments + b.usage().extent_lines, 0U);
    }
  }
  EXPECT_GT(refused_in_place, 0);
  EXPECT_GT(refused, 20);
}

}  // namespace
