// Ends simulations with work under way, to test what is destroyed in which order. HCASIM_END in the environment says when:
//
//   at:TIME     the simulation ends when TIME picoseconds have passed
//   often:SEED  at seeded random moments, two in each doubling of simulated time, a child of the process goes on in its place
//               and ends its simulation there; a child that a signal ends, or that hangs, aborts the process. A process with
//               threads (a design Verilated with --threads, a waveform in FST) takes `at`: a child has none of them
#pragma once

namespace hcasim {

// Before the simulation starts; only the first call plans any.
void plan_sudden_ends();

}  // namespace hcasim
