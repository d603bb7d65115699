// A program that writes to the connection manager's file without a library: hcasim_connections WHAT. Status 0 = all answers
// were as expected.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

void require(bool so, int line, const char* what) {
  if (so) return;
  std::printf("line %d: not so: %s (errno %d)\n", line, what, errno);
  std::exit(1);
}
#define REQUIRE(what) require(what, __LINE__, #what)

constexpr std::uint16_t port = 7000;

int open_file() {
  const int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0);
  struct stat s {};
  REQUIRE(fstat(fd, &s) == 0 && S_ISCHR(s.st_mode));
  return fd;
}

// 0 or an errno value.
template <class Command>
int command(int fd, std::uint32_t number, const Command& c, std::uint16_t room = 1024) {
  struct {
    rdma_ucm_cmd_hdr header;
    Command body;
  } all{{number, sizeof c, room}, c};
  const ssize_t n = write(fd, &all, sizeof all);
  REQUIRE(n == -1 || n == sizeof all);
  return n < 0 ? errno : 0;
}

template <class T>
std::uint64_t address_of(T& x) {
  return reinterpret_cast<std::uint64_t>(&x);
}

std::uint32_t create(int fd) {
  rdma_ucm_create_id_resp made{};
  REQUIRE(command(fd, RDMA_USER_CM_CMD_CREATE_ID, rdma_ucm_create_id{1, address_of(made), RDMA_PS_TCP, 0, {}}) == 0);
  return made.id;
}

sockaddr_in6 ip(const char* text, std::uint16_t p) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(p);
  inet_pton(AF_INET, text, &a.sin_addr);
  sockaddr_in6 out{};
  std::memcpy(&out, &a, sizeof a);
  return out;
}

rdma_ucm_event_resp next_event(int fd) {
  rdma_ucm_event_resp e{};
  REQUIRE(command(fd, RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{address_of(e)}) == 0);
  return e;
}

int listening() {
  const int fd = open_file();
  const std::uint32_t id = create(fd);
  REQUIRE(command(fd, RDMA_USER_CM_CMD_BIND_IP, rdma_ucm_bind_ip{0, ip("0.0.0.0", port), id}) == 0);
  REQUIRE(command(fd, RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{id, 0}) == 0);
  return fd;
}

// Asks the listener on node0.
int asking(std::uint32_t& id) {
  const int fd = open_file();
  id = create(fd);
  REQUIRE(command(fd, RDMA_USER_CM_CMD_RESOLVE_IP, rdma_ucm_resolve_ip{{}, ip("127.0.0.1", port), id, 2000}) == 0);
  REQUIRE(next_event(fd).event == 0);
  REQUIRE(command(fd, RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 2000}) == 0);
  REQUIRE(next_event(fd).event == 2);
  rdma_ucm_connect c{};
  c.id = id;
  c.conn_param.valid = 1;
  REQUIRE(command(fd, RDMA_USER_CM_CMD_CONNECT, c) == 0);
  return fd;
}

void garbage() {
  const int fd = open_file();
  std::mt19937 random(1);
  std::vector<std::uint32_t> words(200);
  for (int i = 0; i < 2000; ++i) {
    for (std::uint32_t& w : words) w = random() % 3 ? random() % 32 : random();
    if (i % 2) words[1] = 200;
    if (words[0] == RDMA_USER_CM_CMD_GET_EVENT) continue;
    const std::size_t n = random() % 600;
    const ssize_t wrote = write(fd, words.data(), n);
    REQUIRE(wrote == -1 || wrote == static_cast<ssize_t>(n));
  }
  std::vector<char> much(1 << 20);
  REQUIRE(write(fd, much.data(), much.size()) == -1 && errno == EINVAL);
}

void wild() {
  const int fd = open_file();
  const int other = open_file();
  const std::uint32_t id = create(fd);
  REQUIRE(command(fd, RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{id + 1000}) == ENOENT);
  REQUIRE(command(fd, RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{id}) == EINVAL);
  REQUIRE(command(other, RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{id, 0}) == EINVAL);
  REQUIRE(command(fd, RDMA_USER_CM_CMD_CREATE_ID, rdma_ucm_create_id{1, 16, RDMA_PS_TCP, 0, {}}) == EFAULT);
  REQUIRE(command(fd, RDMA_USER_CM_CMD_SET_OPTION, rdma_ucm_set_option{16, id, 0, 1, 4}) == EFAULT);
  REQUIRE(command(fd, RDMA_USER_CM_CMD_SET_OPTION, rdma_ucm_set_option{16, id, 0, 1, ~0U}) == EINVAL);
  REQUIRE(command(fd, RDMA_USER_CM_CMD_MIGRATE_ID, rdma_ucm_migrate_id{0, id, 9999}) == EINVAL);
  REQUIRE(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
  rdma_ucm_event_resp e{};
  REQUIRE(command(fd, RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{address_of(e)}) == EAGAIN);
}

void closed() {
  for (int i = 0; i < 3; ++i) {
    const int fd = listening();  // the port is free again each time
    const int copy = open("/dev/null", O_RDWR);
    if (i == 1) {
      REQUIRE(dup2(copy, fd) == fd);
      REQUIRE(write(fd, "x", 1) == 1);
    }
    close(fd);
    close(copy);
  }
  const int fd = listening();
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = write(fd, "12345678", 8) == -1 && errno == EINVAL;
    const int own = open_file();
    create(own);
    close(fd);  // takes nothing from the others
    create(own);
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  const int second = open_file();
  REQUIRE(command(second, RDMA_USER_CM_CMD_BIND_IP, rdma_ucm_bind_ip{0, ip("0.0.0.0", port), create(second)}) == EADDRINUSE);
}

// The other one's request comes, and it ends.
void dies_when_asked() {
  const int fd = listening();
  pollfd p{fd, POLLIN, 0};
  REQUIRE(poll(&p, 1, -1) == 1);
  REQUIRE(next_event(fd).event == 4);
}
void asks() {
  std::uint32_t id = 0;
  const int fd = asking(id);
  const rdma_ucm_event_resp e = next_event(fd);
  std::printf("event %u, status %u\n", e.event, e.status);
}
void asks_and_dies() {
  std::uint32_t id = 0;
  asking(id);
}
void is_asked_by_the_dead() {
  const int fd = listening();
  const rdma_ucm_event_resp e = next_event(fd);
  usleep(1000);
  rdma_ucm_accept a{};
  a.id = e.id;
  a.uid = 2;
  a.conn_param.valid = 1;
  REQUIRE(command(fd, RDMA_USER_CM_CMD_ACCEPT, a) == EINVAL);
}
// Two of them on a node: the second finds the port taken.
void keeps_a_port() {
  pollfd p{listening(), POLLIN, 0};
  REQUIRE(poll(&p, 1, 1000) == 0);
}
void wants_a_port() {
  const int fd = open_file();
  const std::uint32_t id = create(fd);
  const int error = command(fd, RDMA_USER_CM_CMD_BIND_IP, rdma_ucm_bind_ip{0, ip("0.0.0.0", port), id});
  std::printf("%s\n", error == EADDRINUSE ? "in use" : "free");
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> what{{"garbage", garbage},
                                               {"wild", wild},
                                               {"closed", closed},
                                               {"dies_when_asked", dies_when_asked},
                                               {"asks", asks},
                                               {"asks_and_dies", asks_and_dies},
                                               {"is_asked_by_the_dead", is_asked_by_the_dead},
                                               {"keeps_a_port", keeps_a_port},
                                               {"wants_a_port", wants_a_port}};
  if (argc != 2 || !what.contains(argv[1])) return 2;
  what.at(argv[1])();
  return 0;
}
