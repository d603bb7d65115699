#include "testbenches/traffic/replay/replay_run.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace hcasim::replay {

std::size_t nodes_of(const std::string& file) {
  try {
    std::ifstream in(file);
    return in ? read_nodes(in, file) : 0;
  } catch (const trace_error&) {
    return 0;
  }
}

trace load(const std::string& file) {
  if (std::filesystem::is_directory(file))
    throw knob_error("replay", fmt::format("'{}' is a folder; name a file of --record-traffic", file));
  std::ifstream in(file);
  if (!in) {
    throw knob_error("replay",
                     fmt::format("cannot read '{}': {}; name a file of --record-traffic", file, std::strerror(errno)));
  }
  try {
    return read_trace(in, file);
  } catch (const trace_error& e) {
    throw knob_error("replay", e.what());
  }
}

void report(const replayer& r, run_context& context) {
  const trace& t = r.recorded_trace();
  if (!r.failure().empty()) {
    context.fail(r.failure());
  } else if (!r.finished()) {
    std::string text;
    for (const std::uint32_t line : r.waiting_lines()) text += fmt::format("{}{}", text.empty() ? "" : ", ", line);
    context.fail(
        fmt::format("the replay stands still: threads wait at lines {} of {}; with replay_times: original, requests "
                    "keep their recorded times",
                    text, t.name));
  }
  const double seconds = to_seconds(r.took());
  hcasim::result& out = context.result();
  out.headline("completion_time", seconds * 1e6, "us", aim::low, "from the first post to the end of the last thread");
  out.figure("recorded_time", to_us(r.recorded()), "us", "likewise, in the record");
  out.figure("requests", static_cast<double>(t.posts), "", "posted");
  table& nodes = out.table("nodes", {{"node"}, {"requests"}, {"payload", "B"}, {"waited", "us"}});
  for (std::size_t i = 0; i < t.nodes; ++i) nodes.row(i, r.posts(i), r.payload(i), to_us(r.waited(i)));
}

}  // namespace hcasim::replay
