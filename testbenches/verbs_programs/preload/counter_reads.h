// Reads of the time-stamp counter on machines that cannot trap them, as some virtual machines cannot. The first byte of each
// RDTSC and RDTSCP becomes the one of HLT, which faults in a program. Libraries that are loaded later are changed before they
// run. The loader calls a function for debuggers then (r_brk in <link.h>), which faults too.
//
// An instruction is found by its bytes. Its function must be known by the tables for exceptions (.eh_frame_hdr), and the
// lengths of the instructions before must lead there. Other code is left alone.
#pragma once

namespace hcasim::preload {

// Changes the code of the program and its libraries, and of all that are loaded from now on. False = the machine does not allow
// it.
bool replace_counter_reads();

// Returns whether the fault comes from the loader, which goes on then.
bool have_libraries_changed(void* context);

}  // namespace hcasim::preload
