// One R_Key over a changing set of segments is worth its name when a change costs what one segment costs, however many there
// are and whatever holes lie between them, and, without holes, no more than re-registering a region of that size.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "models/driver/verbs/x_verbs.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

constexpr std::uint64_t buffer = 16_KiB;
constexpr std::uint64_t first_va = 0x7f00'0000'0000;
constexpr int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
constexpr int changes = 64;

// The places of the segments, and which one goes: sliding takes the lowest and adds above the highest, scattered takes any.
struct pattern {
  std::uint64_t stride;  // from one place to the next
  bool scattered;        // over places of which a quarter is taken
  [[nodiscard]] bool in_one_piece() const { return stride == buffer && !scattered; }
};
constexpr pattern touching{buffer, false};
constexpr pattern comb{2 * buffer, false};
constexpr pattern scattered{2 * buffer, true};
constexpr pattern patchy{buffer, true};  // some touch

struct mean_times {
  double exchange = 0;
  double removal = 0;
  double addition = 0;
  double reregister = 0;
};

class changing_space {
 public:
  changing_space(cpu& c, node& n, std::size_t segments, pattern where, unsigned flags)
      : c_(c), p_(c, n), where_(where), flags_(flags), places_(4 * segments), random_(segments, "places") {
    memory_ = p_.memory.allocate((segments + 4 * changes) * buffer);
    while (mapped_.size() < segments) EXPECT_EQ(change(true, false), 0);
  }
  mean_times measure() {
    mean_times t;
    for (int i = 0; i < changes; ++i) {
      timed(t.exchange, [&] { return change(true, true); });
      timed(t.removal, [&] { return change(false, true); });
      timed(t.addition, [&] { return change(true, false); });
    }
    EXPECT_EQ(r_.segments, mapped_.size());
    EXPECT_EQ(x_teardown(c_, p_.context, r_.key), 0);
    ibv_mr* mr = ibv_reg_mr(c_, p_.pd, taken().addr, buffer, rights);
    for (int i = 0; i < changes; ++i) {
      const std::uint64_t to = taken().addr;
      timed(t.reregister, [&] { return ibv_rereg_mr(c_, mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, to, buffer, 0); });
    }
    EXPECT_EQ(ibv_dereg_mr(c_, mr), 0);
    EXPECT_TRUE(p_.close());
    return t;
  }

 private:
  x_buffer taken() { return {std::exchange(memory_, memory_ + buffer), buffer}; }

  template <class F>
  void timed(double& mean, F&& change) {
    const ps begin = c_.time();
    EXPECT_EQ(change(), 0);
    mean += static_cast<double>((c_.time() - begin).count()) / 1e3 / changes;
  }

  int change(bool one_comes, bool one_leaves) {
    std::uint32_t leaving = 0;
    std::uint64_t place = next_;
    if (one_comes && where_.scattered) {
      do {
        place = random_.below(places_);
      } while (mapped_.contains(place));
    }
    next_ += one_comes;
    if (one_leaves) {
      const auto goes = std::next(mapped_.begin(), static_cast<long>(where_.scattered ? random_.below(mapped_.size()) : 0));
      leaving = goes->second;
      mapped_.erase(goes);
    }
    int error = 0;
    const x_buffer b = one_comes ? taken() : x_buffer{};
    const std::uint64_t va = first_va + moved_ + place * where_.stride;
    if (r_.key == 0) {
      error = x_register(c_, p_.pd, nullptr, {&b, 1}, rights, flags_, &r_, va);
    } else if (one_comes && one_leaves) {
      error = x_exchange(c_, p_.context, r_.key, leaving, {&b, 1}, &r_, va, flags_);
    } else if (one_comes) {
      error = x_reregister_add(c_, p_.context, r_.key, {&b, 1}, &r_, va, flags_);
    } else {
      error = x_deregister_part(c_, p_.context, r_.key, leaving, &r_, flags_);
    }
    if (one_comes) mapped_[place] = r_.handle;
    moved_ = r_.start - first_va - mapped_.begin()->first * where_.stride;
    return error;
  }

  cpu& c_;
  process_context p_;
  const pattern where_;
  const unsigned flags_;
  const std::uint64_t places_;
  random_stream random_;
  std::uint64_t memory_ = 0;
  std::map<std::uint64_t, std::uint32_t> mapped_;  // handles
  std::uint64_t next_ = 0;
  std::uint64_t moved_ = 0;
  x_result r_;
};

void scales(pattern where, unsigned flags) {
  mean_times few;
  mean_times many;
  world w;
  EXPECT_TRUE(w.run({[&](cpu& c, node& n) {
    few = changing_space(c, n, 8, where, flags).measure();
    many = changing_space(c, n, 1024, where, flags).measure();
  }}));
  EXPECT_LE(many.exchange, 1.15 * few.exchange);
  EXPECT_LE(many.removal, 1.15 * few.removal);
  EXPECT_LE(many.addition, 1.15 * few.addition);
  // With holes the way down the tree is added to it.
  const double above = where.in_one_piece() ? 1 : 1.2;
  EXPECT_LE(few.exchange, above * few.reregister);
  EXPECT_LE(many.exchange, above * many.reregister);
}

TEST(space_scaling, extend) {
  scales(touching, X_EXTEND);
}
TEST(space_scaling, remap) {
  scales(touching, X_REMAP);
}
TEST(space_scaling, with_every_second_place_empty) {
  scales(comb, X_EXTEND);
}
TEST(space_scaling, with_every_second_place_empty_and_remap) {
  scales(comb, X_REMAP);
}
TEST(space_scaling, with_segments_here_and_there) {
  scales(scattered, X_EXTEND);
}
TEST(space_scaling, with_segments_here_and_there_and_remap) {
  scales(scattered, X_REMAP);
}
TEST(space_scaling, with_segments_of_which_some_touch) {
  scales(patchy, X_EXTEND);
}
TEST(space_scaling, with_segments_of_which_some_touch_and_remap) {
  scales(patchy, X_REMAP);
}

}  // namespace
}  // namespace hcasim::kit
