// [SUN1..SUN18]: claims and embodiments of US 7,290,038.
#include "models/driver/embodiments/fill_credits.h"
#include "models/driver/embodiments/send_fallback.h"
#include "models/driver/embodiments/tcp_window.h"
#include "testbenches/checks/conformance/space.h"
#include "testbenches/scenarios/rkey_reuse.h"

namespace hcasim::kit {
namespace {

CONFORMANCE(SUN1) {
  space_case t(c, n, 4);
  const x_result first = t.r;
  EXPECT_EQ(t.remove(first.start, page), 0);
  EXPECT_EQ(t.r.key, first.key);
  EXPECT_EQ(t.r.length, 3 * page);
  EXPECT_TRUE(t.reaches(first.start + page, t.memory + page));
  EXPECT_TRUE(t.reaches(first.start + 3 * page, t.memory + 3 * page));
  t.denied(first.start);
}

CONFORMANCE(SUN2) {
  space_case t(c, n, 1);
  const x_result space = t.r;
  ibv_qp* stranger = t.p().create_qp();
  ibv_qp* asker = t.p().create_qp();
  ASSERT_EQ(t.p().connect(stranger, t.p().address_of(asker)), 0);
  ASSERT_EQ(t.p().connect(asker, t.p().address_of(stranger)), 0);
  const request r{.id = 8, .sges = {{t.base.here.addr, 64, t.base.here.mr->lkey}}, .remote = space.start, .rkey = space.key};
  EXPECT_EQ(complete(c, asker, r).status, IBV_WC_REM_ACCESS_ERR);  // same PD, another connection
  EXPECT_TRUE(t.reaches(space.start, t.memory));
  EXPECT_EQ(ibv_destroy_qp(c, t.base.b), 0);  // the connection goes, and the key with it
  EXPECT_EQ(n.hca.command_unit.usage().spaces, 0U);
  EXPECT_EQ(x_teardown(c, t.p().context, space.key), ENOENT);
}

CONFORMANCE(SUN3) {
  space_case t(c, n, 2);
  tcp_window w;
  ASSERT_TRUE(w.apply(t.r));
  EXPECT_EQ(w.window(), 2 * page);
  const std::uint32_t first = t.r.handle;
  t.add(3);
  ASSERT_TRUE(w.apply(t.r));
  EXPECT_EQ(w.window(), 5 * page);
  ASSERT_TRUE(w.receive(2 * page));
  EXPECT_EQ(t.remove(first), 0);
  ASSERT_TRUE(w.apply(t.r));
  EXPECT_EQ(w.window(), 3 * page);
  EXPECT_EQ(w.window(), t.r.length);
}

CONFORMANCE(SUN4) {
  space_case t(c, n, 2);
  EXPECT_TRUE(t.reaches(t.r.start + 100, t.memory + 100));
  EXPECT_TRUE(t.reaches(t.r.start + page, t.memory + page));
}

// The WRITE is aborted because its storage was taken away; the data goes by SEND, after the connection was brought back or
// over a second one.
void send_instead(cpu& c, node& n, bool second_qp) {
  space_case t(c, n, 2);
  const std::uint64_t gone = t.r.start;
  ASSERT_EQ(t.remove(gone, page), 0);
  ibv_qp* spare[2] = {nullptr, nullptr};
  if (second_qp) {
    spare[0] = t.p().create_qp();
    spare[1] = t.p().create_qp();
    ASSERT_EQ(t.p().connect(spare[0], t.p().address_of(spare[1])), 0);
    ASSERT_EQ(t.p().connect(spare[1], t.p().address_of(spare[0])), 0);
  }
  send_fallback fallback;
  ASSERT_EQ(fallback.next(t.base.write(gone, t.r.key)), fallback_step::recover);
  if (!second_qp) t.base.reconnect();
  ibv_qp* sender = second_qp ? spare[0] : t.base.a;
  ibv_qp* receiver = second_qp ? spare[1] : t.base.b;
  const region landing = t.p().allocate(page, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_EQ(post_receive(c, receiver, 1, {{landing.addr, 4096, landing.mr->lkey}}), 0);
  const request r{.opcode = IBV_WR_SEND, .id = 6, .sges = {{t.base.here.addr, 64, t.base.here.mr->lkey}}};
  EXPECT_EQ(fallback.next(complete(c, sender, r)), fallback_step::done);
  EXPECT_EQ(t.p().bytes(landing.addr, 64), t.p().bytes(t.base.here.addr, 64));
  EXPECT_EQ(fallback.sent(), 1U);
}

CONFORMANCE(SUN5_same_connection) {
  send_instead(c, n, false);
}
CONFORMANCE(SUN5_second_connection) {
  send_instead(c, n, true);
}

CONFORMANCE(SUN6) {
  space_case t(c, n, 2);
  const std::uint32_t key = t.r.key;
  t.add(2);
  EXPECT_EQ(t.r.key, key);
  EXPECT_EQ(t.r.length, 4 * page);
  t.add(4);
  EXPECT_EQ(t.r.key, key);
  EXPECT_EQ(t.r.length, 8 * page);
}

CONFORMANCE(SUN7) {
  space_case t(c, n, 2);
  const x_result first = t.r;
  const std::uint64_t more = t.add(2);
  EXPECT_EQ(t.r.key, first.key);
  EXPECT_TRUE(t.reaches(first.start + page, t.memory + page));
  EXPECT_TRUE(t.reaches(t.r.added + page, more + page));
}

CONFORMANCE(SUN8) {
  space_case t(c, n, 1);
  const std::uint64_t seam = t.r.end;
  const std::uint64_t more = t.add(1);
  EXPECT_EQ(t.base.write(seam - 32, t.r.key).status, IBV_WC_SUCCESS);
  const auto sent = t.p().bytes(t.base.here.addr, 64);
  EXPECT_EQ(t.p().bytes(t.memory + page - 32, 32), std::vector<std::uint8_t>(sent.begin(), sent.begin() + 32));
  EXPECT_EQ(t.p().bytes(more, 32), std::vector<std::uint8_t>(sent.begin() + 32, sent.end()));
}

CONFORMANCE(SUN9) {
  space_case t(c, n, 1);
  const x_result first = t.r;
  const std::uint64_t more = t.add(1, first.end + page);
  EXPECT_TRUE(t.reaches(first.start, t.memory));
  EXPECT_TRUE(t.reaches(t.r.added, more));
  // A WRITE that runs from the first segment into the hole places nothing, not even its first bytes.
  const auto before = t.p().bytes(t.memory, page);
  EXPECT_EQ(t.base.write(first.end - 32, t.r.key).status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(t.p().bytes(t.memory, page), before);
  t.base.reconnect();
  t.denied(first.end + 100);
}

CONFORMANCE(SUN10) {
  process_context p(c, n);
  const std::uint64_t at = p.memory.allocate(2 * page);
  x_result r;
  const x_buffer crooked{at + 8, page};
  EXPECT_EQ(x_register(c, p.pd, nullptr, {&crooked, 1}, IBV_ACCESS_LOCAL_WRITE, X_PAGE_ALIGNED, &r), EINVAL);
  const x_buffer straight{at, page};
  EXPECT_EQ(x_register(c, p.pd, nullptr, {&straight, 1}, IBV_ACCESS_LOCAL_WRITE, X_PAGE_ALIGNED, &r), 0);
}

CONFORMANCE(SUN11) {
  space_case t(c, n, 1);
  const x_result first = t.r;
  t.add(1);
  const x_result second = t.r;
  const std::uint64_t third = t.add(1);
  EXPECT_NE(first.handle, second.handle);
  EXPECT_NE(second.handle, t.r.handle);
  const std::uint64_t third_va = t.r.added;
  EXPECT_EQ(t.remove(second.handle), 0);
  EXPECT_EQ(t.r.segments, 2U);
  EXPECT_TRUE(t.reaches(first.start, t.memory));
  EXPECT_TRUE(t.reaches(third_va, third));
  t.denied(second.added);
}

CONFORMANCE(SUN12) {
  space_case by_handle(c, n, 2);
  space_case by_range(c, n, 2);
  by_handle.add(2);
  by_range.add(2);
  const std::uint32_t handle = by_handle.r.handle;
  EXPECT_EQ(by_handle.remove(handle), 0);
  EXPECT_EQ(by_range.remove(by_range.r.added, 2 * page), 0);
  for (space_case* t : {&by_handle, &by_range}) {
    EXPECT_EQ(t->r.length, 2 * page);
    EXPECT_EQ(t->r.segments, 1U);
    EXPECT_TRUE(t->reaches(t->r.start, t->memory));
    t->denied(t->r.end);
  }
}

CONFORMANCE(SUN13) {
  space_case t(c, n, 1, X_REMAP);
  const x_result first = t.r;
  t.add(1);
  EXPECT_EQ(t.r.key, first.key);
  EXPECT_TRUE(t.r.end <= first.start || t.r.start >= first.end);
  EXPECT_TRUE(t.reaches(t.r.start, t.memory));
  t.denied(first.start);
}

CONFORMANCE(SUN14) {
  space_case t(c, n, 1);
  fill_target table;
  table.notice(t.r);
  for (int i = 0; i < 20; ++i) {
    t.add(1);
    table.notice(t.r);  // the same key is sent again
  }
  EXPECT_EQ(table.key_updates(), 1U);
  EXPECT_EQ(table.notices(), 21U);
}

void retire(cpu& c, node& n, bool by_teardown) {
  space_case t(c, n, 2);
  const x_result last = t.r;
  EXPECT_EQ(by_teardown ? x_teardown(c, t.p().context, last.key) : t.remove(last.handle), 0);
  t.denied(last.start, last.key);
  EXPECT_EQ(n.hca.command_unit.usage().spaces, 0U);
  const x_buffer buffer{t.memory, page};
  x_result fresh;
  EXPECT_EQ(x_register(c, t.p().pd, nullptr, {&buffer, 1}, IBV_ACCESS_LOCAL_WRITE, X_EXTEND, &fresh), 0);
  EXPECT_NE(fresh.key, last.key);
}

CONFORMANCE(SUN15_last_buffer) {
  retire(c, n, false);
}
CONFORMANCE(SUN15_teardown) {
  retire(c, n, true);
}

CONFORMANCE(SUN16) {
  space_case t(c, n, 1);
  const std::uint32_t key = t.r.key;
  tcp_window window;
  ASSERT_TRUE(window.apply(t.r));
  std::uint64_t right = window.right();
  std::uint64_t left = window.left();
  std::uint32_t oldest = t.r.handle;
  std::uint64_t at = t.memory;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t va = t.r.start;
    t.p().fill(t.base.here.addr, 64, static_cast<std::uint8_t>(i));
    ASSERT_EQ(t.base.write(va, key).status, IBV_WC_SUCCESS);
    ASSERT_EQ(t.p().bytes(at, 64), t.p().bytes(t.base.here.addr, 64));
    ASSERT_TRUE(window.receive(page));
    at = t.add(1);
    const std::uint32_t next = t.r.handle;
    ASSERT_TRUE(window.apply(t.r));
    ASSERT_EQ(t.remove(oldest), 0);
    ASSERT_TRUE(window.apply(t.r));
    oldest = next;
    ASSERT_EQ(t.r.key, key);
    ASSERT_GE(window.right(), right);
    ASSERT_GE(window.left(), left);
    right = window.right();
    left = window.left();
  }
}

// Runs as rkey_reuse does: the target reports each buffer it has filled, the host swaps it and tells the target.
void stream(reuse_mode mode, std::uint64_t buffers, std::uint64_t key_updates) {
  system_config config = world::two_nodes();
  for (node_config& n : config.nodes) n.driver.rereg_key = driver::rereg_key_policy::renew;
  world w(config);
  reuse_options o;
  o.buffer = 4_KiB;
  o.message = 4_KiB;
  o.quiet_swaps = 0;
  std::vector<std::uint8_t> bytes(buffers * o.buffer - 100);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 31 + (i >> 8));
  std::vector<reuse_outcome> outcomes;
  start_reuse(w.sys(), o, bytes, {mode}, outcomes);
  sc_core::sc_start();
  EXPECT_TRUE(outcomes[0].ok) << outcomes[0].problem;
  EXPECT_EQ(outcomes[0].key_updates, key_updates);
}

TEST(conformance, SUN17) {
  stream(reuse_mode::kept_extend, 200, 1);
}
TEST(conformance, SUN17_remap) {
  stream(reuse_mode::kept_remap, 200, 1);
}
TEST(conformance, SUN18) {
  stream(reuse_mode::reregister, 200, 200);
}
TEST(conformance, SUN18_whole_region) {
  stream(reuse_mode::whole, 200, 200);
}
TEST(conformance, SUN18_deregister) {
  stream(reuse_mode::deregister, 200, 200);
}

}  // namespace
}  // namespace hcasim::kit
