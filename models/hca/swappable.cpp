#include "models/hca/swappable.h"

#include <stdexcept>
#include <string>

#include "rtl/context_cache_design.h"
#include "rtl/doorbell_design.h"
#include "rtl/key_check_design.h"
#include "rtl/page_walker_design.h"

namespace hcasim {

doorbell_unit::doorbell_unit(const char* name, const doorbell_config& config, const clock_domain& clock)
    : either(config.implementation == implementation::model
                 ? either(std::make_unique<hcasim::doorbell>(name, config, clock))
                 : either(std::make_unique<doorbell_rtl>(name, config, clock, rtl::make_doorbell_design))) {}

key_check_unit::key_check_unit(const char* name, const key_check_config& config, const clock_domain& clock)
    : either(config.implementation == implementation::model
                 ? either(std::make_unique<key_check>(name, config, clock))
                 : either(std::make_unique<key_check_rtl>(name, config, clock, rtl::make_key_check_design))) {}

context_cache_unit::context_cache_unit(const char* name, const context_cache_config& config, const clock_domain& clock,
                                       std::uint32_t entry_bytes, unsigned clients, const cell_protection& protection)
    : either(config.implementation == implementation::model
                 ? either(std::make_unique<context_cache>(name, config, clock, entry_bytes, clients, protection))
                 : either(std::make_unique<context_cache_rtl>(name, config, clock, clients, rtl::make_context_cache_design))) {
  if (rtl_ && entry_bytes != context_cache_rtl::entry_bytes) {
    throw std::invalid_argument(std::string(name) + ": the RTL has entries of 64 bytes, not of " + std::to_string(entry_bytes));
  }
}

page_walker_unit::page_walker_unit(const char* name, const page_walker_config& config, const clock_domain& clock,
                                   unsigned clients, const cell_protection& protection)
    : either(config.implementation == implementation::model
                 ? either(std::make_unique<page_walker>(name, config, clock, clients, protection))
                 : either(std::make_unique<page_walker_rtl>(name, config, clock, clients, rtl::make_page_walker_design))) {}

}  // namespace hcasim
