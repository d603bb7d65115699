// The units' designs, taken step by step, under inputs that make no sense.
#include "tlm/rtl/testing/steps.h"

#include <string_view>

#include "rtl/context_cache_design.h"
#include "rtl/doorbell_design.h"
#include "rtl/key_check_design.h"
#include "rtl/page_walker_design.h"
#include "rtl/qpc_cache_design.h"

namespace hcasim::rtl {
namespace {

TEST(steps, of_every_unit_equal_whole_evaluations) {
  unsigned designs = 0;
  for (design_factory make : {make_doorbell_design, make_key_check_design, make_context_cache_design, make_qpc_cache_design,
                              make_page_walker_design}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) designs += expect_steps_alike(make, seed);
  }
  EXPECT_EQ(designs, std::string_view(HCASIM_VERILATOR) == "5.006" ? 50U : 0U);
}

// Falling offers save most of a whole adapter's evaluations.
TEST(steps, of_key_check_and_page_walker_let_offers_fall) {
  const auto falls = [](design_factory make, const char* name) {
    const std::unique_ptr<design> d = make(0);
    return d->find(name, true, 0).falls == d->steps();
  };
  for (const char* name : {"req", "rel", "drn"}) EXPECT_TRUE(falls(make_key_check_design, name)) << name;
  for (const char* name : {"req", "mem_rsp"}) EXPECT_TRUE(falls(make_page_walker_design, name)) << name;
}

}  // namespace
}  // namespace hcasim::rtl
