// The one file of the system that librdmacm opens, /dev/infiniband/rdma_cm, and what programs write to it.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace hcasim::preload {

bool is_connection_file(int fd);
// Writes as write(2): n, or -1 with errno.
ssize_t write_command(int fd, const void* from, size_t n);
// The child of a fork has its parent's files, and can do nothing with them.
void disown_connection_files();

}  // namespace hcasim::preload
