// Programs that a program begins and that the library cannot come into: they run outside the simulation, and are told of.
#pragma once

namespace hcasim::preload {

// Returns whether a program, found as by execve and execvp, is one.
bool tell_of_outsider(const char* path);
bool tell_of_outsider_in_path(const char* file);

}  // namespace hcasim::preload
