// Transports besides RC, and shared receive queues.
#pragma once

#include "testbenches/checks/conformance/base.h"

namespace hcasim::kit {

inline constexpr qp_options uc{.type = IBV_QPT_UC};
inline constexpr qp_options ud{.type = IBV_QPT_UD};

inline ibv_srq* create_srq(cpu& c, ibv_pd* pd, std::uint32_t depth = 16) {
  ibv_srq_init_attr init{nullptr, {depth, 2, 0}};
  return ibv_create_srq(c, pd, &init);
}

}  // namespace hcasim::kit
