#include "testbenches/program/study/progress.h"

#include <unistd.h>

#include <iostream>
#include <string>

#include <fmt/format.h>

#include "testbenches/program/results/durations.h"

namespace hcasim {

progress_bar::progress_bar(std::uint64_t points) : terminal_(::isatty(STDERR_FILENO) == 1), points_(points) {}

void progress_bar::begin(std::uint64_t finished_before) {
  before_ = finished_before;
  begin_ = clock::now();
}

void progress_bar::add(bool passed) {
  ++done_;
  if (!passed) ++failed_;
}

void progress_bar::show(const std::string& note) {
  const auto now = clock::now();
  if (!terminal_ || now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  constexpr std::uint64_t width = 30;
  const std::uint64_t finished = before_ + done_;
  const std::uint64_t filled = points_ ? finished * width / points_ : width;
  std::string left = "?";
  if (done_) {
    const double each = std::chrono::duration<double>(now - begin_).count() / static_cast<double>(done_);
    left = duration_text(each * static_cast<double>(points_ - finished));
  }
  std::cerr << fmt::format("\r\x1b[K[{:#<{}}{:.<{}}] {}/{}{}, {} left{}{}", "", filled, "", width - filled, finished, points_,
                           failed_ ? fmt::format(", {} failed", failed_) : "", left, note.empty() ? "" : "; ", note)
            << std::flush;
}

void progress_bar::clear() const {
  if (terminal_) std::cerr << "\r\x1b[K" << std::flush;
}

}  // namespace hcasim
