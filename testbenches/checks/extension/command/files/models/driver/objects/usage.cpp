#include "models/driver/usage.h"

#include "models/driver/device/device.h"

namespace hcasim::verbs {

using namespace driver;

int hcax_query_usage(cpu& c, ibv_context* context, hca_usage* usage) {
  context->device->enter_kernel(c);
  return run(c, context, {.code = HCA_CMD_QUERY_USAGE, .out = out_bytes(*usage)}).error;
}

}  // namespace hcasim::verbs
