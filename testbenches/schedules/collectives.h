// Schedules of collective operations, and their bus bandwidth as nccl-tests defines it. A new operation is a file NAME.h in
// `collectives` with a class `NAME_collective`. The build finds the file, and `hcasim run schedule` offers the operation.
#pragma once

#include <initializer_list>
#include <string_view>

#include "testbenches/schedules/collective_steps.h"
#include "testbenches/schedules/collectives/all.h"

namespace hcasim::schedules {

#define HCASIM_OPERATION(name) name,
enum class collective : std::uint8_t { HCASIM_COLLECTIVES(HCASIM_OPERATION) };
#undef HCASIM_OPERATION

#define HCASIM_OPERATION(name) std::string_view(#name),
inline const std::initializer_list<std::string_view> collective_names = {HCASIM_COLLECTIVES(HCASIM_OPERATION)};
#undef HCASIM_OPERATION

schedule make(collective what, const collective_options& o);
double bus_factor(collective what, std::uint32_t ranks);

}  // namespace hcasim::schedules
