// The project's own RTL: the makers of its designs, which the build generates.
#pragma once

#include <memory>

#include "tlm/rtl/design.h"

namespace hcasim::rtl {

std::unique_ptr<design> make_context_cache_design(unsigned random_reset);
std::unique_ptr<design> make_doorbell_design(unsigned random_reset);
std::unique_ptr<design> make_key_check_design(unsigned random_reset);
std::unique_ptr<design> make_memory_port_design(unsigned random_reset);
std::unique_ptr<design> make_page_walker_design(unsigned random_reset);
std::unique_ptr<design> make_qpc_cache_design(unsigned random_reset);

}  // namespace hcasim::rtl
