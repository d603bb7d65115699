// A completion unit in a shared object: the model with a statistic that the program's own unit does not have.
#include "models/adapter/completion/completion.h"
#include "models/adapter/completion/completion_boundary.h"
#include "tlm/rtl/unit_object.h"

namespace {

class own_completion : public hcasim::completion {
 public:
  own_completion(const sc_core::sc_module_name& name, const hcasim::completion_config& config,
                 const hcasim::clock_domain& clock, unsigned reporters)
      : completion(name, config, clock, reporters) {
    stats_.total("mine", "1", "it is not the program's own", [this](hcasim::ps) { return static_cast<double>(completed()); });
  }
};

hcasim::completion_boundary make(const char* name, const hcasim::completion_config& config, const hcasim::clock_domain& clock,
                                 unsigned reporters) {
  return hcasim::completion_boundary::of(std::make_unique<own_completion>(name, config, clock, reporters));
}

}  // namespace

HCASIM_WHOLE_UNIT_OBJECT("completion", "own_completion", make)
