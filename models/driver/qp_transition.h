// Which attributes a change of a QP's state needs and takes; the table of IBA and of the Linux core, for RC, UC and UD.
#pragma once

#include "models/driver/verbs.h"

namespace hcasim::driver {

// Whether ibv_modify_qp may go from `from` to `to` with this mask. Without IBV_QP_STATE `to` equals `from`.
bool transition_ok(verbs::ibv_qp_type type, verbs::ibv_qp_state from, verbs::ibv_qp_state to, int mask);

}  // namespace hcasim::driver
