// A verbs program that does what programs should not, or rarely do: hcasim_misuse WHAT. Status 0: what it saw is what it should
// have seen.
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "testbenches/applications/channel/channel.h"

namespace {

void require(bool so, int line, const char* what) {
  if (so) return;
  std::printf("line %d: not so: %s (errno %d)\n", line, what, errno);
  std::exit(1);
}
#define REQUIRE(what) require(what, __LINE__, #what)

struct opened {
  ibv_context* context;
  ibv_pd* pd;
};

opened open() {
  ibv_device** list = ibv_get_device_list(nullptr);
  REQUIRE(list && list[0]);
  ibv_context* context = ibv_open_device(list[0]);
  REQUIRE(context);
  ibv_free_device_list(list);
  ibv_pd* pd = ibv_alloc_pd(context);
  REQUIRE(pd);
  return {context, pd};
}

alignas(4096) char buffer[8192];

// A QP that is connected to itself.
struct looped {
  opened o;
  ibv_cq* cq;
  ibv_qp* qp;
  ibv_mr* mr;
  ibv_comp_channel* channel = nullptr;

  explicit looped(bool events = false) : o(open()) {
    if (events) {
      channel = ibv_create_comp_channel(o.context);
      REQUIRE(channel);
    }
    cq = ibv_create_cq(o.context, 16, nullptr, channel, 0);
    REQUIRE(cq);
    connect();
  }
  // With a queue that the caller has made.
  looped(const opened& with, ibv_cq_ex* made) : o(with), cq(ibv_cq_ex_to_cq(made)) { connect(); }

  void connect() {
    mr = ibv_reg_mr(o.pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    REQUIRE(mr);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {8, 8, 1, 1, 64};
    init.qp_type = IBV_QPT_RC;
    qp = ibv_create_qp(o.pd, &init);
    REQUIRE(qp);
    ibv_port_attr port{};
    REQUIRE(ibv_query_port(o.context, 1, &port) == 0);
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    REQUIRE(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = qp->qp_num;
    a.max_dest_rd_atomic = 1;
    a.min_rnr_timer = 12;
    a.ah_attr.dlid = port.lid;
    a.ah_attr.port_num = 1;
    REQUIRE(ibv_modify_qp(qp, &a,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 14;
    a.retry_cnt = 7;
    a.rnr_retry = 7;
    a.max_rd_atomic = 1;
    REQUIRE(ibv_modify_qp(qp, &a,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                              IBV_QP_MAX_QP_RD_ATOMIC) == 0);
  }

  // One byte from the first page to the second, which was 0.
  void write_flag() {
    buffer[0] = 1;
    buffer[4096] = 0;
    ibv_sge s{reinterpret_cast<std::uint64_t>(buffer), 1, mr->lkey};
    ibv_send_wr wr{};
    ibv_send_wr* bad = nullptr;
    wr.sg_list = &s;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {reinterpret_cast<std::uint64_t>(buffer + 4096), mr->rkey};
    REQUIRE(ibv_post_send(qp, &wr, &bad) == 0);
  }
};

void finish(looped& l) {
  ibv_wc wc{};
  while (ibv_poll_cq(l.cq, 1, &wc) == 0) {
  }
  REQUIRE(wc.status == IBV_WC_SUCCESS && buffer[4096] == 1);
}

const volatile char& flag = buffer[4096];

void spin_pure() {
  while (flag == 0) {
  }
}
void spin_pause() {
  while (flag == 0) __builtin_ia32_pause();
}
// On the stack, a counter that comes round.
void spin_stack() {
  volatile unsigned char n = 0;
  while (flag == 0) n = (n + 1) % 4;
}
void spin_register() {
  std::uint64_t n = 0;
  while (flag == 0) asm volatile("" : "+r"(++n));
}
volatile std::uint64_t far_counter;
void spin_memory() {
  while (flag == 0) far_counter = far_counter + 1;
}
void spin_clock() {
  timespec t{};
  while (flag == 0) clock_gettime(CLOCK_MONOTONIC, &t);
}
void spin_stamp() {
  while (flag == 0) __builtin_ia32_rdtsc();
}

void spin(const char* how) {
  const std::map<std::string, void (*)()> loops{{"pure", spin_pure},         {"pause", spin_pause},   {"stack", spin_stack},
                                                {"register", spin_register}, {"memory", spin_memory}, {"clock", spin_clock},
                                                {"stamp", spin_stamp}};
  looped l;
  for (int i = 0; i < 20; ++i) {
    l.write_flag();
    loops.at(how)();
    ibv_wc wc{};
    while (ibv_poll_cq(l.cq, 1, &wc) == 0) {
    }
    REQUIRE(wc.status == IBV_WC_SUCCESS);
  }
  std::printf("%s: done\n", how);
}

// It computes for long and waits for nothing: no simulated time may pass.
void compute() {
  looped l;
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  volatile double x = 1;
  for (int i = 0; i < 3'000'000; ++i) x = x * 1.0000001;
  clock_gettime(CLOCK_MONOTONIC, &after);
  std::printf("computed in %ld ns\n", (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec);
}

void wild() {
  const opened o = open();
  // The handle lies behind the public struct.
  auto* behind = reinterpret_cast<std::uint64_t*>(o.pd + 1);
  for (const std::uint64_t v : {std::uint64_t{0}, std::uint64_t{0xdead'beef}, ~std::uint64_t{0}, std::uint64_t{2} << 24}) {
    const std::uint64_t good = behind[0];
    behind[0] = v;
    REQUIRE(!ibv_reg_mr(o.pd, buffer, 4096, 0) && errno == EINVAL);
    behind[0] = good;
  }
  REQUIRE(ibv_reg_mr(o.pd, buffer, 4096, 0));
  REQUIRE(!ibv_reg_mr(o.pd, reinterpret_cast<void*>(0x1000), 4096, 0) && errno == EFAULT);
  REQUIRE(!ibv_create_cq(o.context, -1, nullptr, nullptr, 0) && errno == EINVAL);
  REQUIRE(!ibv_create_cq(o.context, 16, nullptr, nullptr, 99) && errno == EINVAL);
}

void forked() {
  const opened o = open();
  REQUIRE(ibv_reg_mr(o.pd, buffer, 4096, IBV_ACCESS_LOCAL_WRITE));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ibv_device_attr a{};
    REQUIRE(ibv_query_device(o.context, &a) == EINVAL);  // the parent's
    const opened own = open();
    REQUIRE(ibv_reg_mr(own.pd, buffer, 4096, IBV_ACCESS_LOCAL_WRITE));
    std::printf("child\n");
    std::fflush(stdout);
    _exit(7);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  REQUIRE(ibv_reg_mr(o.pd, buffer + 4096, 4096, IBV_ACCESS_LOCAL_WRITE));
  std::printf("parent\n");
}

void out_of_memory() {
  const opened o = open();
  rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  std::vector<void*> taken;
  for (std::size_t n = std::size_t{1} << 28; n >= 4096; n /= 2) {
    while (void* p = std::malloc(n)) taken.push_back(p);
  }
  REQUIRE(!mmap(nullptr, std::size_t{1} << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) || errno == ENOMEM);
  for (void* p : taken) std::free(p);
  REQUIRE(ibv_reg_mr(o.pd, buffer, 4096, 0));
}

void unmapped() {
  looped l;
  void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ibv_mr* mr = ibv_reg_mr(l.o.pd, at, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  REQUIRE(mr);
  REQUIRE(munmap(at, 4096) == 0);
  void* again = mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  REQUIRE(again == at);
  buffer[0] = 1;
  ibv_sge s{reinterpret_cast<std::uint64_t>(buffer), 1, l.mr->lkey};
  ibv_send_wr wr{};
  ibv_send_wr* bad = nullptr;
  wr.sg_list = &s;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma = {reinterpret_cast<std::uint64_t>(at), mr->rkey};
  REQUIRE(ibv_post_send(l.qp, &wr, &bad) == 0);
  ibv_wc wc{};
  while (ibv_poll_cq(l.cq, 1, &wc) == 0) {
  }
  REQUIRE(*static_cast<char*>(at) == 0);  // the grant was for the page that is gone
}

void threads() {
  std::mutex m;
  std::condition_variable c;
  int turn = 0;
  std::vector<std::thread> all;
  constexpr int many = 4;
  constexpr int rounds = 50;
  all.reserve(many);
  for (int i = 0; i < many; ++i) {
    all.emplace_back([&, i] {
      const opened o = open();
      for (int r = 0; r < rounds; ++r) {
        std::unique_lock lock(m);
        c.wait(lock, [&] { return turn % many == i; });
        ++turn;
        c.notify_all();
        lock.unlock();
        REQUIRE(ibv_reg_mr(o.pd, buffer, 4096, 0));
      }
      ibv_close_device(o.context);
    });
  }
  for (std::thread& t : all) t.join();
  std::unique_lock lock(m);
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  REQUIRE(c.wait_for(lock, std::chrono::milliseconds(5)) == std::cv_status::timeout);
  clock_gettime(CLOCK_MONOTONIC, &after);
  const long waited = (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec;
  REQUIRE(waited >= 5'000'000 && waited < 5'100'000);
  std::printf("turns: %d\n", turn);
}

// Speaks a channel that does not exist.
void version() {
  const char* name = std::getenv("HCASIM_SOCKET");
  const int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::memcpy(a.sun_path + 1, name, std::strlen(name));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::strlen(name));
  REQUIRE(connect(s, reinterpret_cast<sockaddr*>(&a), length) == 0);
  const int memory = memfd_create("other", 0);
  hcasim::channel::hello h{hcasim::channel::magic, hcasim::channel::version + 1, getpid(), gettid(), getppid(), 0, 0};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{&h, sizeof h};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  cmsghdr* c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(c), &memory, sizeof memory);
  REQUIRE(sendmsg(s, &m, 0) == sizeof h);
  sleep(100);
}

void leave() {
  const opened o = open();
  REQUIRE(ibv_reg_mr(o.pd, buffer, 4096, 0));
  REQUIRE(ibv_create_cq(o.context, 16, nullptr, nullptr, 0));
  _exit(0);
}

void register_memory() {
  looped l;
  l.write_flag();
  finish(l);
}

void closed_channel() {
  looped l(true);
  REQUIRE(ibv_req_notify_cq(l.cq, 0) == 0);
  REQUIRE(close(l.channel->fd) == 0);
  l.write_flag();
  finish(l);
}

void resize() {
  looped l;
  for (const int cqe : {64, 1, 1000}) {
    REQUIRE(ibv_resize_cq(l.cq, cqe) == 0 && l.cq->cqe >= cqe);
    l.write_flag();
    finish(l);
  }
  for (int i = 0; i < 3; ++i) l.write_flag();
  while (flag == 0) {
  }
  timespec second{1, 0};
  nanosleep(&second, nullptr);
  REQUIRE(ibv_resize_cq(l.cq, 2) == EINVAL);
  REQUIRE(ibv_resize_cq(l.cq, 0) == EINVAL);
  REQUIRE(ibv_resize_cq(l.cq, 1 << 30) == EINVAL);
  for (int i = 0; i < 3; ++i) finish(l);
}

// Completions say when they were made: between two looks at the adapter's clock.
void stamped() {
  const opened o = open();
  ibv_cq_init_attr_ex with{};
  with.cqe = 16;
  with.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  with.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  ibv_cq_ex* cq = ibv_create_cq_ex(o.context, &with);
  REQUIRE(cq);
  looped on(o, cq);
  const auto ticks = [&] {
    ibv_values_ex v{};
    v.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    REQUIRE(ibv_query_rt_values_ex(o.context, &v) == 0 && v.raw_clock.tv_sec == 0);
    return static_cast<std::uint64_t>(v.raw_clock.tv_nsec);
  };
  ibv_device_attr_ex device{};
  REQUIRE(ibv_query_device_ex(o.context, nullptr, &device) == 0);
  REQUIRE(device.hca_core_clock == 1'000'000 && device.completion_timestamp_mask == ~std::uint64_t{0});
  const std::uint64_t before = ticks();
  on.write_flag();
  ibv_poll_cq_attr none{};
  while (ibv_start_poll(cq, &none) == ENOENT) {
  }
  const std::uint64_t at = ibv_wc_read_completion_ts(cq);
  const std::uint64_t date = ibv_wc_read_completion_wallclock_ns(cq);
  ibv_end_poll(cq);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::uint64_t after = ticks();
  const std::uint64_t now_ns = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  REQUIRE(before < at && at < after && after - before < 100'000);
  REQUIRE(date < now_ns && now_ns - date <= after - at);
}

// A shared queue grows; receives that were posted before are used.
void grow() {
  const opened o = open();
  ibv_srq_init_attr init{};
  init.attr = {3, 1, 0};
  ibv_srq* srq = ibv_create_srq(o.pd, &init);
  REQUIRE(srq);
  const auto fill = [&] {
    ibv_recv_wr wr{};
    ibv_recv_wr* bad = nullptr;
    int n = 0;
    while (ibv_post_srq_recv(srq, &wr, &bad) == 0) ++n;
    return n;
  };
  REQUIRE(fill() == 3);
  ibv_srq_attr a{100, 0, 0};
  REQUIRE(ibv_modify_srq(srq, &a, IBV_SRQ_MAX_WR) == 0);
  REQUIRE(ibv_query_srq(srq, &a) == 0 && a.max_wr >= 100);
  REQUIRE(fill() == static_cast<int>(a.max_wr) - 3);
  a.max_wr = 3;
  REQUIRE(ibv_modify_srq(srq, &a, IBV_SRQ_MAX_WR) == EINVAL);
}

// The send queue is drained, says so, and goes on.
void drained() {
  looped l;
  for (int i = 0; i < 4; ++i) l.write_flag();
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_SQD;
  a.en_sqd_async_notify = 1;
  REQUIRE(ibv_modify_qp(l.qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
  ibv_async_event event{};
  REQUIRE(ibv_get_async_event(l.o.context, &event) == 0);
  REQUIRE(event.event_type == IBV_EVENT_SQ_DRAINED && event.element.qp == l.qp);
  ibv_ack_async_event(&event);
  ibv_qp_init_attr init{};
  REQUIRE(ibv_query_qp(l.qp, &a, IBV_QP_STATE, &init) == 0);
  REQUIRE(a.qp_state == IBV_QPS_SQD && a.sq_draining == 0);
  for (int i = 0; i < 4; ++i) finish(l);
  l.write_flag();
  timespec second{1, 0};
  nanosleep(&second, nullptr);
  REQUIRE(flag == 0);
  a.qp_state = IBV_QPS_RTS;
  REQUIRE(ibv_modify_qp(l.qp, &a, IBV_QP_STATE) == 0);
  finish(l);
}

sigjmp_buf back;
int* const nowhere = reinterpret_cast<int*>(8);

void on_fault(int, siginfo_t* info, void*) {
  if (info->si_addr != nowhere) _exit(9);
  siglongjmp(back, 1);
}

// Its own faults are its own; those of the time-stamp counter it does not see.
void faults() {
  looped l;
  struct sigaction mine {};
  mine.sa_sigaction = on_fault;
  mine.sa_flags = SA_SIGINFO | SA_NODEFER;
  REQUIRE(sigaction(SIGSEGV, &mine, nullptr) == 0);
  // It leaves its handler by a jump, also while it is looked at step by step.
  for (volatile int i = 0; i < 20'000;) {
    if (sigsetjmp(back, 1) == 0) const_cast<volatile int&>(*nowhere) = 1;
    i = i + 1;
  }
  volatile int seen = 0;
  while (seen < 3) {
    const unsigned long long before = __builtin_ia32_rdtsc();
    if (sigsetjmp(back, 1) == 0) {
      const_cast<volatile int&>(*nowhere) = 1;
      REQUIRE(false);
    }
    seen = seen + 1;
    REQUIRE(__builtin_ia32_rdtsc() > before);
    l.write_flag();
    while (flag == 0) {
    }
    finish(l);
  }
  struct sigaction now {};
  REQUIRE(sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_sigaction == on_fault);
  std::printf("faults: %d\n", seen);
}

int status_of(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

void spawn() {
  const opened o = open();
  std::FILE* lines = popen("ibv_devices", "r");
  REQUIRE(lines);
  int n = 0;
  for (char c = 0; read(fileno(lines), &c, 1) == 1;) n += c == '\n';  // what the C library sleeps for inside is unknown
  std::printf("popen: %d lines\n", n);
  std::printf("pclose: %d\n", pclose(lines));
  std::fflush(stdout);

  pid_t child = 0;
  posix_spawn_file_actions_t quietly;
  posix_spawn_file_actions_init(&quietly);
  posix_spawn_file_actions_addopen(&quietly, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::string name = "ibv_devinfo";
  char* const words[] = {name.data(), nullptr};
  REQUIRE(posix_spawnp(&child, "ibv_devinfo", &quietly, nullptr, words, environ) == 0);
  std::printf("spawned: %d\n", status_of(child));
  std::fflush(stdout);

  child = vfork();
  if (child == 0) {
    execlp("sh", "sh", "-c", "exit 3", nullptr);
    _exit(127);
  }
  std::printf("vfork: %d\n", status_of(child));

  std::FILE* to = popen("read word; exit $word", "w");
  REQUIRE(to && std::fputs("7\n", to) >= 0);
  const int status = pclose(to);
  std::printf("to sh: %d\n", WEXITSTATUS(status));
  REQUIRE(ibv_reg_mr(o.pd, buffer, 4096, 0));
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> what{{"wild", wild},
                                               {"fork", forked},
                                               {"memory", out_of_memory},
                                               {"unmap", unmapped},
                                               {"threads", threads},
                                               {"version", version},
                                               {"leave", leave},
                                               {"compute", compute},
                                               {"register", register_memory},
                                               {"closed", closed_channel},
                                               {"resize", resize},
                                               {"drained", drained},
                                               {"stamped", stamped},
                                               {"grow", grow},
                                               {"faults", faults},
                                               {"spawn", spawn}};
  if (argc == 3 && std::strcmp(argv[1], "spin") == 0) {
    spin(argv[2]);
  } else if (argc == 2 && what.contains(argv[1])) {
    what.at(argv[1])();
  } else {
    return 2;
  }
  return 0;
}
