#include "testbenches/program/recording/spans.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>

#include "testbenches/program/recording/listen.h"
#include "testbenches/program/recording/span_words.h"

namespace hcasim {

template <class P>
class span_recorder::tap final : public chained_observer<P>, public any_tap {
 public:
  tap(initiator_socket<P>& socket, span_recorder& to, std::uint16_t track, std::uint32_t first_name)
      : chained_observer<P>(socket),
        to_(to),
        track_(track),
        first_name_(first_name),
        sends_(std::string_view(socket.basename()) == "link_out"),
        takes_(!sends_ && !std::string_view(socket.basename()).starts_with(span_words<packet>::egress)) {}

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
  void finish(ps end) override {
    for (span& s : open_) to_.close(s, end);
    asked_.clear();
    open_.clear();
  }

 private:
  using words = span_words<P>;

  void begin(const P& p, ps t) {
    span s{t, never, words::number(p), words::size(p), p.operation, first_name_ + words::kind(p), 0, track_, false};
    if constexpr (std::is_same_v<P, packet>) {
      std::uint32_t* const flight = sends_ || takes_ ? to_.flights_.find(&p) : nullptr;
      if (sends_) {
        s.arrow = ++to_.packets_;
        if (flight) {
          *flight = s.arrow;  // its memory held a packet that was lost
        } else {
          to_.flights_.insert(&p, s.arrow);
        }
      } else if (flight) {
        s.arrow = *flight;
        s.arrives = true;
        to_.flights_.erase(&p);
      }
    }
    if (!to_.open(s)) return;
    asked_.push_back(&p);
    open_.push_back(s);
  }
  void end(const P& p, ps t) {
    for (std::size_t i = asked_.size(); i-- > 0;) {
      if (asked_[i] != &p) continue;
      to_.close(open_[i], t);
      asked_[i] = asked_.back();
      asked_.pop_back();
      open_[i] = open_.back();
      open_.pop_back();
      return;
    }
  }

  span_recorder& to_;
  std::uint16_t track_;
  std::uint32_t first_name_;
  bool sends_;  // packets, on the wire
  bool takes_;  // packets, from the wire
  std::vector<const P*> asked_;
  std::vector<span> open_;
};

span_recorder::span_recorder(const span_window& window, const std::filesystem::path& file, const std::string& version)
    : sc_module(sc_core::sc_module_name(sc_core::sc_gen_unique_name("span_recorder"))), window_(window), file_(file, version) {}

span_recorder::~span_recorder() = default;

std::uint16_t span_recorder::track(const std::string& unit) {
  const auto found = std::find_if(tracks_.begin(), tracks_.end(), [&](const span_track& t) { return t.unit == unit; });
  if (found != tracks_.end()) return static_cast<std::uint16_t>(found - tracks_.begin());
  tracks_.push_back({unit});
  return static_cast<std::uint16_t>(tracks_.size() - 1);
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
    taps_.push_back(std::make_unique<tap<P>>(*s, *this, track(beside + span_words<P>::target(s->basename())), first));
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
  file_.define(tracks_, names_);
}

bool span_recorder::open(const span& s) {
  if (s.begin < window_.from || s.begin >= window_.until || stopped_at_ != never) return false;
  if (count_ >= window_.limit) {
    stopped_at_ = s.begin;
    return false;
  }
  ++count_;
  file_.begins(s.track, s.begin);
  return true;
}

void span_recorder::close(span& s, ps t) {
  s.end = std::max(t, s.begin);
  file_.put(s);
}

void span_recorder::finish(ps end) {
  for (const auto& t : taps_) t->finish(end);
  file_.finish();
}

std::string packet_name(unsigned opcode) {
  constexpr std::array<std::string_view, 24> names{
      "SEND_FIRST",   "SEND_MIDDLE",     "SEND_LAST",        "SEND_LAST_IMM",  "SEND_ONLY",      "SEND_ONLY_IMM",
      "WRITE_FIRST",  "WRITE_MIDDLE",    "WRITE_LAST",       "WRITE_LAST_IMM", "WRITE_ONLY",     "WRITE_ONLY_IMM",
      "READ_REQUEST", "READ_RESP_FIRST", "READ_RESP_MIDDLE", "READ_RESP_LAST", "READ_RESP_ONLY", "ACKNOWLEDGE",
      "ATOMIC_ACK",   "COMPARE_SWAP",    "FETCH_ADD",        "reserved",       "SEND_LAST_INV",  "SEND_ONLY_INV"};
  const unsigned base = opcode & 0x1f;
  return std::string(transport_names[opcode >> 5 & 7]) + " " +
         (base < names.size() ? std::string(names[base]) : std::to_string(base));
}

}  // namespace hcasim
