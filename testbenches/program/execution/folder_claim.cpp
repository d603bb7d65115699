#include "testbenches/program/execution/folder_claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace hcasim {
namespace {

// An earlier holder may have moved or removed the folder before the lock came.
bool is_still(int fd, const std::filesystem::path& folder) {
  struct stat held {};
  struct stat there {};
  return ::fstat(fd, &held) == 0 && ::stat(folder.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

[[noreturn]] void fail(int error, const char* doing) {
  throw std::system_error(error, std::generic_category(), doing);
}

}  // namespace

folder_claim::folder_claim(const std::filesystem::path& folder) {
  for (;;) {
    const bool made = ::mkdir(folder.c_str(), 0777) == 0;
    if (!made && errno != EEXIST) fail(errno, "mkdir");
    fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd_ < 0 && errno == ENOENT) continue;
    if (fd_ < 0) {
      const int error = errno;
      if (made) ::rmdir(folder.c_str());
      fail(error, "open");
    }
    const int error = ::flock(fd_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (error != EWOULDBLOCK && is_still(fd_, folder)) return;
    ::close(fd_);
    if (error == EWOULDBLOCK) fail(error, "flock");
  }
}

folder_claim::~folder_claim() {
  ::close(fd_);
}

}  // namespace hcasim
