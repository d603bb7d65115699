#include "tlm/base/server.h"

#include <stdexcept>
#include <string>

namespace hcasim {

void server_out_of_order(ps t, ps before) {
  throw std::logic_error("a resource was asked for " + std::to_string(t.count()) + " ps after it had been asked for " +
                         std::to_string(before.count()) + " ps");
}

}  // namespace hcasim
