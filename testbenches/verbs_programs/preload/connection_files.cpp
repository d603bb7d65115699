#include "testbenches/verbs_programs/preload/connection_files.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <ctime>

#include "testbenches/verbs_programs/preload/blocking.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/descriptor_table.h"
#include "testbenches/verbs_programs/preload/proc_files.h"
#include "testbenches/verbs_programs/preload/timer_files.h"

namespace hcasim::preload {
namespace {

constexpr const char* path_of_file = "/dev/infiniband/rdma_cm";
constexpr channel::handle disowned = ~channel::handle{0};

descriptor_table files;

// Drops a descriptor before its number is used again.
void drop(int fd) {
  drop_proc_file(fd);
  drop_timer_file(fd);
  const channel::handle file = files.take(fd);
  if (file != 0 && file != disowned) call(channel::close_connections{file});
}

int open_file(int flags) {
  const int fd = ::eventfd(0, EFD_SEMAPHORE | (flags & O_CLOEXEC ? EFD_CLOEXEC : 0) | (flags & O_NONBLOCK ? EFD_NONBLOCK : 0));
  if (fd < 0) return fd;
  channel::made out{};
  int error = files.has_room_for(fd) ? 0 : EMFILE;
  if (!error) error = call(channel::open_connections{}, out, std::span(&fd, 1));
  if (error) {
    ::syscall(SYS_close, fd);
    errno = error;
    return -1;
  }
  files.put(fd, out.object);
  return fd;
}

bool means_file(const char* path) {
  return path && std::strcmp(path, path_of_file) == 0 && mine();
}

// Copies through the kernel, where a bad address is an error and not the program's end.
bool copy(std::uint64_t address, std::span<std::byte> own, bool out) {
  if (own.empty()) return true;
  const iovec here{own.data(), own.size()};
  const iovec there{reinterpret_cast<void*>(address), own.size()};  // NOLINT(performance-no-int-to-ptr): a command holds it
  const long moved = ::syscall(out ? SYS_process_vm_writev : SYS_process_vm_readv, ::getpid(), &here, 1, &there, 1, 0);
  return moved == static_cast<long>(own.size());
}

template <class Command>
bool is(const void* from, std::size_t n, std::uint32_t number, Command& out) {
  rdma_ucm_cmd_hdr h;
  if (n < sizeof h + sizeof out) return false;
  std::memcpy(&h, from, sizeof h);
  if (h.cmd != number) return false;
  std::memcpy(&out, static_cast<const char*>(from) + sizeof h, sizeof out);
  return true;
}

// 0 or an errno value.
int one_command(channel::handle file, const void* from, std::size_t n) {
  const std::span<std::byte> page = data();
  if (n > page.size()) return EINVAL;
  channel::manage_connections in{file, 0, static_cast<std::uint32_t>(n), 0};
  std::memcpy(page.data(), from, n);
  if (rdma_ucm_set_option o{}; is(from, n, RDMA_USER_CM_CMD_SET_OPTION, o)) {
    if (o.optlen > page.size() - n) return EINVAL;
    if (!copy(o.optval, page.subspan(n, o.optlen), false)) return EFAULT;
    in.option = o.optlen;
  }
  if (rdma_ucm_migrate_id m{}; is(from, n, RDMA_USER_CM_CMD_MIGRATE_ID, m)) in.other = files.of(static_cast<int>(m.fd));
  channel::manage_connections::answer out{};
  if (const int error = call(in, out)) return error;
  return copy(out.address, page.first(out.bytes), true) ? 0 : EFAULT;
}

}  // namespace

bool is_connection_file(int fd) {
  return files.of(fd) != 0;
}

ssize_t write_command(int fd, const void* from, size_t n) {
  const channel::handle file = files.of(fd);
  int error = file == disowned ? EINVAL : one_command(file, from, n);
  while (error == EAGAIN && may_sleep(fd)) {
    error = sleep_until_ready(fd, POLLIN);
    if (error == 0) error = one_command(file, from, n);
  }
  if (error == 0) return static_cast<ssize_t>(n);
  errno = error;
  return -1;
}

void disown_connection_files() {
  files.become(disowned);
}

}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

// NOLINTBEGIN(readability-identifier-naming): the C library's own names
HCASIM_PUBLIC int openat(int folder, const char* path, int flags, ...) {
  if (means_file(path)) return open_file(flags);
  if (const int fd = open_proc_file(path, flags); fd >= 0) return fd;
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}
HCASIM_PUBLIC int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  return openat(AT_FDCWD, path, flags, mode);
}
HCASIM_PUBLIC int open64(const char* path, int flags, ...) __attribute__((alias("open")));
HCASIM_PUBLIC int __open_2(const char* path, int flags) {
  return openat(AT_FDCWD, path, flags);
}
HCASIM_PUBLIC int __open64_2(const char* path, int flags) {
  return openat(AT_FDCWD, path, flags);
}

HCASIM_PUBLIC int close(int fd) {
  drop(fd);
  return static_cast<int>(::syscall(SYS_close, fd));
}
HCASIM_PUBLIC int dup2(int from, int to) noexcept {
  if (from == to) return static_cast<int>(::syscall(SYS_fcntl, from, F_GETFD)) < 0 ? -1 : to;
  return dup3(from, to, 0);
}
HCASIM_PUBLIC int dup3(int from, int to, int flags) noexcept {
  if (from != to) drop(to);
  return static_cast<int>(::syscall(SYS_dup3, from, to, flags));
}

// Shows the connection manager's file as a character device.
HCASIM_PUBLIC int fstat(int fd, struct stat* out) noexcept {
  const int result = static_cast<int>(::syscall(SYS_fstat, fd, out));
  if (result == 0 && is_connection_file(fd)) {
    constexpr unsigned miscellaneous = 10;
    out->st_mode = S_IFCHR | 0666;
    out->st_rdev = makedev(miscellaneous, 0);
  }
  return result;
}
HCASIM_PUBLIC int fstat64(int fd, struct stat64* out) noexcept {
  return fstat(fd, reinterpret_cast<struct stat*>(out));
}

// Hides the machine's own RDMA subsystem.
HCASIM_PUBLIC int socket(int domain, int type, int protocol) noexcept {
  if (domain == AF_NETLINK && protocol == NETLINK_RDMA && mine()) {
    errno = EPROTONOSUPPORT;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
}
// NOLINTEND(readability-identifier-naming)
