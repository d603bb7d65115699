// The one system file that librdmacm opens, /dev/infiniband/rdma_cm, and the writes of programs.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace hcasim::preload {

bool is_connection_file(int fd);
// Writes as write(2): n, or -1 with errno.
ssize_t write_command(int fd, const void* from, size_t n);
// Makes the files useless in the child of a fork, which has its parent's descriptors.
void disown_connection_files();

}  // namespace hcasim::preload
