// Ways of waiting: poll() on a completion channel, and a polling loop over several CQs.
#pragma once

#include <span>

#include "models/driver/verbs/verbs.h"

namespace hcasim::verbs {

// Sleeps until the channel has an event, at most `timeout`; returns whether it has one. One thread of a channel at a time.
bool hcax_poll_channel(cpu& c, ibv_comp_channel* channel, ps timeout);
// Sleeps until a CQE has come to one of the CQs, as a polling loop over all of them would. A poll may still find nothing.
// False = `timeout` passed.
bool wait_cqs(cpu& c, std::span<ibv_cq* const> cqs, ps timeout);

}  // namespace hcasim::verbs
