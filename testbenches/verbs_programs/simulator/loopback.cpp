#include "testbenches/verbs_programs/simulator/loopback.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <thread>

namespace hcasim::applications {

// A line a processor; the columns are hexadecimal.
std::optional<std::uint64_t> packets_waiting(std::string_view softnet_stat) {
  constexpr int length_of_backlog = 11;  // the column; the processor's number follows it
  std::uint64_t sum = 0;
  if (softnet_stat.empty()) return {};
  while (!softnet_stat.empty()) {
    std::string_view line = softnet_stat.substr(0, softnet_stat.find('\n'));
    softnet_stat.remove_prefix(std::min(softnet_stat.size(), line.size() + 1));
    for (int column = 0;; ++column) {
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      const std::string_view word = line.substr(0, line.find(' '));
      line.remove_prefix(word.size());
      std::uint64_t value = 0;
      if (word.empty() || std::from_chars(word.data(), word.data() + word.size(), value, 16).ptr != word.data() + word.size())
        return {};
      if (column != length_of_backlog) continue;
      if (line.empty()) return {};
      sum += value;
      break;
    }
  }
  return sum;
}

loopback::loopback() : softnet_stat_(::open("/proc/net/softnet_stat", O_RDONLY | O_CLOEXEC)) {}

bool loopback::drain(std::chrono::milliseconds patience) const {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds pause{50};
  std::array<char, 1 << 16> text;
  clock::time_point end{};
  for (;;) {
    const ssize_t n = ::pread(softnet_stat_.get(), text.data(), text.size(), 0);
    const auto waiting = packets_waiting({text.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))});
    if (!waiting) return false;
    if (*waiting == 0) return true;
    if (end == clock::time_point{}) {
      end = clock::now() + patience;
    } else if (clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace hcasim::applications
