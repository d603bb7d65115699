// The device's own file. No program opens it, but some look whether they may before they ask for the device.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>

#include "testbenches/verbs_programs/preload/connection.h"

namespace {

bool means_device(const char* path) {
  return path && std::strcmp(path, "/dev/infiniband/uverbs0") == 0 && hcasim::preload::mine();
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the C library's own names
HCASIM_PUBLIC int access(const char* path, int rights) noexcept {
  return means_device(path) ? 0 : static_cast<int>(::syscall(SYS_faccessat, AT_FDCWD, path, rights));
}

HCASIM_PUBLIC int stat(const char* path, struct stat* out) noexcept {
  if (!means_device(path)) return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, out, 0));
  constexpr unsigned infiniband_verbs = 231;
  constexpr unsigned first_minor = 192;
  *out = {};
  out->st_mode = S_IFCHR | 0666;
  out->st_rdev = makedev(infiniband_verbs, first_minor);
  return 0;
}
HCASIM_PUBLIC int stat64(const char* path, struct stat64* out) noexcept {
  return stat(path, reinterpret_cast<struct stat*>(out));
}
// NOLINTEND(readability-identifier-naming)
