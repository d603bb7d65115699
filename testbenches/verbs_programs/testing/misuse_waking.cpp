// A child acts at 1 ms, makes no further request and ends. The sleeper goes on at the child's act, not at its own limit of 30
// s.
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <functional>
#include <map>
#include <string>

#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {
namespace {

constexpr int limit = 30;  // s
int ends[2];               // the sleeper's, the child's

long clock_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

void nothing(int) {}

// How it sleeps.
void by_poll() {
  pollfd p{ends[0], POLLIN, 0};
  REQUIRE(poll(&p, 1, limit * 1000) == 1);
}
void by_ppoll() {
  pollfd p{ends[0], POLLIN, 0};
  const timespec t{limit, 0};
  sigset_t none;
  sigemptyset(&none);
  REQUIRE(ppoll(&p, 1, &t, &none) == 1);
}
void by_select() {
  fd_set in;
  FD_ZERO(&in);
  FD_SET(ends[0], &in);
  timeval t{limit, 0};
  REQUIRE(select(ends[0] + 1, &in, nullptr, nullptr, &t) == 1);
}
// Sleeps in epoll with a timer beside the descriptor, due at the limit.
void by_epoll() {
  const int all = epoll_create1(0);
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  const itimerspec later{{}, {limit, 0}};
  REQUIRE(timerfd_settime(timer, 0, &later, nullptr) == 0);
  epoll_event e{EPOLLIN, {.fd = ends[0]}};
  REQUIRE(epoll_ctl(all, EPOLL_CTL_ADD, ends[0], &e) == 0);
  e.data.fd = timer;
  REQUIRE(epoll_ctl(all, EPOLL_CTL_ADD, timer, &e) == 0);
  const timespec t{2 * limit, 0};
  REQUIRE(epoll_pwait2(all, &e, 1, &t, nullptr) == 1 && e.data.fd == ends[0]);
}
void by_receive() {
  const timeval t{limit, 0};
  char c = 0;
  REQUIRE(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0);
  REQUIRE(recv(ends[0], &c, 1, 0) >= 0);
}
void by_alarm() {
  struct sigaction a {};
  a.sa_handler = nothing;
  REQUIRE(sigaction(SIGALRM, &a, nullptr) == 0);
  alarm(limit);
  char c = 0;
  REQUIRE(read(ends[0], &c, 1) >= 0);
  alarm(0);
}
sigset_t of_children() {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGCHLD);
  return s;
}
void by_sigtimedwait() {
  const sigset_t s = of_children();
  const timespec t{limit, 0};
  REQUIRE(sigtimedwait(&s, nullptr, &t) == SIGCHLD);
}
void by_sigsuspend() {
  struct sigaction a {};
  a.sa_handler = nothing;
  REQUIRE(sigaction(SIGCHLD, &a, nullptr) == 0 && sigaction(SIGALRM, &a, nullptr) == 0);
  alarm(limit);
  sigset_t none;
  sigemptyset(&none);
  REQUIRE(sigsuspend(&none) == -1 && errno == EINTR);
  REQUIRE(alarm(0) == limit);
}
void by_signalfd() {
  const sigset_t s = of_children();
  const int file = signalfd(-1, &s, 0);
  pollfd p{file, POLLIN, 0};
  REQUIRE(poll(&p, 1, limit * 1000) == 1);
  signalfd_siginfo info{};
  REQUIRE(read(file, &info, sizeof info) == sizeof info && info.ssi_signo == SIGCHLD);
}
void handle_children(void (*handler)(int)) {
  struct sigaction a {};
  a.sa_handler = handler;
  REQUIRE(sigaction(SIGCHLD, &a, nullptr) == 0);
  sigset_t s = of_children();
  sigprocmask(SIG_UNBLOCK, &s, nullptr);
}
// A signal's handler ends the sleep of another call.
void by_interruption() {
  handle_children(nothing);
  REQUIRE(sleep(limit) == limit);
}

// A signal's handler wakes a thread that does not sleep for signals.
volatile sig_atomic_t handled = 0;
long handled_at = 0;
void note(int) {
  handled_at = clock_ns();
  handled = 1;
}
void by_look() {
  pollfd never{eventfd(0, 0), POLLIN, 0};
  handle_children(note);
  while (!handled) REQUIRE(poll(&never, 1, 0) == 0);
}
void by_yield() {
  handle_children(note);
  while (!handled) sched_yield();
}
void by_memory() {
  const looped connected;
  handle_children(note);
  while (!handled) {
  }
}
sem_t posted;
void post(int) {
  note(SIGCHLD);
  sem_post(&posted);
}
void by_semaphore() {
  sem_init(&posted, 0, 0);
  handle_children(post);
  REQUIRE(sem_wait(&posted) == 0);
}
// The waiting thread blocks the signal, which goes to another thread.
void* await_post(void*) {
  const sigset_t blocked = of_children();
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  REQUIRE(sem_wait(&posted) == 0);
  return nullptr;
}
void by_thread() {
  sem_init(&posted, 0, 0);
  pthread_t waiter{};
  REQUIRE(pthread_create(&waiter, nullptr, await_post, nullptr) == 0);
  handle_children(post);
  REQUIRE(pthread_join(waiter, nullptr) == 0);
}

// Objects of the system that both have.
struct shared_objects {
  int messages = -1;
  int semaphores = -1;
  mqd_t queue = -1;
};
shared_objects shared;
struct message {
  long type;
  char text[8];
};

void make_messages() {
  shared.messages = msgget(IPC_PRIVATE, 0600);
  REQUIRE(shared.messages >= 0);
}
void by_message() {
  message m{};
  REQUIRE(msgrcv(shared.messages, &m, sizeof m.text, 7, IPC_NOWAIT) == -1 && errno == ENOMSG);
  REQUIRE(msgrcv(shared.messages, &m, sizeof m.text, 7, 0) == 2 && m.text[0] == 'x');
  REQUIRE(msgctl(shared.messages, IPC_RMID, nullptr) == 0);
}
void sends_message() {
  message m{8, "y"};  // for another
  REQUIRE(msgsnd(shared.messages, &m, 2, 0) == 0);
  m = {7, "x"};
  REQUIRE(msgsnd(shared.messages, &m, 2, 0) == 0);
}
void make_semaphores() {
  shared.semaphores = semget(IPC_PRIVATE, 2, 0600);
  REQUIRE(shared.semaphores >= 0);
}
void by_operation() {
  const timespec t{0, 1000};
  sembuf take[] = {{1, 1, 0}, {0, -1, 0}};
  REQUIRE(semtimedop(shared.semaphores, take, 2, &t) == -1 && errno == EAGAIN);
  take[1].sem_flg = IPC_NOWAIT;
  REQUIRE(semop(shared.semaphores, take, 2) == -1 && errno == EAGAIN);
  take[0].sem_flg = IPC_NOWAIT;  // which does not sleep
  take[1].sem_flg = 0;
  REQUIRE(semop(shared.semaphores, take, 2) == 0);
  REQUIRE(semctl(shared.semaphores, 0, IPC_RMID) == 0);
}
void operates() {
  sembuf give{0, 1, 0};
  REQUIRE(semop(shared.semaphores, &give, 1) == 0);
}
// A handler of a signal ends such a wait.
void by_interrupted_operation() {
  handle_children(nothing);
  sembuf take{0, -1, 0};
  REQUIRE(semop(shared.semaphores, &take, 1) == -1 && errno == EINTR);
  REQUIRE(semctl(shared.semaphores, 0, IPC_RMID) == 0);
}
void make_queue() {
  const std::string name = "/hcasim_misuse." + std::to_string(getpid());
  mq_attr attr{};
  attr.mq_maxmsg = 1;
  attr.mq_msgsize = 8;
  shared.queue = mq_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
  REQUIRE(shared.queue >= 0 && mq_unlink(name.c_str()) == 0);
}
void by_queue() {
  char text[8];
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  REQUIRE(mq_timedreceive(shared.queue, text, sizeof text, nullptr, &t) == -1 && errno == ETIMEDOUT);
  t.tv_sec += limit;
  REQUIRE(mq_timedreceive(shared.queue, text, sizeof text, nullptr, &t) == 1 && text[0] == 'x');
}
void sends_to_queue() {
  REQUIRE(mq_send(shared.queue, "x", 1, 0) == 0);
}

// The last acts of a child.
void writes() {
  REQUIRE(write(ends[1], "x", 1) == 1);
}
void closes() {}
void sends_by_exec() {
  writes();
  execl("/bin/true", "true", nullptr);
}
std::string outsider() {
  std::string self(4096, 0);
  self.resize(static_cast<std::size_t>(readlink("/proc/self/exe", self.data(), self.size())));
  return self.substr(0, self.rfind('/')) + "/hcasim_static";
}
void execs_outsider() {
  dup2(ends[1], STDOUT_FILENO);
  execl(outsider().c_str(), "hcasim_static", "x", nullptr);
}
void spawns_outsider() {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string name = outsider();
  std::string word = "x";
  char* const words[] = {name.data(), word.data(), nullptr};
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, name.c_str(), &actions, nullptr, words, environ) == 0);
  close(ends[1]);
}
void kills_another() {
  const pid_t other = fork();
  if (other == 0) {
    for (;;) sleep(1000);
  }
  close(ends[1]);
  kill(other, SIGKILL);
}

}  // namespace

void wake(const char* how, const char* by) {
  const std::map<std::string, void (*)()> sleeps{{"poll", by_poll},
                                                 {"ppoll", by_ppoll},
                                                 {"select", by_select},
                                                 {"epoll", by_epoll},
                                                 {"receive", by_receive},
                                                 {"alarm", by_alarm},
                                                 {"sigtimedwait", by_sigtimedwait},
                                                 {"sigsuspend", by_sigsuspend},
                                                 {"signalfd", by_signalfd},
                                                 {"sleep", by_interruption},
                                                 {"look", by_look},
                                                 {"yield", by_yield},
                                                 {"memory", by_memory},
                                                 {"semaphore", by_semaphore},
                                                 {"thread", by_thread},
                                                 {"message", by_message},
                                                 {"operation", by_operation},
                                                 {"interrupted", by_interrupted_operation},
                                                 {"queue", by_queue}};
  const std::map<std::string, void (*)()> makes{
      {"message", make_messages}, {"operation", make_semaphores}, {"interrupted", make_semaphores}, {"queue", make_queue}};
  const std::map<std::string, void (*)()> does{
      {"write", writes},          {"close", closes},       {"exec", sends_by_exec},    {"outsider", execs_outsider},
      {"spawn", spawns_outsider}, {"kill", kills_another}, {"message", sends_message}, {"operation", operates},
      {"queue", sends_to_queue}};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const sigset_t blocked = of_children();
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  if (const auto make = makes.find(how); make != makes.end()) make->second();
  const long begin = clock_ns();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    close(ends[0]);
    usleep(1000);
    does.at(by)();
    _exit(0);
  }
  close(ends[1]);
  sleeps.at(how)();
  REQUIRE(!handled || handled_at - begin >= 1'000'000);
  std::printf("%s by %s after %ld ns\n", how, by, clock_ns() - begin);
}

}  // namespace misuse
