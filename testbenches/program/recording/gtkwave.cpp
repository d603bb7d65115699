#include "testbenches/program/recording/gtkwave.h"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "testbenches/program/description/system_errors.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

// Flags of a trace line in a save file (GTKWave's analyzer.h): radix, right-justified, file filter, group marks.
constexpr unsigned hex = 0x22;
constexpr unsigned decimal_radix = 0x24;
constexpr unsigned binary = 0x28;
constexpr unsigned file_filter = 0x2000;
constexpr unsigned group_begin = 0x800200;
constexpr unsigned group_begin_closed = 0xc00200;
constexpr unsigned group_end = 0x1000200;
constexpr unsigned group_end_closed = 0x1401200;

enum class colour { normal = 0, red, orange, yellow, green, blue, indigo, violet };

bool named(const wave_signal& s) {
  return !s.labels.empty() || (s.names && !s.names->empty());
}

colour colour_of(const wave_signal& s) {
  if (named(s)) return colour::violet;
  if (s.width == 1) return colour::green;
  return s.width >= 32 ? colour::orange : colour::yellow;
}

bool first_look(std::string_view scope) {
  return scope.find("node0") != std::string_view::npos &&
         (scope.ends_with("key_check") || scope.ends_with("page_walker") || scope.ends_with("mrc_cache"));
}

// Returns one line for each named value: its hexadecimal digits as GTKWave prints them, and the name to show.
std::string filter_text(const wave_signal& s) {
  std::string out;
  const unsigned digits = (s.width + 3) / 4;
  for (std::size_t i = 0; i < s.labels.size(); ++i) {
    out += fmt::format("{:0{}x} {}\n", i, digits, s.labels[i]);
  }
  if (!s.names) return out;
  for (const auto& [value, name] : *s.names) out += fmt::format("{:0{}x} {}\n", value, digits, name);
  return out;
}

constexpr std::string_view way_name = "one operation, from node0 to node1 and back";

// Returns the signals that a WRITE from node0 to node1 moves, in its order; empty = one of the two nodes is not recorded.
std::vector<const wave_signal*> way_of_an_operation(const std::vector<wave_signal>& signals) {
  static constexpr std::string_view order[] = {"node0.host.mmio",
                                               "node0.hca.doorbell.bell",
                                               "node0.hca.send_queue.valid",
                                               "node0.hca.requester.operation",
                                               "node0.hca.requester.valid",
                                               "node0.hca.key_check.key",
                                               "node0.hca.key_check.verdict",
                                               "node0.hca.key_check.valid",
                                               "node0.hca.page_walker.valid",
                                               "node0.host.dma_read",
                                               "node0.hca.port.egress_psn",
                                               "node0.hca.port2.egress_psn",
                                               "node1.hca.port.ingress_psn",
                                               "node1.hca.port2.ingress_psn",
                                               "node1.hca.responder.operation",
                                               "node1.hca.responder.valid",
                                               "node1.hca.key_check.key",
                                               "node1.hca.key_check.verdict",
                                               "node1.hca.key_check.valid",
                                               "node1.host.dma_write",
                                               "node1.hca.port.egress_psn",
                                               "node1.hca.port2.egress_psn",
                                               "node0.hca.port.ingress_psn",
                                               "node0.hca.port2.ingress_psn",
                                               "node0.hca.completion.cqe",
                                               "node0.host.dma_write"};
  std::vector<const wave_signal*> way;
  bool nodes[2] = {};
  for (const std::string_view name : order) {
    for (const wave_signal& s : signals) {
      if (!fmt::format("{}.{}", s.scope, s.name).ends_with(fmt::format(".{}", name))) continue;
      way.push_back(&s);
      nodes[name[4] - '0'] = true;
    }
  }
  if (!nodes[0] || !nodes[1]) way.clear();
  return way;
}

// Returns "node0 key_check valid"; GTKWave shows only what follows the last dot.
std::string short_name(const wave_signal& s) {
  const std::string_view scope = s.scope;
  const std::string_view unit = scope.substr(scope.rfind('.') + 1);
  return fmt::format("{} {} {}", scope.substr(scope.find("node"), 5), unit, s.name);
}

// Lines of signals in the save file, with tables that name values.
class signal_texts {
 public:
  signal_texts(fs::path folder, fs::path final_folder) : folder_(std::move(folder)), final_folder_(std::move(final_folder)) {}

  // `alias`: "+{NAME} " shows NAME instead of the signal's own.
  std::string of(const wave_signal& s, const std::string& alias = {}) {
    unsigned flags = s.width == 1 ? binary : s.width <= 16 ? decimal_radix : hex;
    std::string filter;
    if (named(s)) {
      flags = hex | file_filter;
      filter = fmt::format("^1 {}/{}\n", final_folder_.string(), table_of(s));
    }
    const std::string range = s.width > 1 ? fmt::format("[{}:0]", s.width - 1) : "";
    return fmt::format("@{:x}\n{}[color] {}\n{}{}.{}{}\n", flags, filter, static_cast<int>(colour_of(s)), alias, s.scope,
                       s.name, range);
  }

 private:
  // Returns the file that names the signal's values; equal tables are one file.
  std::string table_of(const wave_signal& s) {
    if (!s.names) return file_of(s);
    std::string& file = shared_[s.names.get()];
    if (file.empty()) file = file_of(s);
    return file;
  }
  std::string file_of(const wave_signal& s) {
    const std::string content = filter_text(s);
    const auto [it, added] = tables_.try_emplace(content, fmt::format("gtkwave/{}_{}.txt", s.name, tables_.size()));
    if (added) {
      fs::create_directories(folder_ / "gtkwave");
      write_file(folder_ / it->second, content);
    }
    return it->second;
  }

  fs::path folder_;
  fs::path final_folder_;
  std::map<std::string, std::string> tables_;         // content to file name
  std::map<const value_names*, std::string> shared_;  // names to file name
};

}  // namespace

void write_gtkwave(const fs::path& folder, const fs::path& final_folder, const std::string& waves,
                   const std::vector<wave_signal>& signals, gtkwave_view view) {
  // GTKWave's zoom: a frame of 200 pixels lasts 2^-zoom; the window shows about four of them.
  const double zoom = -std::log2(static_cast<double>(std::max<std::int64_t>(view.length.count(), 16)) / 4);
  std::string marker_places;
  std::string marker_names;
  for (std::size_t i = 0; i < 26; ++i) {
    const bool set = i < view.markers.size();
    marker_places += set ? fmt::format(" {}", view.markers[i].at.count()) : " -1";
    if (set) marker_names += fmt::format("[markername] {}{}\n", static_cast<char>('A' + i), view.markers[i].name);
  }
  std::string out = fmt::format(
      "[*] Open with: gtkwave waves.gtkw\n[dumpfile] \"{0}/{3}\"\n[savefile] \"{0}/waves.gtkw\"\n[timestart] {1}\n[size] "
      "1600 "
      "900\n[pos] -1 -1\n*{2:.6f} {1}{4}\n{5}[sst_width] 260\n[signals_width] 330\n[sst_expanded] 1\n[sst_vpaned_height] 300\n",
      final_folder.string(), view.from.count(), zoom, waves, marker_places, marker_names);
  signal_texts texts(folder, final_folder);
  const std::vector<const wave_signal*> way = way_of_an_operation(signals);
  if (!way.empty()) {
    out += fmt::format("@{:x}\n-{}\n", group_begin, way_name);
    for (const wave_signal* s : way) out += texts.of(*s, fmt::format("+{{{}}} ", short_name(*s)));
    out += fmt::format("@{:x}\n-{}\n", group_end, way_name);
  }
  std::string open;
  bool closed = false;
  const auto finish_group = [&] {
    if (!open.empty()) out += fmt::format("@{:x}\n-{}\n", closed ? group_end_closed : group_end, open);
  };
  for (const wave_signal& s : signals) {
    if (s.scope != open) {
      finish_group();
      // Without the way of an operation a node's protection is open. The others unfold with a double click.
      open = s.scope;
      closed = !way.empty() || (!first_look(open) && open != signals.front().scope);
      out += fmt::format("@{:x}\n-{}\n", closed ? group_begin_closed : group_begin, open);
    }
    out += texts.of(s);
  }
  finish_group();
  write_file(folder / "waves.gtkw", out);
}

}  // namespace hcasim
