// Entries of a context cache in messages.
#include "testbenches/coverification/lockstep/context_cache/context_cache_entries.h"

#include <gtest/gtest.h>

#include <cstring>

#include "firmware/abi/context.h"
#include "firmware/abi/mrc.h"

namespace hcasim::lockstep {
namespace {

template <class T>
std::string shown(const T& entry, const T& other) {
  return fields_unlike(reinterpret_cast<const std::byte*>(&entry), reinterpret_cast<const std::byte*>(&other), sizeof(T));
}

TEST(context_entries, show_fields_that_differ) {
  hca_qpc qp{}, other_qp{};
  EXPECT_EQ(shown(qp, other_qp), "[]");
  qp.pd = 0x1234;
  qp.next_psn = 0xabcdef;
  qp.rq.pages = 0x123456789abcdef0;
  qp.route.dgid.byte[15] = 0x7f;
  EXPECT_EQ(shown(qp, other_qp),
            "[qpc: pd 0x1234 next_psn 0xabcdef route.dgid 0000000000000000000000000000007f rq.pages 0x123456789abcdef0]");
  hca_mrc region{}, other_region{};
  region.table = 0x4000;
  EXPECT_EQ(shown(region, other_region), "[mrc: table 0x4000; cqc: armed_ci 0x4000]");
}

TEST(context_entries, answers_that_differ_are_shown_side_by_side) {
  context_entries entries(sizeof(hca_qpc));
  hca_qpc of_model{}, of_rtl{};
  of_model.msn = 5;
  of_rtl.msn = 6;
  of_rtl.in_key = 7;
  const auto* const model_bytes = reinterpret_cast<const std::byte*>(&of_model);
  const auto* const rtl_bytes = reinterpret_cast<const std::byte*>(&of_rtl);
  entries.answered(rtl_side, 3, rtl_bytes);
  entries.answered(rtl_side, 4, rtl_bytes);
  entries.answered(model_side, 3, model_bytes);
  comparison::answer model{}, rtl{};
  context_entries::mix(model, model_bytes, sizeof(hca_qpc));
  context_entries::mix(rtl, rtl_bytes, sizeof(hca_qpc));
  ASSERT_EQ(entries.describe(3, model).size(), 2U);
  EXPECT_EQ(entries.describe(3, model)[1].value, "[qpc: msn 0x5 in_key 0x0]");
  EXPECT_EQ(entries.describe(3, rtl)[1].value, "[qpc: msn 0x6 in_key 0x7]");
}

// For any wrong bytes of an entry, the message names fields.
TEST(context_entries, are_shown_by_fields_in_a_run) {
  for (const auto& [unit, layout] : {std::pair("context_cache", "mrc"), std::pair("qpc_cache", "qpc")}) {
    options o;
    o.requests = 5'000;
    o.instrumented = true;
    o.fault = 3;  // a request is answered with the entry that was there before
    const report r = run_isolated(unit, make_bench(unit)->generate(o), o);
    EXPECT_NE(r.problem.find(std::string("[") + layout + ": "), std::string::npos) << r.problem;
  }
}

}  // namespace
}  // namespace hcasim::lockstep
