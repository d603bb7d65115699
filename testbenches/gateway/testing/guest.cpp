#include "testbenches/gateway/testing/guest.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "tlm/base/send_signal.h"

namespace hcasim::gateway::testing {
namespace {

std::vector<std::string> words_of(const std::string& folder, const guest_network& n) {
  return {
      "qemu-system-x86_64",
      "-machine",
      "q35,accel=tcg",
      "-cpu",
      "max",
      "-m",
      "256",
      "-nodefaults",
      "-no-reboot",
      "-display",
      "none",
      "-serial",
      "stdio",
      "-kernel",
      folder + "/vmlinuz",
      "-initrd",
      folder + "/initramfs",
      "-append",
      fmt::format("console=ttyS0 quiet panic=-1 address={}", guest::address),
      "-netdev",
      fmt::format(
          "dgram,id=roce,local.type=inet,local.host={0}.2,local.port={1},remote.type=inet,remote.host={0}.1,remote.port={2}",
          n.loopback, n.guest_port, n.gateway_port),
      "-device",
      "virtio-net-pci,netdev=roce,mac=02:00:00:00:00:02,romfile=",
      "-netdev",
      fmt::format("user,id=tcp,restrict=on,ipv6=off,net=10.0.2.0/24,hostfwd=tcp:{0}.2:{1}-:{1},"
                  "guestfwd=tcp:{2}:{1}-cmd:busybox nc {0}.1 {1}",
                  n.loopback, n.tcp_port, guest::node_tcp),
      "-device",
      "virtio-net-pci,netdev=tcp,romfile="};
}

}  // namespace

guest::guest(const std::string& folder, const guest_network& n) : network_(n) {
  std::vector<std::string> words = words_of(folder, n);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe for the guest");
  process_ = ::fork();
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(out[1], STDERR_FILENO);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  to_ = in[1];
  from_ = out[0];
}

guest::~guest() {
  if (process_ > 0) {
    signal_process(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(to_);
  ::close(from_);
}

std::optional<std::string> guest::until(const std::string& mark, std::chrono::seconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  for (;;) {
    const std::size_t at = console_.find(mark, read_);
    if (at != std::string::npos) {
      std::string text = console_.substr(read_, at - read_);
      read_ = at + mark.size();
      return text;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd there{from_, POLLIN, 0};
    if (left <= 0 || ::poll(&there, 1, static_cast<int>(left)) <= 0) return std::nullopt;
    char piece[4096];
    const ssize_t n = ::read(from_, piece, sizeof piece);
    if (n <= 0) return std::nullopt;
    console_.append(piece, static_cast<std::size_t>(n));
  }
}

std::optional<std::string> guest::run(const std::string& line, std::chrono::seconds most) {
  // The console may echo the line, so the mark is not spelled out in the line.
  const std::string mark = fmt::format("end-of-it {}.", ++runs_);
  const std::string all = fmt::format("{}\necho end''{}\n", line, mark.substr(3));
  if (::write(to_, all.data(), all.size()) != static_cast<ssize_t>(all.size())) return std::nullopt;
  return until(mark, most);
}

std::uint64_t guest::dropped() const {
  in_addr own{};
  ::inet_pton(AF_INET, (network_.loopback + ".2").c_str(), &own);
  const std::string socket = fmt::format("{:08X}:{:04X}", own.s_addr, network_.guest_port);
  std::ifstream sockets("/proc/net/udp");
  std::uint64_t sum = 0;
  for (std::string line; std::getline(sockets, line);) {
    std::istringstream words(line);
    std::string number;
    std::string at;
    words >> number >> at;
    if (at == socket) sum += std::stoull(line.substr(line.find_last_of(' ', line.find_last_not_of(' '))));
  }
  return sum;
}

}  // namespace hcasim::gateway::testing
