#include "testbenches/program/recording/span_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "testbenches/program/description/system_errors.h"
#include "tlm/operation.h"

namespace hcasim {
namespace {

constexpr std::size_t buffer_bytes = 1 << 18;
constexpr std::uint64_t most_lanes = 1 << 16;  // of a track

constexpr auto two_digits = [] {
  std::array<char, 200> t{};
  for (std::size_t i = 0; i < 100; ++i) {
    t[2 * i] = static_cast<char>('0' + i / 10);
    t[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return t;
}();

// Beginnings come almost in order, ends nearly so.
void order(std::vector<ps>& times) {
  if (!std::is_sorted(times.begin(), times.end())) std::sort(times.begin(), times.end());
}

}  // namespace

span_file::span_file(const std::filesystem::path& path, const std::string& version)
    : file_(std::fopen(path.c_str(), "wb")), path_(path.string()), buffer_(buffer_bytes) {
  if (!file_) cannot_write(path_, errno);
  std::setvbuf(file_, nullptr, _IONBF, 0);
  text(R"({"displayTimeUnit": "ns", "otherData": {"hcasim": ")" + version + R"("}, "traceEvents": [)");
  ended_.reserve(batch);
  batch_ended_.reserve(batch);
}

span_file::~span_file() {
  thread_.stop();
  if (file_) std::fclose(file_);
}

void span_file::define(const std::vector<span_track>& tracks, const std::vector<span_name>& names) {
  for (const span_track& t : tracks) {
    const std::string of = t.unit.substr(0, t.unit.find('.'));
    auto node = std::find(nodes_.begin(), nodes_.end(), of);
    if (node == nodes_.end()) node = nodes_.insert(nodes_.end(), of);
    const auto pid = node - nodes_.begin() + 1;
    track_state s;
    s.pid = fmt::format("{}", pid);
    s.unit = t.unit.substr(t.unit.rfind('.') + 1);
    s.counter = fmt::format(R"({{"ph":"C","pid":{},"ts":)", pid);
    s.counter_value = fmt::format(R"(,"name":"{} in progress","args":{{"requests":)", s.unit);
    tracks_.push_back(std::move(s));
  }
  for (const span_name& n : names) {
    names_.push_back({fmt::format(R"(,"name":"{}","args":{{{})", n.text, n.a.empty() ? "" : fmt::format(R"("{}":"0x)", n.a)),
                      n.b.empty() ? "" : fmt::format(R"({}"{}":)", n.a.empty() ? "" : ",", n.b), !n.a.empty(), !n.b.empty()});
  }
}

void span_file::flush(ps until) {
  thread_.hand_over([&] {
    batch_ended_.swap(ended_);
    batch_begins_.swap(begins_);
    until_ = until;
  });
  ended_.clear();
  begins_.clear();
}

void span_file::write_batch() {
  for (const mark& m : batch_begins_) tracks_[m.track].begins.push_back(std::max(m.at, floor_));
  for (const span& s : batch_ended_) {
    write_span(s);
    tracks_[s.track].ends.push_back(std::max(s.end, floor_));
  }
  for (track_state& t : tracks_) count(t, until_);
  floor_ = std::max(floor_, until_);
}

// Units run ahead of one another, so spans come out of the order of time, but not far out of it.
bool span_file::place(lane& l, const span& s) {
  constexpr std::size_t kept = 64;
  if (s.begin < l.floor) return false;
  std::size_t i = l.recent.size();
  while (i > 0 && l.recent[i - 1].first >= s.end) --i;
  if (i > 0 && l.recent[i - 1].second > s.begin) return false;
  l.recent.emplace(l.recent.begin() + static_cast<std::ptrdiff_t>(i), s.begin, s.end);
  if (l.recent.size() > 2 * kept) {
    l.floor = l.recent[kept - 1].second;
    l.recent.erase(l.recent.begin(), l.recent.begin() + kept);
  }
  return true;
}

const std::string& span_file::lane_of(const span& s) {
  track_state& t = tracks_[s.track];
  for (lane& l : t.lanes) {
    if (place(l, s)) return l.number;
  }
  t.lanes.push_back({fmt::format(R"({},"tid":{})", t.pid, (s.track + 1) * most_lanes + t.lanes.size()), {}, ps(0)});
  place(t.lanes.back(), s);
  return t.lanes.back().number;
}

void span_file::write_span(const span& s) {
  const std::string& number_of_lane = lane_of(s);
  const name_text& n = names_[s.name];
  begin_event();
  text(R"({"ph":"X","pid":)");
  text(number_of_lane);
  text(R"(,"ts":)");
  time(s.begin);
  text(R"(,"dur":)");
  time(s.end - s.begin);
  text(n.head);
  if (n.a) {
    hex(s.a);
    text("\"");
  }
  text(n.middle);
  if (n.b) number(s.b);
  if (s.operation != 0) {
    text(n.a || n.b ? R"(,"operation":")" : R"("operation":")");
    number(operation_queue(s.operation));
    text(".");
    number(operation_place(s.operation));
    text("\"");
  }
  text("}}");
  if (s.arrow == 0) return;
  text(",\n");
  text(s.arrives ? R"({"ph":"f","bp":"e","pid":)" : R"({"ph":"s","pid":)");
  text(number_of_lane);
  text(R"(,"ts":)");
  time(s.begin);
  text(R"(,"cat":"packet","name":"packet","id":)");
  number(s.arrow);
  text("}");
}

// How many of the track's spans are open while there are several, whenever that changes; of one alone its slice tells. What
// is known up to `until` is final.
void span_file::count(track_state& t, ps until) {
  order(t.begins);
  order(t.ends);
  std::size_t b = 0;
  std::size_t e = 0;
  for (;;) {
    ps at = never;
    if (b < t.begins.size()) at = t.begins[b];
    if (e < t.ends.size()) at = std::min(at, t.ends[e]);
    if (at >= until) break;
    for (; b < t.begins.size() && t.begins[b] == at; ++b) ++t.open;
    for (; e < t.ends.size() && t.ends[e] == at; ++e) --t.open;
    const std::uint64_t several = t.open > 1 ? t.open : 0;
    if (several == t.shown) continue;
    t.shown = several;
    begin_event();
    text(t.counter);
    time(at);
    text(t.counter_value);
    number(several);
    text("}}");
  }
  t.begins.erase(t.begins.begin(), t.begins.begin() + static_cast<std::ptrdiff_t>(b));
  t.ends.erase(t.ends.begin(), t.ends.begin() + static_cast<std::ptrdiff_t>(e));
}

void span_file::name_tracks() {
  const auto event = [this](const std::string& e) {
    begin_event();
    text(e);
  };
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    event(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"{}"}}}})", n + 1, nodes_[n]));
  }
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    const track_state& t = tracks_[i];
    for (std::size_t n = 0; n < t.lanes.size(); ++n) {
      const std::string name = n ? fmt::format("{} {}", t.unit, n + 1) : t.unit;
      event(fmt::format(R"({{"ph":"M","pid":{},"name":"thread_name","args":{{"name":"{}"}}}})", t.lanes[n].number, name));
      event(fmt::format(R"({{"ph":"M","pid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})", t.lanes[n].number,
                        (i + 1) * most_lanes + n));
    }
  }
}

void span_file::finish() {
  flush(never);
  thread_.stop();
  name_tracks();
  make_room();
  text("\n]}\n");
  drain();
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && !error_) error_ = errno;
  if (error_) cannot_write(path_, error_);
}

void span_file::begin_event() {
  make_room();
  text(first_ ? "\n" : ",\n");
  first_ = false;
}

void span_file::drain() {
  if (!error_ && std::fwrite(buffer_.data(), 1, used_, file_) != used_) error_ = errno;
  used_ = 0;
}

void span_file::text(std::string_view s) {
  std::memcpy(buffer_.data() + used_, s.data(), s.size());
  used_ += s.size();
}

void span_file::number(std::uint64_t v) {
  char* const at = buffer_.data() + used_;
  used_ = static_cast<std::size_t>(std::to_chars(at, at + 24, v).ptr - buffer_.data());
}

void span_file::hex(std::uint64_t v) {
  char* const at = buffer_.data() + used_;
  used_ = static_cast<std::size_t>(std::to_chars(at, at + 24, v, 16).ptr - buffer_.data());
}

// Microseconds, exact to the picosecond.
void span_file::time(ps t) {
  const auto all = static_cast<std::uint64_t>(t.count());
  number(all / 1'000'000);
  const auto rest = static_cast<std::uint32_t>(all % 1'000'000);
  if (rest == 0) return;
  char* const at = buffer_.data() + used_;
  *at = '.';
  std::memcpy(at + 1, two_digits.data() + 2 * (rest / 10'000), 2);
  std::memcpy(at + 3, two_digits.data() + 2 * (rest / 100 % 100), 2);
  std::memcpy(at + 5, two_digits.data() + 2 * (rest % 100), 2);
  std::size_t length = 7;
  while (at[length - 1] == '0') --length;
  used_ += length;
}

}  // namespace hcasim
