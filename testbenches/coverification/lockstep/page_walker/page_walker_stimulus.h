// How the items of the page walker's streams are drawn.
#pragma once

#include "testbenches/coverification/lockstep/lockstep.h"

namespace hcasim::lockstep {

item_stream walk_items(const options& o);

}  // namespace hcasim::lockstep
