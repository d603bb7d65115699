// The project's RTL with waveforms and coverage, which `rtl` means in whole systems of this program.
#include "rtl/context_cache_faulty.h"
#include "rtl/doorbell_faulty.h"
#include "rtl/key_check_faulty.h"
#include "rtl/page_walker_faulty.h"
#include "tlm/rtl/registry.h"

namespace hcasim::rtl {
namespace {

const registered instrumented[] = {{"doorbell", "instrumented", make_doorbell_faulty},
                                   {"key_check", "instrumented", make_key_check_faulty},
                                   {"page_walker", "instrumented", make_page_walker_faulty},
                                   {"context_cache", "instrumented", make_context_cache_faulty}};

}  // namespace
}  // namespace hcasim::rtl
