#include "testbenches/verbs_programs/preload/proc_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/descriptor_table.h"
#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/times.h"
#include "testbenches/verbs_programs/preload/usage.h"

namespace hcasim::preload {
namespace {

enum class proc_file { none, cpuinfo, stat, uptime, own_stat, boot_id, host_name };

descriptor_table files;
std::array<ino_t, 1024> inodes;  // of each descriptor: the program may give the number to another file unseen

ino_t inode_of(int fd) {
  struct stat s {};
  return ::syscall(SYS_fstat, fd, &s) == 0 ? s.st_ino : 0;
}

proc_file meaning_of(const char* path) {
  if (!path || std::strncmp(path, "/proc/", 6) != 0 || !mine()) return proc_file::none;
  const char* const name = path + 6;
  if (std::strcmp(name, "cpuinfo") == 0) return proc_file::cpuinfo;
  if (std::strcmp(name, "stat") == 0) return proc_file::stat;
  if (std::strcmp(name, "uptime") == 0) return proc_file::uptime;
  if (std::strcmp(name, "self/stat") == 0) return proc_file::own_stat;
  if (std::strcmp(name, "sys/kernel/random/boot_id") == 0) return proc_file::boot_id;
  if (std::strcmp(name, "sys/kernel/hostname") == 0) return proc_file::host_name;
  char own[32];
  std::snprintf(own, sizeof own, "%d/stat", ::getpid());
  if (std::strcmp(name, own) == 0) return proc_file::own_stat;
  for (const char* machines : {"loadavg", "schedstat", "self/schedstat", "self/sched", "interrupts", "timer_list"}) {
    if (std::strcmp(name, machines) == 0) note_machine_clock();
  }
  return proc_file::none;
}

// Whole lines into a file.
class content {
 public:
  explicit content(int file) : file_(file) {}
  [[gnu::format(printf, 2, 3)]] void add(const char* how, ...) {
    char text[4096];
    va_list list;
    va_start(list, how);
    const int n = std::vsnprintf(text, sizeof text, how, list);
    va_end(list);
    if (n > 0) at_ += ::syscall(SYS_pwrite64, file_, text, std::min(static_cast<std::size_t>(n), sizeof text - 1), at_);
  }
  ~content() { ::syscall(SYS_ftruncate, file_, at_); }
  content(const content&) = delete;
  content& operator=(const content&) = delete;

 private:
  int file_;
  long at_ = 0;
};

// Writes the system's file with the clock rate of the simulated processor. Names that end in a rate ("@ 2.30GHz") are cut: UCX
// takes this rate for the time-stamp counter's.
void write_cpuinfo(content& to) {
  const char* mhz = ::getenv("HCASIM_TSC_MHZ");
  std::FILE* in = HCASIM_REAL(fopen)("/proc/cpuinfo", "re");
  char line[4000];
  while (in && std::fgets(line, sizeof line, in)) {
    if (std::strncmp(line, "cpu MHz", 7) == 0) {
      to.add("cpu MHz\t\t: %s\n", mhz ? mhz : "3000.000");
    } else if (char* const rate = std::strncmp(line, "model name", 10) == 0 ? std::strstr(line, " @") : nullptr; rate) {
      *rate = 0;
      to.add("%s\n", line);
    } else {
      to.add("%s", line);
    }
  }
  if (in) std::fclose(in);
}

// Writes the system's file with simulated user and system times of the process and its children. The start time is the host's.
void write_own_stat(content& to, const channel::query_usage::answer& u) {
  char line[2048] = {};
  const int real = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC));
  ::syscall(SYS_read, real, line, sizeof line - 1);
  ::syscall(SYS_close, real);
  char* rest = std::strrchr(line, ')');
  if (!rest) return;
  *rest++ = 0;
  to.add("%s)", line);
  int field = 2;
  for (char* next = nullptr; char* word = ::strtok_r(rest, " \n", &next); rest = nullptr) {
    ++field;
    switch (field) {
      case 14:
        to.add(" %llu", static_cast<unsigned long long>(ticks_of(u.process)));
        break;
      case 16:
        to.add(" %llu", static_cast<unsigned long long>(ticks_of(u.children)));
        break;
      case 15:
      case 17:
        to.add(" 0");
        break;
      case 22:
        to.add(" %llu", static_cast<unsigned long long>(ticks_of(uptime_of(0))));
        break;
      default:
        to.add(" %s", word);
    }
  }
  to.add("\n");
}

void write_times(proc_file what, content& to) {
  channel::query_usage::answer u{};
  std::uint64_t ps = 0;
  look_at_usage(u);
  look_at_clock(ps);
  const std::uint64_t up = uptime_of(ps);
  const std::uint64_t idle = up - std::min(up, u.node);
  const auto busy_ticks = static_cast<unsigned long long>(ticks_of(u.node));
  const auto idle_ticks = static_cast<unsigned long long>(ticks_of(idle));
  constexpr double ps_per_s = 1e12;
  switch (what) {
    case proc_file::own_stat:
      return write_own_stat(to, u);
    case proc_file::uptime:
      return to.add("%.2f %.2f\n", static_cast<double>(up) / ps_per_s, static_cast<double>(idle) / ps_per_s);
    default:
      to.add("cpu  %llu 0 0 %llu 0 0 0 0 0 0\ncpu0 %llu 0 0 %llu 0 0 0 0 0 0\n", busy_ticks, idle_ticks, busy_ticks,
             idle_ticks);
      to.add("intr 0\nctxt 0\nbtime %llu\nprocesses 0\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n",
             static_cast<unsigned long long>((date_of(0) - uptime_of(0) / ps_per_ns) / ns_per_s));
  }
}

void write(proc_file what, int file) {
  content to(file);
  switch (what) {
    case proc_file::cpuinfo:
      return write_cpuinfo(to);
    case proc_file::boot_id:
      return to.add("68636173-696d-4000-8000-%012x\n", own_node() + 1);
    case proc_file::host_name:
      return to.add("node%u\n", own_node());
    default:
      return write_times(what, to);
  }
}

}  // namespace

int open_proc_file(const char* path, int flags) {
  const proc_file what = meaning_of(path);
  if (what == proc_file::none) return -1;
  const int file = static_cast<int>(::syscall(SYS_memfd_create, path + 6, flags & O_CLOEXEC ? MFD_CLOEXEC : 0));
  if (file < 0) return -1;
  write(what, file);
  if (files.has_room_for(file)) {
    files.take(file);
    files.put(file, static_cast<channel::handle>(what));
    inodes[static_cast<std::size_t>(file)] = inode_of(file);
  }
  return file;
}

void refresh_proc_file(int fd) {
  const channel::handle what = files.of(fd);
  if (what == 0 || ::syscall(SYS_lseek, fd, 0, SEEK_CUR) != 0) return;
  if (inode_of(fd) != inodes[static_cast<std::size_t>(fd)]) {
    files.take(fd);
  } else {
    write(static_cast<proc_file>(what), fd);
  }
}

void drop_proc_file(int fd) {
  files.take(fd);
}

}  // namespace hcasim::preload

using namespace hcasim::preload;

HCASIM_PUBLIC std::FILE* fopen(const char* path, const char* mode) {
  const int fd = open_proc_file(path, O_CLOEXEC);
  return fd >= 0 ? ::fdopen(fd, "r") : HCASIM_REAL(fopen)(path, mode);
}

HCASIM_PUBLIC std::FILE* fopen64(const char* path, const char* mode) {
  const int fd = open_proc_file(path, O_CLOEXEC);
  return fd >= 0 ? ::fdopen(fd, "r") : HCASIM_REAL(fopen64)(path, mode);
}
