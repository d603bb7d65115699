// The project's RTL with waveforms, and with coverage as well, which `rtl` means in whole systems of this program.
#include "rtl/context_cache_covered.h"
#include "rtl/context_cache_faulty.h"
#include "rtl/doorbell_covered.h"
#include "rtl/doorbell_faulty.h"
#include "rtl/key_check_covered.h"
#include "rtl/key_check_faulty.h"
#include "rtl/page_walker_covered.h"
#include "rtl/page_walker_faulty.h"
#include "tlm/rtl/registry.h"

namespace hcasim::rtl {
namespace {

const registered instrumented[] = {{"doorbell", "instrumented", make_doorbell_faulty},
                                   {"key_check", "instrumented", make_key_check_faulty},
                                   {"page_walker", "instrumented", make_page_walker_faulty},
                                   {"context_cache", "instrumented", make_context_cache_faulty}};
const registered covered[] = {{"doorbell", "covered", make_doorbell_covered},
                              {"key_check", "covered", make_key_check_covered},
                              {"page_walker", "covered", make_page_walker_covered},
                              {"context_cache", "covered", make_context_cache_covered}};

}  // namespace
}  // namespace hcasim::rtl
