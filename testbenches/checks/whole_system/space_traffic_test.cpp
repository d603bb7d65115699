// Accesses to the segments that stay go on, each with its bytes, while others between them come and go and every line of the
// tree above is made anew; with caches so small that each of them reads those lines from ICM. What has gone is out of reach.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "models/driver/verbs/x_verbs.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

constexpr std::uint64_t piece = 4_KiB;
constexpr std::uint64_t lowest_va = 0x7f00'0000'0000;
constexpr std::uint64_t staying = 48;
constexpr unsigned at_once = 12;

class traffic {
 public:
  traffic(cpu& c, node& n, std::uint64_t seed) : c_(c), p_(c, n), random_(seed, "traffic") {
    cq_ = ibv_create_cq(c, p_.context, 256, nullptr, nullptr, 0);
    a_ = p_.create_qp(options, nullptr, cq_);
    b_ = p_.create_qp(options, nullptr, cq_);
    EXPECT_EQ(p_.connect(a_, p_.address_of(b_, options), options), 0);
    EXPECT_EQ(p_.connect(b_, p_.address_of(a_, options), options), 0);
    from_ = p_.allocate(at_once * piece);
    memory_ = p_.memory.allocate((staying + 1024) * piece, page_policy::scattered);
    next_ = memory_ + staying * piece;
    // Those that stay have every fourth place; what comes and goes lies between them, beside one or not.
    for (std::uint64_t i = 0; i < staying; ++i) EXPECT_EQ(add(4 * i, memory_ + i * piece), 0);
  }

  void run() {
    for (int i = 0; i < 300; ++i) {
      p_.fill(from_.addr, from_.length, static_cast<std::uint8_t>(i + 1));
      std::vector<std::uint64_t> to;
      for (unsigned k = 0; k < at_once; ++k) {
        to.push_back(random_.below(staying));
        const ibv_sge s{from_.addr + k * piece, piece, from_.mr->lkey};
        const std::uint64_t va = lowest_va + moved_ + 4 * to.back() * piece;
        ASSERT_EQ(post(c_, a_, {.id = k, .sges = {s}, .remote = va, .rkey = r_.key}), 0);
      }
      change();
      for (unsigned k = 0; k < at_once; ++k) {
        const auto wc = next_completion(c_, cq_, 1_ms);
        ASSERT_TRUE(wc && wc->status == IBV_WC_SUCCESS && wc->wr_id == k) << i;
      }
      for (unsigned k = 0; k < at_once; ++k) {
        const bool last = std::find(to.begin() + k + 1, to.end(), to[k]) == to.end();
        if (last) {
          ASSERT_EQ(p_.bytes(memory_ + to[k] * piece, piece), p_.bytes(from_.addr + k * piece, piece)) << i;
        }
      }
    }
  }

  void reach_for_what_has_gone() {
    if (passing_.empty()) change();
    const std::uint64_t place = passing_.begin()->first;
    ASSERT_EQ(x_deregister_part(c_, p_.context, r_.key, passing_.begin()->second, &r_, 0), 0);
    const ibv_sge s{from_.addr, 8, from_.mr->lkey};
    ASSERT_EQ(post(c_, a_, {.sges = {s}, .remote = lowest_va + moved_ + place * piece, .rkey = r_.key}), 0);
    const auto wc = next_completion(c_, cq_, 1_ms);
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->status, IBV_WC_REM_ACCESS_ERR);
  }

 private:
  static constexpr qp_options options{.send_depth = 32, .receive_depth = 4};

  int add(std::uint64_t place, std::uint64_t memory, std::uint32_t leaving = 0) {
    const x_buffer b{memory, piece};
    const std::uint64_t va = lowest_va + moved_ + place * piece;
    const int allowed = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    const int error = r_.key == 0    ? x_register(c_, p_.pd, nullptr, {&b, 1}, allowed, 0, &r_, va)
                      : leaving != 0 ? x_exchange(c_, p_.context, r_.key, leaving, {&b, 1}, &r_, va, 0)
                                     : x_reregister_add(c_, p_.context, r_.key, {&b, 1}, &r_, va, 0);
    moved_ = r_.start - lowest_va;
    return error;
  }

  void change() {
    const std::uint64_t what = random_.below(4);
    const auto any = [&] { return std::next(passing_.begin(), static_cast<std::ptrdiff_t>(random_.below(passing_.size()))); };
    if (what == 0 && !passing_.empty()) {
      const auto goes = any();
      ASSERT_EQ(x_deregister_part(c_, p_.context, r_.key, goes->second, &r_, 0), 0);
      passing_.erase(goes);
      return;
    }
    std::uint64_t place = 0;
    do {
      place = 4 * random_.below(staying) + 1 + random_.below(3);
    } while (passing_.contains(place));
    std::uint32_t leaving = 0;
    if (what > 1 && passing_.size() > 8) {
      const auto goes = any();
      leaving = goes->second;
      passing_.erase(goes);
    }
    ASSERT_EQ(add(place, std::exchange(next_, next_ + piece), leaving), 0);
    passing_[place] = r_.handle;
  }

  cpu& c_;
  process_context p_;
  random_stream random_;
  ibv_cq* cq_ = nullptr;
  ibv_qp* a_ = nullptr;
  ibv_qp* b_ = nullptr;
  region from_;
  std::uint64_t memory_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t moved_ = 0;
  x_result r_;
  std::map<std::uint64_t, std::uint32_t> passing_;  // handles, by place
};

class space_traffic : public ::testing::TestWithParam<std::tuple<unsigned, bool>> {};

TEST_P(space_traffic, never_sees_half_a_change) {
  const auto [seed, rtl] = GetParam();
  system_config described = world::one_node();
  hca_config& h = described.nodes[0].hca;
  h.extent_cache.sets = 1;
  h.extent_cache.ways = 1 + seed % 3;
  h.key_check.implementation = rtl ? implementation::rtl : implementation::model;
  world w(described);
  bool done = false;
  EXPECT_TRUE(w.run({[&](cpu& c, node& n) {
    traffic t(c, n, seed);
    t.run();
    if (!HasFailure()) t.reach_for_what_has_gone();
    done = true;
  }}));
  EXPECT_TRUE(done);
}

INSTANTIATE_TEST_SUITE_P(seeds, space_traffic, ::testing::Combine(::testing::Range(1U, 7U), ::testing::Bool()));

}  // namespace
}  // namespace hcasim::kit
