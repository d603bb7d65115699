#include "testbenches/verbs_programs/simulator/launcher.h"
#include "tlm/base/missing_part.h"
#include "tlm/base/send_signal.h"

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigprocmask and the others are POSIX
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

namespace hcasim::applications {
namespace {

[[noreturn]] void refused(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// A socket of an abstract name; none when the name is taken.
descriptor bound(const std::string& name) {
  descriptor s(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!s) refused("no socket for the programs");
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::memcpy(a.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(s.get(), reinterpret_cast<const sockaddr*>(&a), length) != 0) return descriptor();
  return s;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_of(const launch& what) {
  std::vector<std::string> out;
  std::string preload = what.library;
  for (char** e = environ; *e; ++e) {
    const std::string_view entry(*e);
    if (entry.starts_with("LD_PRELOAD=")) {
      preload += ':';
      preload += entry.substr(std::strlen("LD_PRELOAD="));
    } else if (!entry.starts_with("HCASIM_")) {
      out.emplace_back(entry);
    }
  }
  out.push_back("LD_PRELOAD=" + preload);
  for (const auto& [name, value] : what.environment) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

// In the child: nothing here may take memory or locks.
[[noreturn]] void become(const launch& what, char* const* words, char* const* environment, int output, int report) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::personality(ADDR_NO_RANDOMIZE);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = ::open("/dev/null", O_RDONLY);
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execve(what.path.c_str(), words, environment);
  const int error = errno;
  [[maybe_unused]] const auto n = ::write(report, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

meeting_place::meeting_place() {
  constexpr unsigned first = 64;  // 127.64.0.n to 127.191.255.n
  constexpr unsigned many = 128 * 256;
  const unsigned first_tried = std::random_device()() % many;  // connections to the last run's addresses may linger
  for (unsigned i = 0; i < many && !claim_; ++i) {
    const unsigned n = (first_tried + i) % many;
    // All addresses have one length, because the environment lies on the programs' stacks.
    loopback_ = fmt::format("{:03}.{:03}", first + n / 256, n % 256);
    claim_ = bound("hcasim.loopback." + loopback_);
  }
  listen();
}

meeting_place::meeting_place(const std::string& loopback, std::uint32_t first) {
  constexpr unsigned least = 192;
  constexpr unsigned most = 253;
  unsigned x = 0;
  unsigned y = 0;
  char rest = 0;
  if (std::sscanf(loopback.c_str(), "127.%3u.%3u%c", &x, &y, &rest) != 2 || x < least || x > most || y > 255) {
    throw std::runtime_error(fmt::format("loopback: '{}' is not 127.x.y with x from {} to {}", loopback, least, most));
  }
  loopback_ = fmt::format("{:03}.{:03}", x, y);
  claim_ = bound(fmt::format("hcasim.loopback.{}.{}", loopback_, first));
  if (!claim_)
    throw std::runtime_error(fmt::format("loopback: another run has host {} of {}; choose another", first, loopback));
  listen();
}

void meeting_place::listen() {
  name_ = fmt::format("hcasim.{:010}.{}", static_cast<unsigned>(::getpid()), loopback_);
  if (claim_) socket_ = bound(name_);
  constexpr int backlog = 64;
  if (!socket_ || ::listen(socket_.get(), backlog) != 0) throw std::runtime_error("no address for the programs is free");
}

launched start(const launch& what) {
  std::vector<std::string> words = what.words;
  std::vector<std::string> environment = environment_of(what);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(environment);
  const descriptor output(::open(what.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
  if (!output) refused(what.output);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) refused("no pipe");
  const descriptor heard(ends[0]);
  descriptor report(ends[1]);

  launched out;
  out.process = ::fork();
  if (out.process < 0) refused("no process for " + what.path);
  if (out.process == 0) become(what, argv.data(), envp.data(), output.get(), report.get());
  report = descriptor();
  int error = 0;
  if (::read(heard.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(out.process, nullptr, 0);
    throw std::system_error(error, std::generic_category(), what.path);
  }
  out.ended = descriptor(static_cast<int>(::syscall(SYS_pidfd_open, out.process, 0)));
  if (!out.ended) {
    error = errno;
    signal_process(out.process, SIGKILL);
    ::waitpid(out.process, nullptr, 0);
    throw std::system_error(error, std::generic_category(), "pidfd_open");
  }
  return out;
}

std::string find_library() {
  namespace fs = std::filesystem;
  std::error_code ec;
  const fs::path here = fs::read_symlink("/proc/self/exe", ec).parent_path();
  if (ec) throw std::runtime_error(fmt::format("programs cannot be run: /proc is not mounted ({})", ec.message()));
  for (const fs::path& p : {here / "libhcasim_verbs.so", here / "../lib/hcasim/libhcasim_verbs.so"}) {
    if (fs::exists(p, ec)) return fs::canonical(p);
  }
  throw missing_part(
      "the library that stands in for libibverbs",
      fmt::format("libhcasim_verbs.so is neither in {} nor in ../lib/hcasim. It needs the package libibverbs-dev",
                  here.string()));
}

}  // namespace hcasim::applications
