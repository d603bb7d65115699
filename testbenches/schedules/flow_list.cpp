#include "testbenches/schedules/flow_list.h"

#include <algorithm>
#include <cmath>
#include <istream>
#include <sstream>

#include <fmt/format.h>

namespace hcasim::schedules {
namespace {

constexpr double longest_seconds = 1e6;
constexpr std::uint64_t largest_flow = 1U << 30;

class flow_reader {
 public:
  flow_reader(std::istream& in, const std::string& name, const flow_limits& limits) : in_(in), limits_(limits) {
    s_.file = name;
  }

  schedule read() {
    const std::uint64_t flows = count();
    s_.ranks.resize(limits_.ranks);
    for (std::uint64_t i = 0; i < flows; ++i) flow(i);
    if (next_line()) fail("there are more lines than flows", fmt::format("the first line says {}: correct one of them", flows));
    begin_with_the_first();
    return std::move(s_);
  }

 private:
  [[noreturn]] void fail(const std::string& fault, const std::string& mend) const {
    throw schedule_error(fmt::format("{}:{}: {}; {}", s_.file, line_, fault, mend));
  }
  // Goes to the next line that is not empty.
  bool next_line() {
    std::string text;
    while (std::getline(in_, text)) {
      ++line_;
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      words_.clear();
      words_.str(text);
      return true;
    }
    return false;
  }
  std::uint64_t count() {
    std::uint64_t n = 0;
    if (!next_line() || !(words_ >> n) || !at_end())
      fail("the number of flows is expected here", "begin with it on a line of its own");
    if (n == 0) fail("there are no flows", "at least 1 is needed");
    if (n > limits_.flows)
      fail(fmt::format("there are {} flows", n), fmt::format("at most {} are allowed: cut the list", limits_.flows));
    return n;
  }
  void flow(std::uint64_t number) {
    if (!next_line())
      fail(fmt::format("flow {} is missing", number + 1), "the file is cut off, or the first line counts too many");
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t priority = 0;
    std::uint64_t port = 0;
    std::uint64_t bytes = 0;
    double start = 0;
    if (!(words_ >> from >> to >> priority >> port >> bytes >> start) || !at_end())
      fail("six numbers are expected here", "write source, target, priority, port, bytes and start in seconds");
    for (const std::uint64_t host : {from, to}) {
      if (host >= limits_.ranks)
        fail(fmt::format("there is no host {}", host),
             fmt::format("there are {}: write nodes: {} or more", limits_.ranks, host + 1));
    }
    if (from == to) fail(fmt::format("a flow of host {} to itself", from), "no adapter is needed for it: remove the line");
    if (bytes == 0 || bytes > largest_flow) fail(fmt::format("a flow of {} bytes", bytes), "1 byte to 1 GiB is allowed");
    if (!(start >= 0 && start <= longest_seconds)) fail(fmt::format("a start at {} s", start), "0 to 1e6 s is allowed");
    const auto tag = static_cast<std::uint32_t>(number);
    const auto line = static_cast<std::uint32_t>(line_);
    const ps at(std::llround(start * 1e12));
    s_.ranks[from].add({action::send, 0, static_cast<std::uint32_t>(to), tag, line, bytes, at});
    s_.ranks[to].add({action::receive, 0, static_cast<std::uint32_t>(from), tag, line, bytes, ps(0)});
    first_ = std::min(first_, at);
  }
  bool at_end() { return (words_ >> std::ws).eof(); }
  void begin_with_the_first() {
    for (rank_schedule& r : s_.ranks) {
      for (operation& o : r.operations) {
        if (o.what == action::send) o.time -= first_;
      }
    }
  }

  std::istream& in_;
  flow_limits limits_;
  schedule s_;
  std::istringstream words_;
  std::uint64_t line_ = 0;
  ps first_ = never;
};

}  // namespace

schedule read_flows(std::istream& in, const std::string& name, const flow_limits& limits) {
  return flow_reader(in, name, limits).read();
}

}  // namespace hcasim::schedules
