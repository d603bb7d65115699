// Files of /proc with a clock, processor time or the identity of the host: a program reads what its simulated node has.
#pragma once

namespace hcasim::preload {

// Opens the simulated file for a path and returns its descriptor; -1 = there is no simulated file.
int open_proc_file(const char* path, int flags);
// Brings the file up to date before a read from its beginning.
void refresh_proc_file(int fd);
// Drops a descriptor before its number is used again.
void drop_proc_file(int fd);

}  // namespace hcasim::preload
