// Ends simulations with work under way, to test the order of destruction. HCASIM_END in the environment says when:
//
//   at:TIME     the simulation ends when TIME picoseconds have passed
//   often:SEED  at seeded random moments, two in each doubling of simulated time, a child of the process goes on in its place
//               and ends its simulation there. A child that hangs or dies by a signal aborts the process. A process with
//               threads (designs Verilated with --threads, a waveform in FST) takes `at`: a child has none of the threads
#pragma once

namespace hcasim {

// Plans the ends of HCASIM_END; call before the simulation starts. Only the first call plans any.
void plan_sudden_ends();

}  // namespace hcasim
