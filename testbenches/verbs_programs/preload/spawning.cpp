// Processes that begin with another program at once. As after a fork, the parent goes on only when the simulator knows the
// child. The child then closes a descriptor, whose number is in its environment.
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/unpreloaded_programs.h"

namespace hcasim::preload {
namespace {

// Tells whether a program with this environment loads the library, if possible.
bool is_one_of_us(char* const* env) {
  for (; env && *env; ++env) {
    if (std::strncmp(*env, "HCASIM_SOCKET=", 14) == 0) return true;
  }
  return false;
}

template <class Spawn>
int spawned(bool outsider, pid_t* child, char* const* env, Spawn spawn) {
  pid_t own_child = 0;
  if (!child) child = &own_child;
  const auto begin = [&](char* const* with) {
    release_time_stamps();
    const int error = spawn(child, with);
    trap_time_stamps_again();
    return error;
  };
  int ends[2];
  if (!mine()) return begin(env);
  if (outsider || !is_one_of_us(env) || ::syscall(SYS_pipe2, ends, O_CLOEXEC) != 0) {
    const int error = begin(env);
    if (error == 0) speak_for(*child);
    return error;
  }
  constexpr int high = 900;  // a number that the program's file actions leave alone
  const int told = static_cast<int>(::syscall(SYS_fcntl, ends[1], F_DUPFD, high));
  ::syscall(SYS_close, ends[1]);
  std::string note = std::string(tell_variable) + "=" + std::to_string(told);
  std::vector<char*> with{note.data()};
  for (char* const* e = env; *e; ++e) with.push_back(*e);
  with.push_back(nullptr);
  const int error = begin(with.data());
  ::syscall(SYS_close, told);
  if (error == 0) await_machine(ends[0]);
  ::syscall(SYS_close, ends[0]);
  return error;
}

std::mutex guard;
std::map<std::FILE*, pid_t>& children() {
  static std::map<std::FILE*, pid_t> all;
  return all;
}

}  // namespace
}  // namespace hcasim::preload

using namespace hcasim::preload;

HCASIM_PUBLIC int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const argv[], char* const env[]) {
  const auto real = HCASIM_REAL(posix_spawn);
  return spawned(tell_of_outsider(path), child, env,
                 [&](pid_t* c, char* const* e) { return real(c, path, actions, attributes, argv, e); });
}

HCASIM_PUBLIC int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const argv[], char* const env[]) {
  const auto real = HCASIM_REAL(posix_spawnp);
  return spawned(tell_of_outsider_in_path(file), child, env,
                 [&](pid_t* c, char* const* e) { return real(c, file, actions, attributes, argv, e); });
}

// Makes a fork, whose memory is not shared with the parent. A child of fork may do all that POSIX allows after vfork.
HCASIM_PUBLIC pid_t vfork() noexcept {
  return ::fork();
}

HCASIM_PUBLIC std::FILE* popen(const char* line, const char* mode) {
  if (!mine()) return HCASIM_REAL(popen)(line, mode);
  const bool reads = std::strchr(mode, 'r') != nullptr;
  if (reads == (std::strchr(mode, 'w') != nullptr)) {
    errno = EINVAL;
    return nullptr;
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  const int own = ends[reads ? 0 : 1];
  const int its = ends[reads ? 1 : 0];
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(its, reads ? STDOUT_FILENO : STDIN_FILENO);
    ::execl("/bin/sh", "sh", "-c", line, nullptr);
    ::_exit(127);
  }
  ::close(its);
  std::FILE* const file = child < 0 ? nullptr : ::fdopen(own, reads ? "r" : "w");
  if (!file) {
    ::close(own);
    return nullptr;
  }
  if (!std::strchr(mode, 'e')) ::fcntl(own, F_SETFD, 0);
  const std::lock_guard lock(guard);
  children()[file] = child;
  return file;
}

HCASIM_PUBLIC int pclose(std::FILE* file) {
  pid_t child = 0;
  {
    const std::lock_guard lock(guard);
    const auto known = children().find(file);
    if (known == children().end()) return HCASIM_REAL(pclose)(file);
    child = known->second;
    children().erase(known);
  }
  std::fclose(file);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}
