#include "testbenches/verbs_programs/preload/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/connection_files.h"
#include "testbenches/verbs_programs/preload/signals.h"
#include "testbenches/verbs_programs/preload/spin.h"
#include "testbenches/verbs_programs/preload/timer_files.h"
#include "testbenches/verbs_programs/preload/timers.h"

namespace hcasim::preload {
namespace {

thread_local connection own;
thread_local bool ended = false;

// Everything here calls the kernel directly: the functions of these names may be ours.
long raw_poll(pollfd* fds, unsigned n, int milliseconds) {
  timespec t{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  return ::syscall(SYS_ppoll, fds, n, milliseconds < 0 ? nullptr : &t, nullptr, 0);
}

bool pass(int socket, std::span<const std::byte> message, std::span<const int> descriptors) {
  constexpr std::size_t most = channel::most_descriptors;
  alignas(cmsghdr) char control[CMSG_SPACE(most * sizeof(int))] = {};
  iovec part{const_cast<std::byte*>(message.data()), message.size()};
  msghdr h{};
  h.msg_iov = &part;
  h.msg_iovlen = 1;
  if (!descriptors.empty()) {
    h.msg_control = control;
    h.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* m = CMSG_FIRSTHDR(&h);
    m->cmsg_level = SOL_SOCKET;
    m->cmsg_type = SCM_RIGHTS;
    m->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(m), descriptors.data(), descriptors.size_bytes());
  }
  return ::syscall(SYS_sendmsg, socket, &h, MSG_NOSIGNAL) == static_cast<long>(message.size());
}

int reach(const char* name) {
  const int s = static_cast<int>(::syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  const std::size_t n = std::strlen(name);
  if (s < 0 || n + 1 > sizeof a.sun_path) return -1;
  std::memcpy(a.sun_path + 1, name, n);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
  if (::syscall(SYS_connect, s, &a, length) == 0) return s;
  ::syscall(SYS_close, s);
  return -1;
}

// A high number: programs close or expect low ones.
int out_of_the_way(int fd) {
  constexpr int high = 900;
  const int moved = static_cast<int>(::syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, high));
  if (moved < 0) return fd;
  ::syscall(SYS_close, fd);
  return moved;
}

// A page, and the socket that announces the page to the simulator.
struct line {
  channel::page* page;
  int socket;
};
line connected(const char* name, pid_t process, pid_t thread, pid_t parent) {
  const int memory = static_cast<int>(::syscall(SYS_memfd_create, "hcasim", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory < 0 || ::syscall(SYS_ftruncate, memory, sizeof(channel::page)) != 0) give_up("no memory for its channel");
  ::syscall(SYS_fcntl, memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void* at = ::mmap(nullptr, sizeof(channel::page), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (at == MAP_FAILED) give_up("no memory for its channel");
  const line out{static_cast<channel::page*>(at), reach(name)};
  out.page->magic = channel::magic;
  out.page->version = channel::version;
  if (out.socket < 0) give_up("the simulator is not there any more");
  const channel::hello h{channel::magic,
                         channel::version,
                         process,
                         thread,
                         parent,
                         static_cast<std::int32_t>(setting("HCASIM_PROGRAM", 0)),
                         static_cast<std::int32_t>(own_node())};
  const bool sent = pass(out.socket, std::as_bytes(std::span(&h, 1)), std::span(&memory, 1));
  ::syscall(SYS_close, memory);
  if (!sent) give_up("the simulator does not answer");
  return out;
}

void connect_own(const char* name, void (*tell)(void*), void* of) {
  own.thread = static_cast<pid_t>(::syscall(SYS_gettid));
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  const line to = connected(name, ::getpid(), own.thread, ::getppid());
  own.page = to.page;
  own.socket = out_of_the_way(to.socket);
  accept_spin_signal(true);
  if (tell) tell(of);
  // A new thread waits here for its turn.
  call(channel::clock{});
}

}  // namespace

connection* present() {
  return own.page ? &own : nullptr;
}

void set_awaiting_machine(bool now) {
  if (!own.page) return;
  own.page->awaits_machine = now;
  own.horizon = 0;  // the old horizon was for fewer threads
}

void await_machine(int fd) {
  pollfd end{fd, POLLIN, 0};
  timespec left{10, 0};  // which the kernel brings up to date
  set_awaiting_machine(true);
  while (::syscall(SYS_ppoll, &end, 1, &left, nullptr, 0) < 0 && errno == EINTR) {
  }
  set_awaiting_machine(false);
}

connection* mine() {
  if (own.page) return &own;
  if (ended) return nullptr;
  const int error = errno;
  const char* name = ::getenv("HCASIM_SOCKET");
  if (!name || !*name) return nullptr;
  connect_own(name, nullptr, nullptr);
  errno = error;
  return &own;
}

void connect_and_tell(void (*tell)(void*), void* of) {
  const char* name = ::getenv("HCASIM_SOCKET");
  if (name && *name && !own.page) connect_own(name, tell, of);
}

void speak_for(pid_t child) {
  const line its = connected(::getenv("HCASIM_SOCKET"), child, child, ::getpid());
  ::syscall(SYS_munmap, its.page, sizeof(channel::page));
  ::syscall(SYS_close, its.socket);
}

void forget() {
  if (!own.page) return;
  end_watch();
  // From here on a signal's handler finds no connection.
  const connection last = own;
  own = {};
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ::syscall(SYS_munmap, last.page, sizeof(channel::page));
  ::syscall(SYS_close, last.socket);
}

namespace {

void hand_over(connection& c, channel::request_id id, const void* in, std::size_t in_bytes) {
  channel::page& p = *c.page;
  std::memcpy(p.arguments, in, in_bytes);
  p.what = static_cast<std::uint32_t>(id);
  p.spent = c.spent;
  p.sent = c.sent;
  p.signalled = c.signalled;
  c.spent = 0;
  c.sent = false;
  c.signalled = false;
  c.looked = false;
}

}  // namespace

int ask(channel::request_id id, const void* in, std::size_t in_bytes, void* out, std::size_t out_bytes,
        std::span<const int> descriptors) {
  connection* c = mine();
  if (!c) return ENOSYS;
  if (c->asking) return EINTR;  // a signal's handler, in the middle of a request
  const int kept = errno;
  const std::uint64_t held = hold_for_request();
  c->asking = true;
  watch_for_spin(false);
  channel::page& p = *c->page;
  p.waking = held;
  hand_over(*c, id, in, in_bytes);
  if (!descriptors.empty()) {
    const std::byte byte{1};
    pass(c->socket, std::span(&byte, 1), descriptors);
  }
  channel::ask(p);
  while (!channel::await_answer(p, c->waits)) {
    pollfd other{c->socket, 0, 0};
    if (raw_poll(&other, 1, 0) > 0 && (other.revents & (POLLHUP | POLLERR))) ::_exit(1);  // the run has ended
  }
  std::memcpy(out, p.arguments, out_bytes);
  const int error = p.error;
  c->now = p.now;
  c->horizon = p.horizon;
  c->asking = false;
  watch_for_spin(true);
  deliver_timers(c->now);
  c->interrupted = let_after_request(held, id == channel::request_id::wait_others);
  errno = kept;
  return error;
}

void end_for_good() {
  if (own.page) {
    own.asking = true;
    const channel::thread_ends last{};
    hand_over(own, channel::thread_ends::number, &last, sizeof last);
    channel::ask(*own.page);
  }
  release_time_stamps();
  forget();
  ended = true;
}

std::span<std::byte> data() {
  connection* c = mine();
  return c ? std::span<std::byte>(c->page->data) : std::span<std::byte>();
}

std::uint32_t own_node() {
  const std::uint64_t given = setting("HCASIM_NODE", 0);
  const std::uint64_t nodes = setting("HCASIM_NODES_BY_RANK", 0);
  if (nodes == 0) return static_cast<std::uint32_t>(given);
  // Variables of Open MPI, MPICH and its kin, MVAPICH, Slurm.
  for (const char* rank :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "SLURM_LOCALID"}) {
    if (::getenv(rank)) return static_cast<std::uint32_t>(setting(rank, 0) % nodes);
  }
  return static_cast<std::uint32_t>(given);
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = ::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

void give_up(const char* why) {
  const char* const parts[] = {"hcasim: this program cannot go on: ", why, "\n"};
  for (const char* part : parts) {
    [[maybe_unused]] const auto n = ::syscall(SYS_write, STDERR_FILENO, part, std::strlen(part));
  }
  ::_exit(1);
}

namespace {

void tell_the_parent(void*) {
  const char* const to = ::getenv(tell_variable);
  if (!to) return;
  ::syscall(SYS_close, static_cast<int>(std::strtol(to, nullptr, 10)));
  ::unsetenv(tell_variable);
}

// Runs before all other libraries, the C library among them, so that none has measured the time-stamp counter against the
// clock.
[[gnu::constructor]] void begin(int /*count*/, char** /*words*/, char** variables) {
  if (!environ) environ = variables;
  ::pthread_atfork(nullptr, nullptr, [] {
    forget();
    disown_connection_files();
    disown_timer_files();
    forget_timers();
  });
  connect_and_tell(tell_the_parent, nullptr);
  if (mine()) trap_time_stamps();
  accept_spin_signal(true);
}

}  // namespace

}  // namespace hcasim::preload
