// One R_Key over a changing set of segments is worth its name when a change costs what one segment costs, however many there
// are, and no more than re-registering a region of that size.
#include <gtest/gtest.h>

#include <deque>

#include "models/driver/x_verbs.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

constexpr std::uint64_t buffer = 16_KiB;
constexpr int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
constexpr int changes = 64;

struct mean_times {
  double exchange = 0;
  double removal = 0;
  double addition = 0;
  double reregister = 0;
};

double ns(ps t) {
  return static_cast<double>(t.count()) / 1e3 / changes;
}

mean_times measure(cpu& c, node& n, std::size_t segments, unsigned flags) {
  mean_times t;
  process_context p(c, n);
  std::uint64_t next = p.memory.allocate((segments + 4 * changes) * buffer);
  const auto taken = [&next] { return x_buffer{std::exchange(next, next + buffer), buffer}; };
  std::deque<std::uint32_t> handles;
  x_result r;
  const auto timed = [&](double& mean, auto&& change) {
    const ps begin = c.time();
    EXPECT_EQ(change(), 0);
    mean += ns(c.time() - begin);
  };
  const auto add = [&] {
    const x_buffer b = taken();
    const int error = handles.empty() ? x_register(c, p.pd, nullptr, {&b, 1}, rights, flags, &r)
                                      : x_reregister_add(c, p.context, r.key, {&b, 1}, &r, x_any_va, flags);
    handles.push_back(r.handle);
    return error;
  };
  const auto exchange = [&] {
    const x_buffer b = taken();
    const int error = x_exchange(c, p.context, r.key, handles.front(), {&b, 1}, &r, x_any_va, flags);
    handles.pop_front();
    handles.push_back(r.handle);
    return error;
  };
  const auto remove = [&] {
    const int error = x_deregister_part(c, p.context, r.key, handles.front(), &r, flags);
    handles.pop_front();
    return error;
  };
  for (std::size_t i = 0; i < segments; ++i) EXPECT_EQ(add(), 0);
  for (int i = 0; i < changes; ++i) {
    timed(t.exchange, exchange);
    timed(t.removal, remove);
    timed(t.addition, add);
  }
  EXPECT_EQ(r.segments, segments);
  EXPECT_EQ(x_teardown(c, p.context, r.key), 0);
  ibv_mr* mr = ibv_reg_mr(c, p.pd, taken().addr, buffer, rights);
  for (int i = 0; i < changes; ++i) {
    const std::uint64_t to = taken().addr;
    timed(t.reregister, [&] { return ibv_rereg_mr(c, mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, to, buffer, 0); });
  }
  EXPECT_EQ(ibv_dereg_mr(c, mr), 0);
  EXPECT_TRUE(p.close());
  return t;
}

void scales(unsigned flags) {
  mean_times few;
  mean_times many;
  world w;
  EXPECT_TRUE(w.run({[&](cpu& c, node& n) {
    few = measure(c, n, 8, flags);
    many = measure(c, n, 1024, flags);
  }}));
  EXPECT_LE(many.exchange, 1.15 * few.exchange);
  EXPECT_LE(many.removal, 1.15 * few.removal);
  EXPECT_LE(many.addition, 1.15 * few.addition);
  EXPECT_LE(few.exchange, few.reregister);
  EXPECT_LE(many.exchange, many.reregister);
}

TEST(space_scaling, extend) {
  scales(X_EXTEND);
}
TEST(space_scaling, remap) {
  scales(X_REMAP);
}

}  // namespace
}  // namespace hcasim::kit
