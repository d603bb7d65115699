#include "testbenches/program/execution/run_watch.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "testbenches/program/description/quantity.h"
#include "testbenches/program/results/durations.h"
#include "testbenches/program/results/report.h"
#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

constexpr std::uint64_t events_between_looks = 1 << 14;

// Returns the columns of the terminal; a narrow one if that is not known.
std::size_t columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

// Returns a time with four digits; the rest would run past the end of a line.
ps rounded(ps t) {
  std::int64_t unit = 1;
  while (t.count() / unit >= 10'000) unit *= 10;
  return ps(t.count() / unit * unit);
}

}  // namespace

run_watch::run_watch(std::string name, progress_mode mode)
    : name_(std::move(name)), mode_(mode), alarm_(call<&run_watch::look>(this)) {}

void run_watch::begin(std::vector<unit*> units) {
  units_ = std::move(units);
  alarm_.set(1);  // a signal may have come before
}

void run_watch::end() {
  alarm_.cancel();
  clear();
}

void run_watch::look() {
  if (const std::string signal = signals_.noticed(); !signal.empty()) {
    stopped_by_ = signal;
    event_queue::instance().run_ahead(false);
    sc_core::sc_stop();
    return;
  }
  const clock::time_point t = clock::now();
  const auto pause =
      mode_ == progress_mode::lines ? std::chrono::milliseconds(5000) : std::chrono::milliseconds(shown_ ? 250 : 1000);
  if (mode_ != progress_mode::none && t - told_ >= pause) tell(t);
  alarm_.set(events_between_looks);
}

std::string run_watch::text(double seconds, std::uint64_t operations) const {
  std::string line = fmt::format("{}: {} simulated", name_, time_text(rounded(now())));
  if (operations != 0) line += fmt::format(", {} operations", number_text(static_cast<double>(operations)));
  if (operations > told_operations_) {
    line += fmt::format(", {:.0f}/s", static_cast<double>(operations - told_operations_) / seconds);
  }
  if (const double share = share_ ? share_() : 0; share > 0.01) {
    const double passed = std::chrono::duration<double>(clock::now() - begin_).count();
    line += fmt::format(", {:.0f} %, {} left", 100 * share, duration_text(passed * (1 - share) / share));
  }
  return step_.empty() ? line : line + "; " + step_;
}

void run_watch::tell(clock::time_point t) {
  const std::uint64_t done = sum_counters(units_, {"operations"});
  std::string line = text(std::chrono::duration<double>(t - told_).count(), done);
  told_ = t;
  told_operations_ = done;
  if (mode_ == progress_mode::lines) {
    std::cerr << line << std::endl;
    return;
  }
  line.resize(std::min(line.size(), columns() - 1));
  std::cerr << "\r\x1b[K" << line << std::flush;
  shown_ = true;
}

void run_watch::clear() {
  if (std::exchange(shown_, false)) std::cerr << "\r\x1b[K" << std::flush;
}

}  // namespace hcasim
