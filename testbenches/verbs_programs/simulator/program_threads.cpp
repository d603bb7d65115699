// Threads of programs: how they come, ask and go.
#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "testbenches/verbs_programs/simulator/horizon.h"
#include "testbenches/verbs_programs/simulator/programs.h"
#include "testbenches/verbs_programs/simulator/system_calls.h"
#include "tlm/base/send_signal.h"

namespace hcasim::applications {
namespace {

constexpr std::size_t most_passed = channel::most_descriptors;

// Receives one message and its descriptors. Negative `bytes` = there is no message.
std::vector<descriptor> receive(int socket, std::span<std::byte> message, ssize_t& bytes) {
  alignas(cmsghdr) char control[CMSG_SPACE(most_passed * sizeof(int))];
  iovec part{message.data(), message.size()};
  msghdr h{};
  h.msg_iov = &part;
  h.msg_iovlen = 1;
  h.msg_control = control;
  h.msg_controllen = sizeof control;
  bytes = ::recvmsg(socket, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  std::vector<descriptor> out;
  if (bytes < 0) return out;
  for (cmsghdr* m = CMSG_FIRSTHDR(&h); m; m = CMSG_NXTHDR(&h, m)) {
    if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t n = (m->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < n; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(m) + i * sizeof fd, sizeof fd);
      out.emplace_back(fd);
    }
  }
  return out;
}

// Maps a page of which the owner cannot take bytes away (F_SEAL_SHRINK).
channel::page* map_page(const descriptor& memory) {
  struct stat s {};
  if (::fstat(memory.get(), &s) != 0 || s.st_size < static_cast<off_t>(sizeof(channel::page))) return nullptr;
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK)) return nullptr;
  void* at = ::mmap(nullptr, sizeof(channel::page), PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  return at == MAP_FAILED ? nullptr : static_cast<channel::page*>(at);
}

// Returns the text behind the name in /proc: " S 1 ..."; empty = the thread is gone.
std::string stat_of(pid_t process, pid_t id) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/stat", process, id));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end == std::string::npos ? std::string() : line.substr(name_end + 1);
}

// 0 = the thread is gone.
char state_of(pid_t process, pid_t id) {
  const std::string stat = stat_of(process, id);
  return stat.size() < 2 ? '\0' : stat[1];
}

// Tells whether a process may connect for another one: only for its own child, which has no library.
bool speaks_for(pid_t speaker, const channel::hello& h) {
  if (h.process == speaker || h.parent != speaker || h.thread != h.process) return false;
  int parent = 0;
  return std::sscanf(stat_of(h.process, h.process).c_str(), " %*c %d", &parent) == 1 && parent == speaker;
}

bool is(std::uint32_t request, channel::request_id id) {
  return request == static_cast<std::uint32_t>(id);
}

bool looks_again(std::uint32_t what, const std::byte* arguments) {
  if (!is(what, channel::request_id::wait_others)) return false;
  channel::wait_others w{};
  std::memcpy(&w, arguments, sizeof w);
  return w.again != 0;
}

// ns that a thread has run.
std::uint64_t processor_time(pid_t process, pid_t id) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/schedstat", process, id));
  std::uint64_t ns = 0;
  file >> ns;
  return ns;
}

}  // namespace

// The moment at which a new thread connects depends on the machine. So a new thread begins at the next request of its maker.
void programs::accept_threads() {
  for (;;) {
    descriptor connection(::accept4(place_.socket(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection && (errno == EMFILE || errno == ENFILE))
      end_used_up(std::system_error(errno, std::generic_category(), "no connection to a program"));
    if (!connection) return;
    greet(std::move(connection));
  }
}

void programs::greet(descriptor connection) {
  pollfd there{connection.get(), POLLIN, 0};
  constexpr int patience = 5000;  // ms
  if (::poll(&there, 1, patience) <= 0) return;
  channel::hello h{};
  ssize_t bytes = 0;
  const std::vector<descriptor> with = receive(connection.get(), std::as_writable_bytes(std::span(&h, 1)), bytes);
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != ::getuid()) return;
  if (bytes == sizeof h && h.magic == channel::magic && with.empty()) {  // this process had no descriptor left for the page
    end_used_up(std::system_error(EMFILE, std::generic_category(), "no page of a program"));
    return;
  }
  const bool known = bytes == sizeof h && h.magic == channel::magic && h.program >= 0 &&
                     static_cast<std::size_t>(h.program) < families_.size() && h.node >= 0 &&
                     static_cast<std::size_t>(h.node) < system_.nodes() && with.size() == 1;
  if (!known) return;
  family& f = *families_[static_cast<std::size_t>(h.program)];
  f.connected = true;
  if (h.version != channel::version) {
    fail(fmt::format("program{}: its library speaks version {} of the channel, this program version {}; build both together",
                     f.number, h.version, channel::version));
    signal_process(peer.pid, SIGKILL);
    return;
  }
  channel::page* page = map_page(with[0]);
  if (!page) return;
  channel::hello who = h;
  who.process = speaks_for(peer.pid, h) ? h.process : peer.pid;
  process* p = process_of(who, f);
  thread& t = p->threads.emplace_back();
  t.of = p;
  t.id = h.thread;
  t.bed.process = p->id;
  t.bed.thread = t.id;
  t.socket = std::move(connection);
  t.page = page;
  t.name = fmt::format("program{}_{}_{}", f.number, f.processes.size() - 1, p->threads.size() - 1);
  ++p->alive;
  ++f.running;
  ++f.threads;
  newcomers_.push_back(&t);
}

void programs::admit_newcomers() {
  for (thread* t : std::exchange(newcomers_, {})) {
    t->of->where.host.run(t->name, [this, t](cpu& c) { run_thread(c, *t); });
  }
}

// A hello of a first thread means a new process, or a process that has become another program. The latter loses all its
// objects, because its descriptors were closed.
programs::process* programs::process_of(const channel::hello& h, family& f) {
  usage before;
  for (const auto& p : f.processes) {
    if (p->id != h.process || p->over) continue;
    if (h.thread != h.process) return p.get();
    before = std::exchange(p->verbs.used, {});
    end_process(*p);
  }
  auto made = std::make_unique<process>(f, *this, static_cast<std::uint32_t>(h.node), config_.seed + 2 * ++made_processes_);
  made->verbs.number_lives(made_processes_ - 1);
  process* p = made.get();
  p->id = h.process;
  p->parent = h.parent;
  p->verbs.used = before;
  p->bytes.attach(h.process);
  p->ended = descriptor(static_cast<int>(::syscall(SYS_pidfd_open, h.process, 0)));
  if (p->ended) waiting_.watch(p->ended.get(), [this, p] { end_process(*p); });
  f.processes.push_back(std::move(made));
  return p;
}

bool programs::has_ended(const process& p) {
  pollfd end{p.ended.get(), POLLIN, 0};
  return p.ended && ::poll(&end, 1, 0) > 0 && end.revents != 0;
}

void programs::run_thread(cpu& c, thread& t) {
  process& p = *t.of;
  caller k{.c = c, .who = p.verbs, .bed = t.bed, .data = std::span(t.page->data), .descriptors = [&t](std::size_t) {
             std::byte byte{};
             ssize_t bytes = 0;
             return receive(t.socket.get(), std::span(&byte, 1), bytes);
           }};
  while (!p.over && !k.ended && take_request(c, t)) serve_one(c, t, k);
  if (!k.ended) {
    // Accounts for the thread's effects since its last request, and for those of its process's end.
    take_time(c, t, k);
    c.sync();
    if (t.id == p.id || has_ended(p)) end_process(p);
    waiting_.checkpoint(now() + config_.time.out_of_band, {true, true});
  }
  admit_newcomers();
  --p.of.running;
  --p.of.threads;
  if (--p.alive > 0) return;
  // The last one.
  if (t.id == p.id) end_process(p);
  p.verbs.close_all(c);
}

// Takes the time that the thread has spent since its last answer.
void programs::take_time(cpu& c, thread& t, caller& k) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 56;  // ps: 20 hours
  const ps spent(static_cast<std::int64_t>(std::min(std::exchange(t.page->spent, 0), longest)));
  c.spend(spent);
  use(*t.of, k, spent);
  statistics_.machine_clocks += t.page->machine_clocks.exchange(0, std::memory_order_relaxed);
}

void programs::serve_one(cpu& c, thread& t, caller& k) {
  process& p = *t.of;
  family& f = p.of;
  channel::page& page = *t.page;
  alignas(8) std::byte arguments[channel::argument_bytes];
  alignas(8) std::byte answer[channel::argument_bytes] = {};
  std::memcpy(arguments, page.arguments, sizeof arguments);
  const std::uint32_t what = page.what;
  take_time(c, t, k);
  if (!looks_again(what, arguments)) tell_of_slice(f);
  k.slices = p.changes.slices();
  k.waking = page.waking;
  constexpr std::uint64_t now_and_then = 1024;
  if (statistics_.requests.value() % now_and_then == 0 && progress_.is_due()) tell_progress(nullptr);
  waiting_.checkpoint(c.time() + config_.time.out_of_band, {page.sent != 0, page.signalled != 0});
  admit_newcomers();
  const bool idle = is(what, channel::request_id::wait_descriptors) || is(what, channel::request_id::wait_others);
  const ps begin = c.time();
  if (idle) begin_sleep(f);
  k.in_vain = false;
  const int error = serve(k, what, arguments, answer);
  if (idle) ++f.running;
  note_poll(t, what, k.in_vain);
  t.unproven = k.unproven;
  if (!idle && !is(what, channel::request_id::sleep)) use(p, k, c.time() - begin);
  c.sync();
  if (p.over) return;
  if (p.bytes.forbidden() && failures_.empty()) {
    fail(
        "the system does not let this process read and write the memory of its programs (process_vm_readv); in a container "
        "allow that call, as with --cap-add=SYS_PTRACE");
  }
  fail_unreached(p);
  if (!is(what, channel::request_id::clock)) t.last_call = now();
  std::memcpy(page.arguments, answer, sizeof answer);
  page.error = error;
  page.now = static_cast<std::uint64_t>(now().count());
  page.horizon = static_cast<std::uint64_t>(horizon(t).count());
  k.landings = p.changes.landings();
  if (last_answered_ && last_answered_ != &t) channel::let_sleep(*last_answered_->page);
  last_answered_ = &t;
  channel::answer(page, t.seen);
}

// Fails the run if DMA of the process did not reach a page.
void programs::fail_unreached(process& p) {
  const std::optional<std::uint64_t> at = p.bytes.take_unreached();
  if (!at || p.unreached) return;
  p.unreached = true;
  fail(
      fmt::format("program{}: the adapter did not reach the mapped page at {:#x}, and data is lost; shared memory that the "
                  "program has made read-only cannot be written, nor a file beyond its end",
                  p.of.number, *at));
}

void programs::tell_of_slice(const family& of) {
  for (const auto& f : families_) {
    for (const auto& p : f->processes) {
      if (f.get() == &of || p->changes.hears_all()) p->changes.ran();
    }
  }
}

void programs::use(process& p, caller& k, ps time) {
  k.used += time;
  p.verbs.used.process += time;
  *p.verbs.node_used += time;
}

void programs::begin_sleep(family& f) {
  if (--f.running > 0 || f.was_idle) return;
  f.was_idle = true;
  wake(f.idle);
}

// A program is idle, too, when its threads that do not sleep poll in vain.
void programs::note_poll(thread& t, std::uint32_t what, bool in_vain) {
  const bool between = is(what, channel::request_id::clock) || is(what, channel::request_id::sleep);
  if (!between) t.in_vain = in_vain;
  family& f = t.of->of;
  if (!in_vain || f.was_idle) return;
  std::size_t polling = 0;
  for (const auto& p : f.processes) {
    polling += static_cast<std::size_t>(
        std::count_if(p->threads.begin(), p->threads.end(), [&](const thread& x) { return x.in_vain && !p->over; }));
  }
  if (polling < f.running) return;
  f.was_idle = true;
  wake(f.idle);
}

ps programs::horizon(const thread& t) const {
  return horizon_of(t.of->verbs.connected != 0 || t.of->of.threads > 1, to_ps(sc_core::sc_time_to_pending_activity()),
                    now() - t.last_call);
}

using wall_clock = std::chrono::steady_clock;

struct programs::look {
  int quiet = 0;               // looks in a row that found the thread asleep, with no processor time used
  std::uint64_t ran = 0;       // ns of processor time at the last look
  std::uint64_t computed = 0;  // ns of processor time at the first look
  wall_clock::time_point begin = wall_clock::now();
  wall_clock::time_point next_signal = begin;
  wall_clock::duration pause = std::chrono::milliseconds(2);  // between signals; grows, as steps take processor time
  wall_clock::time_point next_look = begin + std::chrono::milliseconds(1);
};

// A loop that was taken for waiting before is found at once when data has landed. Otherwise the search takes as long by
// the wall clock as the thread will sleep, because a loop that computes costs real time.
void programs::look_for_known_loop(thread& t, look& l) {
  constexpr unsigned most_doublings = 13;
  if (t.unproven > 0) l.next_signal += std::chrono::microseconds(1 << std::min(t.unproven, most_doublings));
  l.pause = std::chrono::microseconds(200);
  t.page->unprovable.store(channel::take_known);
}

// Waits for the thread's next request. False = there will be none.
bool programs::take_request(cpu& c, thread& t) {
  const std::chrono::microseconds grace{t.page->watches.load(std::memory_order_relaxed) ? 10'000 : 40};
  constexpr std::chrono::microseconds pause{500};
  const bool connected = t.of->verbs.connected > 0;
  if (!channel::await_request(*t.page, t.seen, t.waits, connected ? grace : pause)) {
    look l;
    // Programs compute for long before they connect.
    if (!connected) l.next_signal += std::chrono::milliseconds(5);
    if (t.of->unprovable) look_for_known_loop(t, l);
    while (!channel::is_asked(*t.page, t.seen)) {
      if (t.page->listens.load(std::memory_order_relaxed)) suspect_spin(t, l);
      if (channel::await_request(*t.page, t.seen, t.waits, pause)) break;
      if (wall_clock::now() < l.next_look) continue;
      l.next_look = wall_clock::now() + std::chrono::milliseconds(1);
      if (progress_.is_due()) tell_progress(&t);
      if (!look_at(c, t, l)) return false;
    }
  }
  t.page->unprovable.store(0, std::memory_order_relaxed);
  t.seen = t.page->requests.load(std::memory_order_acquire);
  return true;
}

// A thread that makes no call computes, or waits for memory. The preload library in the thread tries to prove the wait. Without
// a proof within `enough` processor time the thread is taken to wait, but only if a QP of the process is connected. Before,
// only another thread could end a wait, and programs compute for long before they connect. A sleep in the system is left alone.
void programs::suspect_spin(thread& t, look& l) {
  if (wall_clock::now() < l.next_signal) return;
  // `enough` is ten times the sleep that follows.
  constexpr std::uint64_t second = 1'000'000'000;  // ns
  constexpr std::uint64_t least = 2'000'000;
  constexpr std::uint64_t first = 10'000;
  const std::uint64_t enough = t.of->unprovable ? std::clamp(first << std::min(t.unproven, 20U), least, second / 10) : second;
  l.next_signal = wall_clock::now() + l.pause;
  l.pause *= 2;
  if (state_of(t.of->id, t.id) != 'R') return;
  const std::uint64_t computed = processor_time(t.of->id, t.id);
  if (l.computed == 0) l.computed = computed;
  if (t.of->verbs.connected > 0 && computed - l.computed > enough) {
    t.of->unprovable = true;
    t.page->unprovable.store(channel::take_now);
  }
  ++signals_;
  ::syscall(SYS_tgkill, t.of->id, t.id, SIGRTMAX - 1);
}

// Looks at a thread that computes, sleeps in an unknown call, or has gone. False = the thread has gone.
bool programs::look_at(cpu& c, thread& t, look& l) {
  process& p = *t.of;
  accept_threads();  // the thread may have become or started another program
  if (is_interrupted()) interrupt();
  if (p.over || has_ended(p)) return false;
  const char state = state_of(p.id, t.id);
  if (state == 0 || state == 'Z' || state == 'X') {
    // The thread has not announced its end, so its whole process ends. The process's files are closed after its last thread.
    constexpr int moment = 1000;  // ms
    pollfd end{p.ended.get(), POLLIN, 0};
    ::poll(&end, 1, moment);
    return false;
  }
  constexpr auto patience = std::chrono::seconds(10);
  if ((state == 'T' || state == 't') && wall_clock::now() - l.begin > patience) {
    fail(fmt::format("program{} ({}) was stopped by a signal and did not go on for {} s; it was ended", p.of.number,
                     p.of.what.words[0], patience.count()));
    signal_group(p.of.main, SIGKILL);
    return true;
  }
  const std::uint64_t ran = processor_time(p.id, t.id);
  l.quiet = state == 'S' && ran == l.ran && t.page->awaits_machine == 0 ? l.quiet + 1 : 0;
  l.ran = ran;
  constexpr int enough = 100;  // a busy machine delays messages through its loopback
  if (l.quiet < enough) return true;
  l.quiet = 0;
  ++statistics_.unknown_waits;
  t.bed.fds.clear();
  t.bed.unknown = t.page;
  t.bed.seen = t.seen;
  t.bed.why = "sleeps in a call that the library does not know";
  ++unknown_calls_[{p.of.number, call_of(p.id, t.id)}];
  admit_newcomers();
  begin_sleep(p.of);
  waiting_.sleep(c, t.bed, never);
  ++p.of.running;
  t.bed.why = nullptr;
  t.bed.unknown = nullptr;
  return !p.over;
}

}  // namespace hcasim::applications
