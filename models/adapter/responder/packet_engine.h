// The packet engine of the responder: requests and responses take turns.
#pragma once

#include "tlm/base/two_class_arbiter.h"

namespace hcasim {

struct packet_engine : two_class_arbiter {
  enum user : unsigned { request, response };
  using two_class_arbiter::two_class_arbiter;
};

}  // namespace hcasim
