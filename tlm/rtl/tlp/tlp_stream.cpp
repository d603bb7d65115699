#include "tlm/rtl/tlp/tlp_stream.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "tlm/rtl/axi/axi.h"

namespace hcasim::rtl {
namespace {

constexpr std::uint64_t ends_a_tlp = 1;  // cookies: the last beat of one; the user's own lies above

}  // namespace

tlp_fields::tlp_fields(const stream& s)
    : data(s.find("data")),
      strb(s.find("strb")),
      hdr(s.find("hdr")),
      error(s.find("error")),
      bar_id(s.find("bar_id")),
      func_num(s.find("func_num")),
      sop(s.find("sop")),
      eop(s.find("eop")),
      words(data.bits / 32) {}

tlp_source::tlp_source(shell& of, const std::string& name) : endpoint(of, name, "tlp", true), s_(*channel("t", true)), f_(s_) {
  if (f_.words == 0) throw std::invalid_argument(who() + ": has no data; name its port in PINS: t.data=PORT");
  s_.on_transfer = [this](const payload&, std::uint64_t cookie, ps t) {
    if ((cookie & ends_a_tlp) == 0) return;
    --under_way_;
    if (on_sent) on_sent(cookie >> 1, t);
  };
}

// The header and its target are there with the first beat alone.
void tlp_source::send(const tlp& p, ps t, std::uint64_t cookie, const tlp_aside& aside) {
  const std::size_t in_beat = 4 * std::size_t{f_.words};
  const std::size_t beats = std::max<std::size_t>(1, (p.bytes.size() + in_beat - 1) / in_beat);
  for (std::size_t n = 0; n < beats; ++n) {
    payload beat;
    const std::size_t first = n * in_beat;
    const std::size_t here = std::min(in_beat, p.bytes.size() - first);
    for (unsigned i = 0; i < here; ++i) {
      beat.set(f_.data.at + 8 * i, 8, p.bytes[first + i]);
      if (f_.strb) beat.set(f_.strb.at + i / 4, 1, 1);
    }
    for (unsigned w = 0; n == 0 && w < p.header.size(); ++w) beat.set(f_.hdr.at + 96 - 32 * w, 32, p.header[w]);
    if (n == 0) {
      set_field(beat, f_.bar_id, aside.bar_id);
      set_field(beat, f_.func_num, aside.func_num);
    }
    const bool last = n + 1 == beats;
    set_field(beat, f_.error, aside.error);
    set_field(beat, f_.sop, n == 0);
    set_field(beat, f_.eop, last);
    push(s_, beat, t, cookie << 1 | (last ? ends_a_tlp : 0));
  }
  ++under_way_;
}

void tlp_source::check_limits(unsigned max_payload, unsigned max_read_request, unsigned completion_boundary) const {
  const auto refuse = [this](const char* option, unsigned bytes, const char* there_are) {
    throw std::invalid_argument(who() + ": " + option + ": " + std::to_string(bytes) + ", PCIe has " + there_are);
  };
  const auto good = [](unsigned bytes) { return std::has_single_bit(bytes) && bytes >= 128 && bytes <= tlp_most_bytes; };
  constexpr auto sizes = "128, 256, 512, 1024, 2048 and 4096";
  if (!good(max_payload)) refuse("max_payload", max_payload, sizes);
  if (!good(max_read_request)) refuse("max_read_request", max_read_request, sizes);
  if (completion_boundary != 64 && completion_boundary != 128) refuse("completion_boundary", completion_boundary, "64 and 128");
}

void tlp_source::was_reset(ps, std::vector<lost>& losses) {
  if (under_way_ > 0) losses.push_back({who() + ": TLPs", under_way_});
  under_way_ = 0;
}

tlp_sink::tlp_sink(shell& of, const std::string& name) : endpoint(of, name, "tlp", false), s_(*channel("t", false)), f_(s_) {
  s_.on_transfer = [this](const payload& p, std::uint64_t, ps t) { beat(p, t); };
}

void tlp_sink::beat(const payload& p, ps t) {
  const std::string wrong = take(p);
  const bool last = get_field(p, f_.eop) != 0;
  if (wrong.empty() && !last) return;
  const tlp done = std::exchange(begun_, {});
  const unsigned beats = std::exchange(beats_, 0);
  if (!wrong.empty()) return violation("stream " + s_.name() + ": beat " + std::to_string(beats) + " of a TLP " + wrong);
  if (on_tlp) on_tlp(done, t);
}

// Returns the fault of a beat; empty = none.
std::string tlp_sink::take(const payload& p) {
  const bool first = get_field(p, f_.sop) != 0;
  if (first != (beats_++ == 0)) return first ? "has sop, and the one before had no eop" : "has no sop";
  for (unsigned w = 0; first && w < begun_.header.size(); ++w)
    begun_.header[w] = static_cast<std::uint32_t>(p.get(f_.hdr.at + 96 - 32 * w, 32));
  const unsigned wanted = payload_words(begun_.header);
  if (wanted > 0 && f_.words == 0) return "has a payload, and the stream has no data";
  const auto left = wanted - static_cast<unsigned>(begun_.bytes.size() / 4);
  const unsigned here = std::min(left, f_.words);
  const auto of_words = [&] { return " of " + std::to_string(wanted) + " words of payload"; };
  for (unsigned w = 0; f_.strb && w < f_.words; ++w) {
    if ((p.get(f_.strb.at + w, 1) != 0) == (w < here)) continue;
    return w < here ? "leaves out word " + std::to_string(wanted - left + w) + of_words()
                    : "has word " + std::to_string(wanted - left + w) + " behind the last one" + of_words();
  }
  for (unsigned i = 0; i < 4 * here; ++i) begun_.bytes.push_back(static_cast<unsigned char>(p.get(f_.data.at + 8 * i, 8)));
  const bool last = get_field(p, f_.eop) != 0;
  if (last == (here == left)) return {};
  return last ? "has eop, and " + std::to_string(left - here) + of_words() + " have not come"
              : "has no eop, and every one" + of_words() + " has come";
}

void tlp_sink::was_reset(ps, std::vector<lost>& losses) {
  if (beats_ > 0) losses.push_back({who() + ": TLPs that had begun", 1});
  begun_ = {};
  beats_ = 0;
}

}  // namespace hcasim::rtl
