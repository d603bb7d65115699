#include "testbenches/runner/record/spans.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "testbenches/runner/errors.h"
#include "testbenches/runner/record/listen.h"
#include "testbenches/runner/record/span_words.h"

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
  if (spans_.size() >= window_.limit) {
    stopped_at_ = s.begin;
    return 0;
  }
  spans_.push_back(s);
  return static_cast<std::uint32_t>(spans_.size());
}

namespace {

// Microseconds, exact to the picosecond.
std::string_view microseconds(fmt::memory_buffer& to, ps t) {
  to.clear();
  fmt::format_to(std::back_inserter(to), FMT_STRING("{}.{:06}"), t.count() / 1'000'000, t.count() % 1'000'000);
  return {to.data(), to.size()};
}

std::string in_quotes(std::string_view s) {
  return fmt::format("\"{}\"", s);  // names of units and operations hold nothing to escape
}

}  // namespace

void span_recorder::write(const std::filesystem::path& path, const std::string& version, ps end) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file)
    throw input_error(fmt::format("cannot write '{}': {}; choose another folder with -o", path.string(), std::strerror(errno)));
  fmt::memory_buffer out;
  fmt::memory_buffer time;
  bool failed = false;
  bool first = true;
  const auto add = [&]<class... A>(fmt::format_string<A...> format, A&&... arguments) {
    out.append(std::string_view(first ? "\n" : ",\n"));
    first = false;
    fmt::format_to(std::back_inserter(out), format, std::forward<A>(arguments)...);
    if (out.size() < 1 << 20) return;
    failed = failed || std::fwrite(out.data(), 1, out.size(), file) != out.size();
    out.clear();
  };
  fmt::format_to(std::back_inserter(out),
                 "{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"hcasim\": {}}}, \"traceEvents\": [", in_quotes(version));

  std::vector<std::string> nodes;
  const auto node_of = [&](std::uint32_t t) {
    const std::string node = tracks_[t].substr(0, tracks_[t].find('.'));
    const auto found = std::find(nodes.begin(), nodes.end(), node);
    if (found != nodes.end()) return found - nodes.begin() + 1;
    nodes.push_back(node);
    return static_cast<std::ptrdiff_t>(nodes.size());
  };
  std::vector<std::vector<std::uint32_t>> by_track(tracks_.size());
  for (std::uint32_t i = 0; i < spans_.size(); ++i) {
    spans_[i].end = spans_[i].end == never ? std::max(end, spans_[i].begin) : std::max(spans_[i].end, spans_[i].begin);
    by_track[spans_[i].track].push_back(i);
  }
  constexpr std::uint32_t most_lanes = 4096;
  for (std::uint32_t t = 0; t < tracks_.size(); ++t) {
    auto& list = by_track[t];
    if (list.empty()) continue;
    std::stable_sort(list.begin(), list.end(),
                     [&](std::uint32_t x, std::uint32_t y) { return spans_[x].begin < spans_[y].begin; });
    const auto pid = node_of(t);
    const std::string unit = tracks_[t].substr(tracks_[t].rfind('.') + 1);
    // The first lane that is free by then.
    std::vector<ps> lanes;
    std::vector<std::pair<ps, int>> changes;
    for (const std::uint32_t i : list) {
      const span& s = spans_[i];
      std::size_t lane = 0;
      while (lane < lanes.size() && lanes[lane] > s.begin) ++lane;
      if (lane == lanes.size()) lanes.push_back(ps(0));
      lanes[lane] = s.end;
      changes.emplace_back(s.begin, 1);
      changes.emplace_back(s.end, -1);
      const std::size_t tid = static_cast<std::size_t>(t + 1) * most_lanes + lane;
      const name_entry& n = names_[s.name];
      const std::string_view ts = microseconds(time, s.begin);
      add(FMT_STRING("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{}.{:06},\"name\":\"{}\",\"args\":{{"), pid, tid,
          ts, (s.end - s.begin).count() / 1'000'000, (s.end - s.begin).count() % 1'000'000, n.text);
      if (!n.a.empty()) fmt::format_to(std::back_inserter(out), FMT_STRING("\"{}\":\"{:#x}\""), n.a, s.a);
      if (!n.b.empty()) fmt::format_to(std::back_inserter(out), FMT_STRING(",\"{}\":{}"), n.b, s.b);
      out.append(std::string_view("}}"));
      if (s.arrow) {
        const std::string_view at = microseconds(time, s.begin);
        add(FMT_STRING("{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"id\":{},\"cat\":\"packet\",\"name\":\"packet\"{}}}"),
            s.arrives ? 'f' : 's', pid, tid, at, s.arrow, s.arrives ? ",\"bp\":\"e\"" : "");
      }
    }
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      const std::size_t tid = static_cast<std::size_t>(t + 1) * most_lanes + lane;
      const std::string name = lane ? fmt::format("{} {}", unit, lane + 1) : unit;
      add("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}}", pid, tid,
          in_quotes(name));
      add("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{}}}}}", pid, tid,
          tid);
    }
    std::sort(changes.begin(), changes.end());
    int in_progress = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const int before = in_progress;
      const ps at = changes[i].first;
      in_progress += changes[i].second;
      while (i + 1 < changes.size() && changes[i + 1].first == at) in_progress += changes[++i].second;
      if (in_progress == before) continue;
      add(FMT_STRING("{{\"ph\":\"C\",\"pid\":{},\"ts\":{},\"name\":\"{} in progress\",\"args\":{{\"requests\":{}}}}}"), pid,
          microseconds(time, at), unit, in_progress);
    }
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    add("{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}", n + 1, in_quotes(nodes[n]));
  }
  out.append(std::string_view("\n]}\n"));
  failed = failed || std::fwrite(out.data(), 1, out.size(), file) != out.size();
  failed = std::fclose(file) != 0 || failed;
  if (failed) {
    throw input_error(
        fmt::format("cannot write '{}': the disk is full or the folder is gone; choose another with -o", path.string()));
  }
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
