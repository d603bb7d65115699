// Reports of SystemC. The kernel's own time in them is behind simulated time (tlm/base/event_queue.h).
#pragma once

#include <string>

#include "tlm/base/kernel.h"

namespace hcasim {

// Returns the text of a report, with simulated time.
std::string text_of(const sc_core::sc_report& r);

// Reports that the kernel shows by itself are shown with simulated time from now on. A handler of the program's own stays.
void show_reports_in_time();

}  // namespace hcasim
