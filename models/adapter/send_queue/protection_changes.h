// BIND, LOCAL_INV and FAST_REG WQEs: their requests to window_unit, and their status. Plain C++.
#pragma once

#include "firmware/abi/context.h"
#include "firmware/abi/cqe.h"
#include "tlm/window.h"
#include "tlm/work.h"

namespace hcasim {

// Reads a WQE that changes protection; false = this QP cannot have such a WQE.
bool read_change(const work_request& w, const hca_qpc& q, window_request& out);

// Returns the status of a refused change: MW_BIND_ERR for a bind [C.3] and for an invalidate [C6.5].
std::uint8_t status_of(window_op op, window_fault fault);

}  // namespace hcasim
