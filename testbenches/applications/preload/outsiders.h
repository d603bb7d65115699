// Programs that a program begins and that the library cannot come into: they run outside the simulation, and are told of.
#pragma once

namespace hcasim::preload {

// Of a program as execve and execvp find it: whether it is one.
bool tell_of_outsider(const char* path);
bool tell_of_outsider_in_path(const char* file);

}  // namespace hcasim::preload
