#include "tlm/base/two_class_arbiter.h"

#include <gtest/gtest.h>

#include <vector>

#include "tlm/base/process.h"
#include "tlm/base/unit.h"

namespace hcasim {
namespace {

struct grant {
  unsigned kind;
  int number;
  ps at;
  bool operator==(const grant&) const = default;
};

class shared : public unit {
 public:
  explicit shared(const sc_core::sc_module_name& n) : unit(n), engine(queue_, 10_ns) {}
  two_class_arbiter engine;
  std::vector<grant> grants;

  process use(unsigned kind, int number, ps from, int times = 1) {
    co_await queue_.until(from);
    for (int i = 0; i < times; ++i) {
      co_await engine.turn(kind);
      grants.push_back({kind, number + i, now()});
    }
  }
};

TEST(two_class_arbiter, one_kind_alone_has_all_of_it_in_order) {
  shared s("s");
  for (int i = 0; i < 4; ++i) s.use(0, i, 5_ns);
  s.use(0, 4, 100_ns);
  sc_core::sc_start();
  EXPECT_EQ(s.grants, (std::vector<grant>{{0, 0, 5_ns}, {0, 1, 15_ns}, {0, 2, 25_ns}, {0, 3, 35_ns}, {0, 4, 100_ns}}));
  EXPECT_EQ(s.engine.busy_until(now()), 40_ns) << "the last one has just begun";
}

// A kind with many waiting requests does not hold up a kind that requests one turn after the other.
TEST(two_class_arbiter, kinds_alternate_whatever_waits) {
  shared s("s");
  for (int i = 0; i < 6; ++i) s.use(0, i, 0_ns);
  s.use(1, 0, 1_ns, 3);
  sc_core::sc_start();
  std::vector<unsigned> kinds;
  for (std::size_t i = 0; i < s.grants.size(); ++i) {
    kinds.push_back(s.grants[i].kind);
    EXPECT_EQ(s.grants[i].at, ps(10'000 * static_cast<std::int64_t>(i)));
  }
  EXPECT_EQ(kinds, (std::vector<unsigned>{0, 1, 0, 1, 0, 1, 0, 0, 0}));
}

// A request at the moment a turn ends has not waited, and goes behind requests that have.
TEST(two_class_arbiter, a_waiting_request_is_not_overtaken) {
  shared s("s");
  s.use(0, 0, 0_ns);
  s.use(0, 1, 10_ns);
  s.use(0, 2, 3_ns);
  sc_core::sc_start();
  EXPECT_EQ(s.grants, (std::vector<grant>{{0, 0, 0_ns}, {0, 2, 10_ns}, {0, 1, 20_ns}}));
}

}  // namespace
}  // namespace hcasim
