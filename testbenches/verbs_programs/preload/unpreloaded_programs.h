// Programs that a program starts but the library cannot enter. They run outside the simulation, with a message on standard
// error.
#pragma once

namespace hcasim::preload {

// Reports a program without the library and returns true; false = the library can enter. The path is found as by execve, or as
// by execvp.
bool tell_of_outsider(const char* path);
bool tell_of_outsider_in_path(const char* file);

}  // namespace hcasim::preload
