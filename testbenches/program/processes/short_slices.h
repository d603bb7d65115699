// Shortens the time slices of this process: a process that a core waits for should not wait for a core.
#pragma once

namespace hcasim {

// For a process that others wait for and that has less than a millisecond to do: its slices come before the long ones of the
// simulations (Linux 6.12 and newer; others change nothing). Its children have the ordinary ones.
void ask_for_short_slices();

}  // namespace hcasim
