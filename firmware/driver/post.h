// Posting send requests, for the verbs that do it.
#pragma once

#include "firmware/driver/objects.h"

namespace hcasim::driver {

// As ibv_post_send; `windows`: the type that IBV_WR_BIND_MW may name.
int post_sends(cpu& c, queue_pair& qp, verbs::ibv_send_wr* wr, verbs::ibv_send_wr** bad_wr, verbs::ibv_mw_type windows);

}  // namespace hcasim::driver
