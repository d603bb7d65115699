// The clock of the tests of shells.
#pragma once

#include "tlm/base/clock_domain.h"

namespace hcasim::rtl {

inline const clock_domain clock_400(frequency{400e6});

}  // namespace hcasim::rtl
