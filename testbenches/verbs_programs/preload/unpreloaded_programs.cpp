#include "testbenches/verbs_programs/preload/unpreloaded_programs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testbenches/verbs_programs/channel/program_kind.h"
#include "testbenches/verbs_programs/preload/connection.h"

namespace hcasim::preload {
namespace {

// Tells whether set-user-ID or set-group-ID changes the program's user or group.
bool changes_user(int file) {
  struct stat s {};
  if (::syscall(SYS_fstat, file, &s) != 0) return false;
  return ((s.st_mode & S_ISUID) && s.st_uid != ::geteuid()) || ((s.st_mode & S_ISGID) && s.st_gid != ::getegid());
}

const char* why_outside(int file) {
  switch (channel::kind_of(file)) {
    case channel::program_kind::set_user_id:
      return changes_user(file)
                 ? "is set-user-ID, and the system loads no library into such programs; make a copy without that bit"
                 : nullptr;
    case channel::program_kind::linked_statically:
      return "is linked statically, so that no library can stand in for libibverbs; link it dynamically";
    case channel::program_kind::of_another_machine:
      return "is a program of another machine";
    default:
      return nullptr;
  }
}

// A child of fork has its parent's locks, so no memory is allocated and nothing is printed through a FILE.
bool tell(const char* path) {
  if (!path || !mine()) return false;
  const int kept = errno;
  const int file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  const char* const why = file >= 0 ? why_outside(file) : nullptr;
  if (file >= 0) ::syscall(SYS_close, file);
  if (why) {
    const char* const parts[] = {"hcasim: ", path, " runs outside the simulation, by the machine's clock: it ", why, "\n"};
    for (const char* part : parts) {
      [[maybe_unused]] const auto n = ::syscall(SYS_write, STDERR_FILENO, part, std::strlen(part));
    }
  }
  errno = kept;
  return why != nullptr;
}

}  // namespace

bool tell_of_outsider(const char* path) {
  return tell(path);
}

bool tell_of_outsider_in_path(const char* file) {
  if (!file || std::strchr(file, '/')) return tell(file);
  const char* at = ::getenv("PATH");
  char candidate[PATH_MAX];
  for (at = at ? at : "/bin:/usr/bin"; *at;) {
    const auto n = static_cast<int>(std::strcspn(at, ":"));
    const int length = std::snprintf(candidate, sizeof candidate, "%.*s%s%s", n, at, n ? "/" : "", file);
    if (length > 0 && length < PATH_MAX && ::access(candidate, X_OK) == 0) return tell(candidate);
    at += n + (at[n] == ':');
  }
  return false;
}

}  // namespace hcasim::preload
