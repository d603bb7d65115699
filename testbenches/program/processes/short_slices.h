// Shortens the time slices of this process: a process that a core waits for should not wait for a core.
#pragma once

namespace hcasim {

// Shortens the time slices of this process, which others wait for and which works less than a millisecond. Its slices then come
// before the long ones of the simulations. Linux 6.12 and newer; others change nothing. Children have ordinary slices.
void ask_for_short_slices();

}  // namespace hcasim
