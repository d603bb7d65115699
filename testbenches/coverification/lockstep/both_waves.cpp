#include "testbenches/coverification/lockstep/both_waves.h"

#include <algorithm>
#include <fstream>

namespace hcasim::lockstep {
namespace {

constexpr const char* scopes[sides] = {"model", "rtl"};
// Longer than the codes of any design's own signals.
std::string code_of(std::uint32_t signal) {
  return "lockstep:" + std::to_string(signal);
}

}  // namespace

both_waves::both_waves() {
  for (const side s : {model_side, rtl_side}) {
    first_of_[s] = static_cast<std::uint32_t>(signals_.size());
    for (const char* name : {"item_offered", "item_answered"}) signals_.push_back({name, 64, s});
    for (std::uint32_t w = 0; w < answer_words; ++w) signals_.push_back({"answer_" + std::to_string(w), 64, s});
  }
}

void both_waves::watch(const std::array<const unit*, sides>& units) {
  units_ = units;
  event_queue::instance().at(ps{0}, {[](void* self) { static_cast<both_waves*>(self)->begin(); }, this});
}

void both_waves::begin() {
  for (const side s : {model_side, rtl_side}) {
    if (!units_[s]) continue;
    for (const probe_entry& e : units_[s]->signals().all()) {
      e.signal->watch(this, static_cast<std::uint32_t>(signals_.size()));
      signals_.push_back({e.name, e.width, s});
    }
  }
}

void both_waves::answered(side s, std::uint64_t number, const comparison::answer& a, ps at) {
  change(first_of_[s] + 1, number, at);
  for (std::uint32_t w = 0; w < answer_words; ++w) change(first_of_[s] + 2 + w, a[w], at);
}

std::string both_waves::header() const {
  std::string text = " $scope module lockstep $end\n";
  for (const side s : {model_side, rtl_side}) {
    text += std::string("  $scope module ") + scopes[s] + " $end\n";
    for (std::uint32_t i = 0; i < signals_.size(); ++i) {
      const shown& x = signals_[i];
      if (x.of != s) continue;
      text += "   $var wire " + std::to_string(x.width) + " " + code_of(i) + " " + x.name;
      if (x.width > 1) text += " [" + std::to_string(x.width - 1) + ":0]";
      text += " $end\n";
    }
    text += "  $upscope $end\n";
  }
  return text + " $upscope $end\n";
}

std::string both_waves::line(const one& c) const {
  const unsigned width = signals_[c.signal].width;
  std::string text = width == 1 ? "" : "b";
  for (unsigned bit = width; bit-- > 0;) text += c.value >> bit & 1 ? '1' : '0';
  return text + (width == 1 ? "" : " ") + code_of(c.signal) + "\n";
}

void both_waves::merge_into(const std::string& vcd_file) {
  std::ifstream in(vcd_file);
  if (!in) return;
  std::stable_sort(changes_.begin(), changes_.end(), [](const one& a, const one& b) { return a.at < b.at; });
  const std::string merged = vcd_file + ".merged";
  std::ofstream out(merged);
  auto next = changes_.begin();
  bool begun = false;
  ps reached{-1};
  // Writes all changes up to `t`, each with its own time.
  const auto catch_up = [&](ps t) {
    for (; next != changes_.end() && next->at <= t; ++next) {
      if (next->at != reached) out << '#' << (reached = next->at).count() << '\n';
      out << line(*next);
    }
  };
  for (std::string text; std::getline(in, text);) {
    if (text.starts_with("$enddefinitions")) out << header();
    const bool time = text.starts_with("#");
    const ps t(time ? std::stoll(text.substr(1)) : 0);
    if (time && begun) catch_up(t - ps{1});
    out << text << '\n';
    if (!time) continue;
    reached = t;
    if (!begun) {  // what they are by then
      begun = true;
      std::vector<const one*> last(signals_.size());
      for (; next != changes_.end() && next->at <= t; ++next) last[next->signal] = &*next;
      for (std::uint32_t i = 0; i < signals_.size(); ++i) {
        if (last[i]) {
          out << line(*last[i]);
        } else {
          out << (signals_[i].width == 1 ? "x" : "bx ") << code_of(i) << '\n';
        }
      }
    }
    catch_up(t);
  }
  if (begun) catch_up(never);
  out.close();
  if (!out || std::rename(merged.c_str(), vcd_file.c_str()) != 0)
    throw std::runtime_error(vcd_file + ": the waveform of both sides cannot be written");
}

}  // namespace hcasim::lockstep
