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

colour colour_of(const wave_signal& s) {
  if (!s.labels.empty()) return colour::violet;
  if (s.width == 1) return colour::green;
  return s.width >= 32 ? colour::orange : colour::yellow;
}

bool first_look(std::string_view scope) {
  return scope.find("node0") != std::string_view::npos &&
         (scope.ends_with("key_check") || scope.ends_with("page_walker") || scope.ends_with("mrc_cache"));
}

// Returns GTKWave's text for value `i` in hexadecimal, and the label instead of it.
std::string filter_text(const wave_signal& s) {
  std::string out;
  const unsigned digits = (s.width + 3) / 4;
  for (std::size_t i = 0; i < s.labels.size(); ++i) {
    out += fmt::format("{:0{}x} {}\n", i, digits, s.labels[i]);
  }
  return out;
}

}  // namespace

void write_gtkwave(const fs::path& folder, const fs::path& final_folder, const std::string& waves,
                   const std::vector<wave_signal>& signals, gtkwave_view view) {
  std::map<std::string, std::string> filters;  // content -> file name
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
  std::string open;
  bool closed = false;
  const auto finish_group = [&] {
    if (!open.empty()) out += fmt::format("@{:x}\n-{}\n", closed ? group_end_closed : group_end, open);
  };
  for (const wave_signal& s : signals) {
    if (s.scope != open) {
      finish_group();
      // A node's protection is open, so that the window shows something; the others unfold with a double click.
      open = s.scope;
      closed = !first_look(open) && open != signals.front().scope;
      out += fmt::format("@{:x}\n-{}\n", closed ? group_begin_closed : group_begin, open);
    }
    unsigned flags = s.width == 1 ? binary : s.width <= 16 ? decimal_radix : hex;
    std::string filter;
    if (!s.labels.empty()) {
      flags = hex | file_filter;
      std::string content = filter_text(s);
      const auto [it, added] = filters.try_emplace(content, fmt::format("gtkwave/{}_{}.txt", s.name, filters.size()));
      if (added) {
        fs::create_directories(folder / "gtkwave");
        write_file(folder / it->second, content);
      }
      filter = fmt::format("^1 {}/{}\n", final_folder.string(), it->second);
    }
    const std::string range = s.width > 1 ? fmt::format("[{}:0]", s.width - 1) : "";
    out += fmt::format("@{:x}\n{}[color] {}\n{}.{}{}\n", flags, filter, static_cast<int>(colour_of(s)), s.scope, s.name, range);
  }
  finish_group();
  write_file(folder / "waves.gtkw", out);
}

}  // namespace hcasim
