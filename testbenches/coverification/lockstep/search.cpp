#include "testbenches/coverification/lockstep/search.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace hcasim::lockstep {
namespace {

using host_clock = std::chrono::steady_clock;

// Makes SIGINT and SIGTERM end the search and not the process, during its lifetime.
class stop_signals {
 public:
  stop_signals() {
    if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error("lockstep: no pipe");
    written_ = ends_[1];
    struct sigaction stop {};
    stop.sa_handler = [](int) {
      const int error = errno;
      [[maybe_unused]] const ssize_t n = ::write(written_, "", 1);
      errno = error;
    };
    stop.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < 2; ++i) ::sigaction(numbers[i], &stop, &before_[i]);
  }
  ~stop_signals() {
    for (std::size_t i = 0; i < 2; ++i) ::sigaction(numbers[i], &before_[i], nullptr);
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;

  [[nodiscard]] int descriptor() const { return ends_[0]; }
  [[nodiscard]] bool came() const {
    pollfd p{ends_[0], POLLIN, 0};
    return ::poll(&p, 1, 0) > 0;
  }

 private:
  static constexpr int numbers[] = {SIGINT, SIGTERM};
  static inline int written_ = -1;
  int ends_[2];
  struct sigaction before_[2];
};

class search {
 public:
  search(const std::string& unit, options o, double seconds) : unit_(unit), options_(std::move(o)) {
    options_.vcd.clear();
    options_.coverage_file.clear();
    patience_.stop = signals_.descriptor();
    const auto limit = std::chrono::duration<double>(std::min(seconds, 1e9));
    patience_.until = host_clock::now() + std::chrono::duration_cast<host_clock::duration>(limit);
  }

  shortened run(item_stream failing) {
    const report first = run_isolated(unit_, failing, options_, patience_);
    if (first.ok() || over()) return {std::move(failing), why_over()};
    reason_ = reason_of(first.problem);
    // Items after the first difference do not matter, unless the difference is a missing answer.
    if (first.first_difference + 1 < failing.size()) {
      item_stream head(failing.begin(), failing.begin() + static_cast<std::ptrdiff_t>(first.first_difference) + 1);
      if (fails_alike(head)) failing = std::move(head);
    }
    for (std::size_t part = std::max<std::size_t>(failing.size() / 2, 1); !done();) {
      const bool removed = leave_out(failing, part);
      if (part == 1 && !removed) break;
      if (!removed || part > failing.size()) part = std::max<std::size_t>(std::min(part, failing.size()) / 2, 1);
    }
    return {std::move(failing), why_over()};
  }

 private:
  static constexpr unsigned most_tries = 400;

  // Goes once through the stream. Returns whether any part was left out.
  bool leave_out(item_stream& failing, std::size_t part) {
    bool removed = false;
    for (std::size_t at = 0; at < failing.size() && failing.size() > 1 && !done();) {
      item_stream rest = failing;
      const auto from = rest.begin() + static_cast<std::ptrdiff_t>(at);
      rest.erase(from, from + static_cast<std::ptrdiff_t>(std::min(part, failing.size() - at)));
      ++tries_;
      if (!rest.empty() && fails_alike(rest)) {
        failing = std::move(rest);
        removed = true;
      } else {
        at += part;
      }
    }
    return removed;
  }
  bool fails_alike(const item_stream& s) { return reason_of(run_isolated(unit_, s, options_, patience_).problem) == reason_; }
  [[nodiscard]] bool over() const { return host_clock::now() >= patience_.until || signals_.came(); }
  [[nodiscard]] bool done() const { return tries_ >= most_tries || over(); }
  [[nodiscard]] std::string why_over() const {
    if (signals_.came()) return "the search was stopped by a signal";
    return host_clock::now() >= patience_.until ? "the time of the search is over" : "";
  }

  const stop_signals signals_;
  const std::string unit_;
  options options_;
  patience patience_;
  std::string reason_;
  unsigned tries_ = 0;
};

}  // namespace

bool patience::read_all(int from, std::string& text) const {
  char buffer[4096];
  for (;;) {
    pollfd fds[] = {{from, POLLIN, 0}, {stop, POLLIN, 0}};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - host_clock::now()).count();
    const int timeout =
        until == host_clock::time_point::max() ? -1 : static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
    const int n = ::poll(fds, stop < 0 ? 1 : 2, timeout);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || (stop >= 0 && fds[1].revents != 0)) return false;
    const ssize_t got = ::read(from, buffer, sizeof buffer);
    if (got <= 0) return true;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string reason_of(const std::string& problem) {
  std::string reason;
  const std::size_t begin = problem.starts_with("item ") ? problem.find(": ") : std::string::npos;
  bool hexadecimal = false;
  bool quoted = false;
  bool bracketed = false;
  for (const char c : problem.substr(begin == std::string::npos ? 0 : begin + 2)) {
    bracketed = !quoted && (c == '[' || (bracketed && c != ']'));
    if (bracketed) continue;
    quoted ^= c == '\'';
    const bool number = !quoted && !reason.empty() && reason.back() == '#';
    hexadecimal = number && (c == 'x' || (hexadecimal && std::isxdigit(static_cast<unsigned char>(c))));
    if (hexadecimal) continue;
    if (quoted || !std::isdigit(static_cast<unsigned char>(c))) {
      reason += c;
    } else if (!number) {
      reason += '#';
    }
  }
  return reason;
}

shortened shortest(const std::string& unit, item_stream failing, options o, double seconds) {
  return search(unit, std::move(o), seconds).run(std::move(failing));
}

std::string search_text(std::size_t items, double seconds) {
  return "looking for the shortest part of these " + std::to_string(items) + " items that fails alike, for " +
         std::to_string(static_cast<std::uint64_t>(seconds)) +
         " s at most; Ctrl-C ends the search and keeps the shortest so far";
}

evidence keep_evidence(const std::string& unit, const item_stream& failing, const report& r, options o,
                       const std::string& folder, double seconds) {
  const std::string file = folder + "/" + unit + "_" + stream_name(o);
  evidence e;
  const shortened least = shortest(unit, failing, o, seconds);
  e.cut_short = least.cut_short;
  e.again = run_isolated(unit, least.stream, o);
  if (reason_of(e.again.problem) != reason_of(r.problem)) return e;
  e.items = least.stream.size();
  e.stream_file = file + ".stream";
  write_stream(e.stream_file, unit, least.stream, o);
  o.instrumented = true;
  if (o.design ? !o.design(0)->has_waves() : rtl_of(unit) != unit) return e;
  e.vcd_file = o.vcd = file + ".vcd";
  o.vcd_from = std::max(e.again.problem_at - 5_us, ps(0));
  run_isolated(unit, least.stream, o);
  return e;
}

}  // namespace hcasim::lockstep
