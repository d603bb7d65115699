#include "testbenches/runner/recording/wave_reader.h"

#include <fstapi.h>

#include <charconv>
#include <exception>
#include <fstream>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>

#include "testbenches/runner/description/errors.h"
#include "testbenches/runner/recording/fst.h"

namespace hcasim {
namespace {

// Without the range that is written behind it.
std::string plain_name(const std::string& name) {
  const auto bracket = name.rfind('[');
  if (bracket == std::string::npos || name.find(':', bracket) == std::string::npos) return name.substr(0, name.find(' '));
  return name.substr(0, std::min(name.find(' '), bracket));
}

std::string joined(const std::vector<std::string>& scope) {
  return fmt::format("{}", fmt::join(scope, "."));
}

class vcd_reader {
 public:
  vcd_reader(const std::filesystem::path& file, wave_listener& listener)
      : path_(file.string()), in_(file, std::ios::binary), listener_(listener) {}

  void read() {
    definitions();
    if (!defined_) bad("there is no $enddefinitions: not a VCD file, or cut off");
    while (next()) change();
  }

 private:
  [[noreturn]] void bad(const std::string& what) const { throw input_error(fmt::format("{}:{}: {}", path_, line_, what)); }

  bool next() {
    word_.clear();
    int c = in_.rdbuf()->sbumpc();
    for (; c == ' ' || c == '\t' || c == '\r' || c == '\n'; c = in_.rdbuf()->sbumpc()) line_ += c == '\n';
    for (; c > ' '; c = in_.rdbuf()->sbumpc()) word_ += static_cast<char>(c);
    if (c == '\n') in_.rdbuf()->sungetc();
    return !word_.empty();
  }
  std::vector<std::string> to_end() {
    std::vector<std::string> words;
    while (next()) {
      if (word_ == "$end") return words;
      words.push_back(word_);
    }
    bad("there is no $end");
  }

  void definitions() {
    std::vector<std::string> scope;
    while (!defined_ && next()) {
      const std::string keyword = word_;
      if (keyword[0] != '$') bad(fmt::format("'{}' among the definitions", keyword));
      const std::vector<std::string> words = to_end();
      if (keyword == "$scope" && words.size() == 2) {
        scope.push_back(words[1]);
      } else if (keyword == "$upscope" && !scope.empty()) {
        scope.pop_back();
      } else if (keyword == "$version") {
        version_ = fmt::format("{}", fmt::join(words, " "));
      } else if (keyword == "$timescale") {
        timescale(fmt::format("{}", fmt::join(words, "")));
      } else if (keyword == "$var") {
        if (words.size() < 4) bad("a $var has a kind, a width, an identifier and a name");
        if (words[0] == "real" || words[0] == "string")
          bad(fmt::format("'{}' is a {}; only bits are read", words[3], words[0]));
        unsigned width = 0;
        const std::string& w = words[1];
        if (std::from_chars(w.data(), w.data() + w.size(), width).ptr != w.data() + w.size() || !width || width > 1U << 20)
          bad(fmt::format("'{}' is not a width", w));
        by_id_[words[2]].push_back(signals_.size());
        signals_.push_back({joined(scope), plain_name(words[3]), width, {}});
      } else if (keyword == "$enddefinitions") {
        defined_ = true;
        listener_.defined(signals_, version_);
      }
    }
  }

  void timescale(const std::string& text) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    constexpr std::pair<std::string_view, std::int64_t> units[] = {
        {"ps", 1}, {"ns", 1'000}, {"us", 1'000'000}, {"ms", 1'000'000'000}, {"s", 1'000'000'000'000}};
    for (const auto& [name, factor] : units) {
      if (unit == name && (n == 1 || n == 10 || n == 100)) {
        scale_ = n * factor;
        return;
      }
    }
    bad(fmt::format("the time scale '{}' is not read; it is 1, 10 or 100 of ps, ns, us, ms or s", text));
  }

  void change() {
    if (word_[0] == '#') {
      std::int64_t t = 0;
      const char* const end = word_.data() + word_.size();
      if (std::from_chars(word_.data() + 1, end, t).ptr != end || t < time_)
        bad(fmt::format("'{}' is not a later time", word_));
      time_ = t;
      listener_.time(ps(t * scale_));
      return;
    }
    if (word_ == "$comment") {
      to_end();
      return;
    }
    if (word_[0] == '$') return;  // $dumpvars, $dumpoff, ... and their $end
    std::string digits = word_.substr(1);
    if (word_[0] == 'b' || word_[0] == 'B') {
      if (!next()) bad("a value without a signal");
    } else {
      digits = word_.substr(0, 1);
      word_.erase(0, 1);
    }
    const auto at = by_id_.find(word_);
    if (at == by_id_.end()) bad(fmt::format("there is no signal '{}'", word_));
    for (char& c : digits) {
      if (c == 'X' || c == 'Z') c = static_cast<char>(c - 'A' + 'a');
      if (c != '0' && c != '1' && c != 'x' && c != 'z') bad(fmt::format("'{}' is not a value", digits));
    }
    for (const std::size_t s : at->second) {
      const unsigned width = signals_[s].width;
      if (digits.empty() || digits.size() > width) bad(fmt::format("{} digits for a signal of {} bits", digits.size(), width));
      wide_.assign(width - digits.size(), digits[0] == '1' ? '0' : digits[0]);
      wide_ += digits;
      if (time_ < 0) {
        time_ = 0;
        listener_.time(ps(0));
      }
      listener_.value(s, wide_);
    }
  }

  std::string path_;
  std::ifstream in_;
  wave_listener& listener_;
  std::size_t line_ = 1;
  std::string word_;
  std::string wide_;
  bool defined_ = false;
  std::string version_;
  std::int64_t scale_ = 1;
  std::int64_t time_ = -1;
  std::vector<wave_signal> signals_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_id_;
};

class fst_reader {
 public:
  fst_reader(const std::filesystem::path& file, wave_listener& listener)
      : path_(file.string()), listener_(listener), context_(fstReaderOpen(file.c_str()), fstReaderClose) {
    if (!context_) throw input_error(fmt::format("'{}' is not a whole FST file", path_));
  }

  void read() {
    const signed char exponent = fstReaderGetTimescale(context_.get());
    if (exponent < -12 || exponent > 0)
      throw input_error(fmt::format("'{}': times below 1 ps or above 1 s are not read", path_));
    for (signed char e = exponent; e > -12; --e) scale_ *= 10;
    std::vector<std::string> scope;
    while (const fstHier* h = fstReaderIterateHier(context_.get())) {
      if (h->htyp == FST_HT_SCOPE) scope.emplace_back(h->u.scope.name);
      if (h->htyp == FST_HT_UPSCOPE && !scope.empty()) scope.pop_back();
      if (h->htyp != FST_HT_VAR) continue;
      const auto& v = h->u.var;
      if (v.typ == FST_VT_VCD_REAL || v.typ == FST_VT_VCD_REAL_PARAMETER || v.typ == FST_VT_VCD_REALTIME ||
          v.typ == FST_VT_SV_SHORTREAL || v.typ == FST_VT_GEN_STRING)
        throw input_error(fmt::format("'{}': '{}' is a real number or a string; only bits are read", path_, v.name));
      by_handle_[v.handle].push_back(signals_.size());
      signals_.push_back({joined(scope), plain_name(v.name), v.length, {}});
    }
    listener_.defined(signals_, fstReaderGetVersionString(context_.get()));
    step(fstReaderGetStartTime(context_.get()));
    fstReaderSetFacProcessMaskAll(context_.get());
    fstReaderIterBlocks(context_.get(), take, this, nullptr);
    if (problem_) std::rethrow_exception(problem_);
    step(fstReaderGetEndTime(context_.get()));
  }

 private:
  void step(std::uint64_t time) {
    if (static_cast<std::int64_t>(time) <= time_) return;
    time_ = static_cast<std::int64_t>(time);
    listener_.time(ps(time_ * scale_));
  }
  // Called by C code, so nothing is thrown through it.
  static void take(void* self, std::uint64_t time, fstHandle handle, const unsigned char* value) {
    auto& r = *static_cast<fst_reader*>(self);
    if (r.problem_) return;
    try {
      r.step(time);
      const auto named = r.by_handle_.find(handle);
      if (named == r.by_handle_.end()) throw input_error(fmt::format("'{}' is damaged: a value has no signal", r.path_));
      for (const std::size_t s : named->second)
        r.listener_.value(s, {reinterpret_cast<const char*>(value), r.signals_[s].width});
    } catch (...) {
      r.problem_ = std::current_exception();
    }
  }

  std::string path_;
  wave_listener& listener_;
  std::unique_ptr<void, void (*)(void*)> context_;
  std::int64_t scale_ = 1;
  std::int64_t time_ = -1;
  std::vector<wave_signal> signals_;
  std::unordered_map<fstHandle, std::vector<std::size_t>> by_handle_;
  std::exception_ptr problem_;
};

}  // namespace

bool is_fst(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || !std::filesystem::is_regular_file(file)) throw input_error(fmt::format("cannot read '{}'", file.string()));
  return in.peek() == FST_BL_HDR;
}

void read_waves(const std::filesystem::path& file, wave_listener& listener) {
  if (is_fst(file)) {
    if (!fst_is_whole(file)) throw input_error(fmt::format("'{}' is not a whole FST file", file.string()));
    fst_reader(file, listener).read();
  } else {
    vcd_reader(file, listener).read();
  }
}

}  // namespace hcasim
