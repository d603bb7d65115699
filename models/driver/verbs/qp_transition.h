// The attributes that a change of a QP's state needs and takes: the table of IBA and of the Linux core, by type of QP.
#pragma once

#include "models/driver/verbs/verbs.h"

namespace hcasim::driver {

// Takes out the attributes of the side that an XRC QP lacks: the Linux core ignores them, and programs give those of RC.
int applicable_attributes(verbs::ibv_qp_type type, int mask);

// Tells whether ibv_modify_qp may go from `from` to `to` with this mask. Without IBV_QP_STATE `to` equals `from`.
bool transition_ok(verbs::ibv_qp_type type, verbs::ibv_qp_state from, verbs::ibv_qp_state to, int mask);

}  // namespace hcasim::driver
