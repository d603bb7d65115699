// All benches, and their common parts.
#pragma once

#include "testbenches/coverification/lockstep/lockstep.h"
#include "tlm/dma.h"

namespace hcasim::lockstep {

std::unique_ptr<bench> make_doorbell_bench();
std::unique_ptr<bench> make_key_check_bench();
std::unique_ptr<bench> make_page_walker_bench();
std::unique_ptr<bench> make_context_cache_bench();
std::unique_ptr<bench> make_qpc_cache_bench();

rtl::shell_options shell_of(const options& o);

// Activates the seeded fault and turns assertions off, so that only answers can show the fault.
void set_fault(rtl::shell& shell, const options& o);
// Counts an access to memory.
void count_access(comparison& c, side s, const dma_request& r);
// Turns the stalls of every stream into coverage (random mode), and writes the RTL's line and toggle coverage if the build has
// one.
void finish_rtl(rtl::shell* shell, const options& o, report& r);

}  // namespace hcasim::lockstep
