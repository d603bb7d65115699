// BIND, LOCAL_INV and FAST_REG WQEs: what they ask of window_unit, and how they end. Plain C++.
#pragma once

#include "firmware/abi/context.h"
#include "firmware/abi/cqe.h"
#include "tlm/window.h"
#include "tlm/work.h"

namespace hcasim {

// False = this QP cannot have such a WQE.
bool read_change(const work_request& w, const hca_qpc& q, window_request& out);

// [C.3: a refused bind is MW_BIND_ERR; C6.5: so is a refused invalidate]
std::uint8_t status_of(window_op op, window_fault fault);

}  // namespace hcasim
