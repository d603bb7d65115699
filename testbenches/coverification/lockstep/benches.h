// The benches there are, and what they have in common.
#pragma once

#include "testbenches/coverification/lockstep/lockstep.h"
#include "tlm/dma.h"

namespace hcasim::lockstep {

std::unique_ptr<bench> make_doorbell_bench();
std::unique_ptr<bench> make_key_check_bench();
std::unique_ptr<bench> make_page_walker_bench();
std::unique_ptr<bench> make_context_cache_bench();
std::unique_ptr<bench> make_qpc_cache_bench();

// The RTL that is compared. `faulty`: null, there is none.
inline rtl::design_factory design_of(const options& o, rtl::design_factory plain, rtl::design_factory faulty) {
  return o.design ? o.design : o.instrumented && faulty ? faulty : plain;
}
rtl::shell_options shell_of(const options& o);

// Makes the seeded fault active. It is found by its answers: assertions are off then.
void set_fault(rtl::shell& shell, const options& o);
// Counts an access to memory.
void count_access(comparison& c, side s, const dma_request& r);
// Stalls of every stream become coverage (random mode), and the coverage of the RTL's lines and toggles
// is written if it was built with that.
void finish_rtl(rtl::shell* shell, const options& o, report& r);

}  // namespace hcasim::lockstep
