// Files of /proc that show the machine's clock or processor time: a program reads simulated ones.
#pragma once

namespace hcasim::preload {

// A descriptor of the simulated file; -1 = the path means none.
int open_proc_file(const char* path, int flags);
// Before a read: one from the beginning shows the present time.
void refresh_proc_file(int fd);
// Before the number means something else.
void drop_proc_file(int fd);

}  // namespace hcasim::preload
