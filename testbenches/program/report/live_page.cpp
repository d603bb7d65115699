#include "testbenches/program/report/live_page.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/report/page.h"
#include "testbenches/program/report/svg.h"
#include "testbenches/program/study/results.h"
#include "tlm/base/send_signal.h"

namespace hcasim {
namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

volatile std::sig_atomic_t sweep_has_ended = 0;

constexpr std::string_view look_again = R"(<script>
setInterval(async () => {{
  try {{
    if (await (await fetch('points')).text() !== '{}') location.reload();
  }} catch {{ /* the sweep has ended */ }}
}}, 1000);
</script>
)";

// Answers browsers, one after the other.
class server {
 public:
  server(std::filesystem::path folder, int socket) : file_(std::move(folder) / result_file::file_name), socket_(socket) {}

  void run() {
    clock::time_point end = clock::time_point::max();
    while (clock::now() < end && !(sweep_has_ended && (!asked_ || served_last_))) {
      pollfd ready{socket_, POLLIN, 0};
      if (::poll(&ready, 1, 100) > 0) answer();
      if (sweep_has_ended && end == clock::time_point::max()) end = clock::now() + 3s;
    }
  }

 private:
  // Returns the number of points that have ended; empty = there are no results yet.
  [[nodiscard]] std::string points() const {
    std::string number;
    try {
      result_file::open(file_, false).query("SELECT count(*) FROM points", [&](const auto& row) { number = row[0]; });
    } catch (const std::exception&) {
      number.clear();
    }
    return number;
  }
  [[nodiscard]] static std::string message(const std::string& text) {
    return fmt::format("<!doctype html>\n<html lang=\"en\"><title>hcasim</title><body><p>{}</p></body></html>\n",
                       escaped(text));
  }
  // A browser looks again, also after an error.
  [[nodiscard]] std::string page() const {
    std::string number = points();
    std::string text = message("no point has ended yet");
    if (!number.empty() && number != "0") {
      try {
        result_file results = result_file::open(file_, false);
        text = report_page(results, nullptr);
      } catch (const std::exception& e) {
        text = message(e.what());
        number.clear();
      }
    }
    return text.insert(text.rfind("</body>"), fmt::format(fmt::runtime(look_again), number));
  }
  // Adds what a client says next to `text`. Returns false at its end, and at `until`.
  static bool read_part(int client, clock::time_point until, std::string& text) {
    char part[4096];
    pollfd ready{client, POLLIN, 0};
    int said = 0;
    do {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now());
      said = ::poll(&ready, 1, static_cast<int>(std::max(left, 0ms).count()));
    } while (said < 0 && errno == EINTR);  // the sweep's end
    const ssize_t n = said > 0 ? ::read(client, part, sizeof part) : 0;
    if (n <= 0) return false;
    text.append(part, static_cast<std::size_t>(n));
    return true;
  }
  void answer() {
    const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    ::setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);  // a client that does not read
    std::string line;
    const clock::time_point until = clock::now() + 1s;
    while (line.size() < longest_request && line.find("\r\n\r\n") == std::string::npos && read_part(client, until, line)) {
    }
    asked_ = true;
    if (line.starts_with("GET /points ")) {
      send(client, "200 OK", "text/plain", points());
    } else if (line.starts_with("GET / ")) {
      served_last_ = sweep_has_ended != 0;
      send(client, "200 OK", "text/html; charset=utf-8", page());
    } else {
      send(client, "404 Not Found", "text/plain", "there is only /\n");
    }
    hang_up(client);
  }
  // Closes in order. A socket that is closed with bytes unread resets its connection, and the client loses the answer's end.
  static void hang_up(int client) {
    ::shutdown(client, SHUT_WR);
    std::string unread;
    const clock::time_point until = clock::now() + 1s;
    while (unread.size() < longest_request && read_part(client, until, unread)) {
    }
    ::close(client);
  }
  static void send(int client, std::string_view status, std::string_view type, std::string_view body) {
    std::string text = fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n", status,
        type, body.size());
    text += body;
    std::string_view rest = text;
    while (!rest.empty()) {
      const ssize_t n = ::send(client, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  static constexpr std::size_t longest_request = 64 * 1024;
  std::filesystem::path file_;
  int socket_;
  bool asked_ = false;
  bool served_last_ = false;
};

}  // namespace

live_page::live_page(std::filesystem::path folder) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (socket_ < 0 || ::bind(socket_, any, length) != 0 || ::listen(socket_, 16) != 0 ||
      ::getsockname(socket_, any, &length) != 0) {
    throw input_error(fmt::format("--watch: no port of the loopback can be had: {}", cause(errno, "leave it out")));
  }
  port_ = ntohs(address.sin_port);
  const pid_t parent = ::getpid();
  server_ = ::fork();
  if (server_ < 0) throw input_error(fmt::format("--watch: no process can be made: {}", cause(errno, "leave it out")));
  if (server_ != 0) return;
  std::signal(SIGTERM, [](int) { sweep_has_ended = 1; });
  std::signal(SIGINT, SIG_IGN);  // the sweep ends in order, and says when
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(0);
  server(std::move(folder), socket_).run();
  ::_exit(0);
}

live_page::~live_page() {
  ::close(socket_);
  signal_process(server_, SIGTERM);
  ::waitpid(server_, nullptr, 0);
}

std::string live_page::address() const {
  return fmt::format("http://127.0.0.1:{}/", port_);
}

}  // namespace hcasim
