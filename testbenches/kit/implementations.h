// Units as RTL in a test's system, whatever the test. The environment variable HCASIM_RTL names them, separated by commas:
// doorbell, key_check, page_walker, walker_dma_bridge, completion, qpc_cache, mrc_cache, extent_cache, cqc_cache, or all.
// key_check=libmine.so takes the unit of a shared object.
#pragma once

#include <string>

#include "models/system/system_config.h"

namespace hcasim::kit {

// Throws std::invalid_argument: no such unit.
system_config with_rtl(system_config config, const std::string& units);
// Applies the environment. HCASIM_IOMMU, if it is set, puts an IOMMU before every adapter; "ats": and gives the adapter a
// translation cache of its own. HCASIM_REREG_KEY: a re-registered region gets a new key. HCASIM_SCARCE: adapters with
// processing units, an evicting WQE cache, small context caches that write changed lines, and a small cache of the map of ICM.
// Misses and conflicts have long queues behind them; hosts have a small last-level cache.
system_config as_in_environment(system_config config);

}  // namespace hcasim::kit
