#include "testbenches/runner/spans.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>
#include <future>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "testbenches/runner/errors.h"
#include "testbenches/runner/listen.h"
#include "testbenches/runner/span_words.h"

namespace hcasim {

template <class P>
class span_recorder::tap final : public chained_observer<P> {
 public:
  tap(initiator_socket<P>& socket, span_recorder& to, std::uint32_t track, std::uint32_t first_name)
      : chained_observer<P>(socket),
        to_(to),
        track_(track),
        first_name_(first_name),
        sends_(std::string_view(socket.basename()) == "link_out") {}

  void forward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (phase == tlm::BEGIN_REQ) begin(p, t);
    chained_observer<P>::forward(p, phase, t);
  }
  void forward_done(const P& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
    if (phase == tlm::BEGIN_REQ && status == tlm::TLM_COMPLETED) end(p, t);
    chained_observer<P>::forward_done(p, phase, status, t);
  }
  void backward(const P& p, tlm::tlm_phase phase, ps t) override {
    end(p, t);
    chained_observer<P>::backward(p, phase, t);
  }

 private:
  using words = span_words<P>;

  void begin(const P& p, ps t) {
    span s{t, never, words::number(p), words::size(p), track_, first_name_ + words::kind(p), 0, false};
    if constexpr (std::is_same_v<P, packet>) {
      if (sends_) {
        s.arrow = to_.flights_[&p] = ++to_.packets_;
      } else if (const auto flight = to_.flights_.find(&p); flight != to_.flights_.end()) {
        s.arrow = flight->second;
        s.arrives = true;
        to_.flights_.erase(flight);
      }
    }
    if (const std::uint32_t index = to_.open(s)) open_.emplace_back(&p, index);
  }
  void end(const P& p, ps t) {
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (open_[i].first != &p) continue;
      to_.close(open_[i].second, t);
      open_[i] = open_.back();
      open_.pop_back();
      return;
    }
  }

  span_recorder& to_;
  std::uint32_t track_;
  std::uint32_t first_name_;
  bool sends_;
  std::vector<std::pair<const P*, std::uint32_t>> open_;
};

span_recorder::span_recorder(const span_window& window)
    : sc_module(sc_core::sc_module_name(sc_core::sc_gen_unique_name("span_recorder"))), window_(window) {}

span_recorder::~span_recorder() = default;

std::uint32_t span_recorder::track(const std::string& name) {
  const auto found = std::find(tracks_.begin(), tracks_.end(), name);
  if (found != tracks_.end()) return static_cast<std::uint32_t>(found - tracks_.begin());
  tracks_.push_back(name);
  return static_cast<std::uint32_t>(tracks_.size() - 1);
}

template <class P>
void span_recorder::listen() {
  const auto first = static_cast<std::uint32_t>(names_.size());
  for (unsigned k = 0; k < span_words<P>::kinds; ++k)
    names_.push_back({span_words<P>::name(k), span_words<P>::a, span_words<P>::b});
  for (initiator_socket<P>* s : sockets_of<P>()) {
    const std::string unit = unit_of(*s);
    if (std::is_same_v<P, packet> && unit.find(".hca.") == std::string::npos) continue;  // links and switches
    const std::string beside = unit.substr(0, unit.rfind('.') + 1);
    taps_.push_back(std::make_shared<tap<P>>(*s, *this, track(beside + span_words<P>::target(s->basename())), first));
  }
}

void span_recorder::end_of_elaboration() {
  listen<doorbell_ring>();
  listen<work_request>();
  listen<window_request>();
  listen<packet>();
  listen<key_request>();
  listen<translate_request>();
  listen<context_request>();
  listen<dma_request>();
  listen<report>();
}

std::uint32_t span_recorder::open(const span& s) {
  if (s.begin < window_.from || s.begin >= window_.until || stopped_at_ != never) return 0;
  if (count_ >= window_.limit) {
    stopped_at_ = s.begin;
    return 0;
  }
  if (count_ % block_spans == 0) blocks_.push_back(std::make_unique_for_overwrite<span[]>(block_spans));
  at(count_++) = s;
  return static_cast<std::uint32_t>(count_);
}

namespace {

// A million spans are a hundred megabytes of text: numbers are written without a formatter.
class json_text {
 public:
  json_text& operator<<(std::string_view text) {
    out_.append(text);
    return *this;
  }
  json_text& operator<<(std::uint64_t v) {
    const auto end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), v).ptr;
    out_.append(digits_.data(), end);
    return *this;
  }
  json_text& hex(std::uint64_t v) {
    const auto end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), v, 16).ptr;
    out_.append("0x").append(digits_.data(), end);
    return *this;
  }
  // Microseconds, exact to the picosecond.
  json_text& time(ps t) {
    const auto all = static_cast<std::uint64_t>(t.count());
    *this << all / 1'000'000;
    std::uint64_t rest = all % 1'000'000;
    if (rest == 0) return *this;
    std::array<char, 7> fraction{'.'};
    for (std::size_t i = 6; i > 0; --i, rest /= 10) fraction[i] = static_cast<char>('0' + rest % 10);
    out_.append(fraction.data(), fraction.size());
    return *this;
  }
  // Begins an event that is not the first.
  json_text& event(std::string_view head) {
    if (out_.size() > piece) {
      pieces_.push_back(std::move(out_));
      out_.clear();
      out_.reserve(piece + 4096);
    }
    out_.append(",\n");
    return *this << head;
  }
  std::vector<std::string> take() {
    pieces_.push_back(std::move(out_));
    return std::move(pieces_);
  }

 private:
  static constexpr std::size_t piece = 1 << 18;
  std::vector<std::string> pieces_;
  std::string out_;
  std::array<char, 24> digits_{};
};

class output_file {
 public:
  explicit output_file(const std::filesystem::path& path) : file_(std::fopen(path.c_str(), "wb")), path_(path.string()) {
    if (!file_)
      throw input_error(fmt::format("cannot write '{}': {}; choose another folder with -o", path_, std::strerror(errno)));
  }
  ~output_file() {
    if (file_) std::fclose(file_);
  }
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  void write(const std::string& text) { failed_ = failed_ || std::fwrite(text.data(), 1, text.size(), file_) != text.size(); }
  void finish() {
    failed_ = std::fclose(std::exchange(file_, nullptr)) != 0 || failed_;
    if (failed_)
      throw input_error(
          fmt::format("cannot write '{}': the disk is full or the folder is gone; choose another with -o", path_));
  }

 private:
  std::FILE* file_;
  std::string path_;
  bool failed_ = false;
};

constexpr std::uint64_t most_lanes = 4096;  // of a unit's tracks

std::uint64_t track_number(std::size_t track, std::size_t lane) {
  return (track + 1) * most_lanes + lane;
}

// How many of the spans are open while there are several, whenever that changes.
void write_counter(json_text& out, std::uint64_t pid, const std::string& unit, std::vector<ps>& begins, std::vector<ps>& ends) {
  std::sort(ends.begin(), ends.end());
  const std::string name = fmt::format(R"(,"name":"{} in progress","args":{{"requests":)", unit);
  const std::string head = fmt::format(R"({{"ph":"C","pid":{},"ts":)", pid);
  std::size_t b = 0;
  std::size_t e = 0;
  std::size_t before = 0;
  while (e < ends.size()) {
    const ps at = b < begins.size() ? std::min(begins[b], ends[e]) : ends[e];
    while (b < begins.size() && begins[b] == at) ++b;
    while (e < ends.size() && ends[e] == at) ++e;
    const std::size_t several = b - e > 1 ? b - e : 0;  // of one alone its slice tells
    if (several == before) continue;
    before = several;
    out.event(head).time(at) << name << std::uint64_t{several} << "}}";
  }
}

}  // namespace

std::vector<std::string> span_recorder::track_text(std::uint32_t t, std::uint64_t pid, const std::vector<std::uint32_t>& list,
                                                   const std::vector<std::string>& texts) const {
  json_text out;
  std::vector<std::pair<ps, std::uint32_t>> order;  // equal ones as they came
  order.reserve(list.size());
  for (const std::uint32_t i : list) order.emplace_back(at(i).begin, i);
  if (!std::is_sorted(order.begin(), order.end())) std::sort(order.begin(), order.end());
  const std::string unit = tracks_[t].substr(tracks_[t].rfind('.') + 1);
  const std::string slice = fmt::format(R"({{"ph":"X","pid":{},"tid":)", pid);
  std::vector<ps> lanes;  // free from then on
  std::vector<ps> begins;
  std::vector<ps> ends;
  begins.reserve(list.size());
  ends.reserve(list.size());
  for (const auto& [begin, i] : order) {
    const span& s = at(i);
    std::size_t lane = 0;
    while (lane < lanes.size() && lanes[lane] > s.begin) ++lane;
    if (lane == lanes.size()) lanes.emplace_back(0);
    lanes[lane] = s.end;
    begins.push_back(s.begin);
    ends.push_back(s.end);
    const name_entry& n = names_[s.name];
    out.event(slice) << track_number(t, lane);
    (out << R"(,"ts":)").time(s.begin) << R"(,"dur":)";
    out.time(s.end - s.begin) << texts[s.name];
    if (!n.a.empty()) out.hex(s.a) << "\"";
    if (!n.b.empty()) out << R"(,")" << n.b << R"(":)" << s.b;
    out << "}}";
    if (s.arrow == 0) continue;
    out.event(s.arrives ? R"({"ph":"f","bp":"e","pid":)" : R"({"ph":"s","pid":)")
        << pid << R"(,"tid":)" << track_number(t, lane);
    (out << R"(,"ts":)").time(s.begin) << R"(,"cat":"packet","name":"packet","id":)" << std::uint64_t{s.arrow} << "}";
  }
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    const std::string of_track = fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":)", pid, track_number(t, lane));
    const std::string name = lane ? fmt::format("{} {}", unit, lane + 1) : unit;
    out.event(of_track) << fmt::format(R"("thread_name","args":{{"name":"{}"}}}})", name);
    out.event(of_track) << fmt::format(R"("thread_sort_index","args":{{"sort_index":{}}}}})", track_number(t, lane));
  }
  if (lanes.size() > 1) write_counter(out, pid, unit, begins, ends);  // one at a time: the slices say it
  return out.take();
}

void span_recorder::write(const std::filesystem::path& path, const std::string& version, ps end) {
  output_file file(path);
  std::vector<std::vector<std::uint32_t>> by_track(tracks_.size());
  for (std::uint32_t i = 0; i < count_; ++i) {
    span& s = at(i);
    s.end = s.end == never ? std::max(end, s.begin) : std::max(s.end, s.begin);
    by_track[s.track].push_back(i);
  }
  std::vector<std::string> texts;  // of a slice, from its name on to the first number
  texts.reserve(names_.size());
  for (const name_entry& n : names_) {
    texts.push_back(fmt::format(R"(,"name":"{}","args":{{{})", n.text, n.a.empty() ? "" : fmt::format(R"("{}":")", n.a)));
  }
  std::string head = R"({"displayTimeUnit": "ns", "otherData": {"hcasim": ")" + version + R"("}, "traceEvents": [)";
  std::vector<std::string> nodes;
  std::vector<std::uint32_t> used;
  std::vector<std::uint64_t> pids;
  for (std::uint32_t t = 0; t < tracks_.size(); ++t) {
    if (by_track[t].empty()) continue;
    const std::string node = tracks_[t].substr(0, tracks_[t].find('.'));
    auto found = std::find(nodes.begin(), nodes.end(), node);
    if (found == nodes.end()) found = nodes.insert(nodes.end(), node);
    used.push_back(t);
    pids.push_back(static_cast<std::uint64_t>(found - nodes.begin() + 1));
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    head += fmt::format(R"({}{{"ph":"M","pid":{},"name":"process_name","args":{{"name":"{}"}}}})", n ? ",\n" : "\n", n + 1,
                        nodes[n]);
  }
  file.write(head);
  // A thread formats the tracks that follow while this one writes.
  const auto text = [&](std::size_t i) { return track_text(used[i], pids[i], by_track[used[i]], texts); };
  constexpr std::size_t ahead = 2;
  std::deque<std::future<std::vector<std::string>>> coming;
  std::size_t next = 0;
  while (next < used.size() || !coming.empty()) {
    while (next < used.size() && coming.size() < ahead) coming.push_back(std::async(std::launch::async, text, next++));
    for (const std::string& piece : coming.front().get()) file.write(piece);
    coming.pop_front();
  }
  file.write("\n]}\n");
  file.finish();
}

std::string packet_name(unsigned opcode) {
  constexpr std::array<std::string_view, 24> names{
      "SEND_FIRST",   "SEND_MIDDLE",     "SEND_LAST",        "SEND_LAST_IMM",  "SEND_ONLY",      "SEND_ONLY_IMM",
      "WRITE_FIRST",  "WRITE_MIDDLE",    "WRITE_LAST",       "WRITE_LAST_IMM", "WRITE_ONLY",     "WRITE_ONLY_IMM",
      "READ_REQUEST", "READ_RESP_FIRST", "READ_RESP_MIDDLE", "READ_RESP_LAST", "READ_RESP_ONLY", "ACKNOWLEDGE",
      "ATOMIC_ACK",   "COMPARE_SWAP",    "FETCH_ADD",        "reserved",       "SEND_LAST_INV",  "SEND_ONLY_INV"};
  constexpr std::array<std::string_view, 4> transports{"RC", "UC", "RD", "UD"};
  const unsigned base = opcode & 0x1f;
  const std::string transport(opcode >> 5 < transports.size() ? transports[opcode >> 5] : "?");
  return transport + " " + (base < names.size() ? std::string(names[base]) : std::to_string(base));
}

}  // namespace hcasim
