// The units' designs, taken step by step, under inputs that make no sense.
#include "tlm/rtl/testing/steps.h"

#include "rtl/context_cache_design.h"
#include "rtl/doorbell_design.h"
#include "rtl/key_check_design.h"
#include "rtl/page_walker_design.h"
#include "rtl/qpc_cache_design.h"

namespace hcasim::rtl {
namespace {

TEST(steps, of_every_unit_are_as_whole_evaluations_have_it) {
  for (design_factory make : {make_doorbell_design, make_key_check_design, make_context_cache_design, make_qpc_cache_design,
                              make_page_walker_design}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) expect_steps_alike(make, seed);
  }
}

}  // namespace
}  // namespace hcasim::rtl
