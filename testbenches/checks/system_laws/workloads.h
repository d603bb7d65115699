// The workloads that the laws are held against.
#pragma once

#include <span>

#include "testbenches/checks/system_laws/experiment.h"

namespace hcasim::metamorphic {

std::span<const workload> workloads();
const workload& workload_named(std::string_view name);

}  // namespace hcasim::metamorphic
