#include "testbenches/program/recording/vcd_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/recording/wave_names.h"
#include "testbenches/program/recording/wave_reader.h"

namespace hcasim {
namespace {

constexpr unsigned most_bits = 1U << 20;

constexpr bool blank(int c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Maps a port's state in extended VCD to 0, 1, x or z, without direction and strength; 0 = no state.
char port_value(char state) {
  constexpr std::string_view states = "DUNZduLHXTlh01?FAaBbCcf";
  constexpr std::string_view values = "01xz0101xz0101xzxxxxxxz";
  static_assert(states.size() == values.size());
  const std::size_t at = states.find(state);
  return at == std::string_view::npos ? '\0' : values[at];
}

// Returns the word for a message: damaged files hold any bytes, and any number of them.
std::string printable(std::string_view word) {
  constexpr std::size_t most = 40;
  std::string out(word.substr(0, most));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return word.size() > most ? out + "..." : out;
}

class vcd_reader {
 public:
  vcd_reader(const std::filesystem::path& file, wave_listener& listener)
      : path_(file.string()), in_(file, std::ios::binary), bytes_(*in_.rdbuf()), listener_(listener) {}

  void read() {
    skip_byte_order_mark();
    while (!defined_ && next()) definition();
    if (!defined_) bad("there is no $enddefinitions: not a VCD file, or cut off");
    while (next()) change();
    if (block_line_ == 0) return;
    at_ = block_line_;
    bad("this block of values has no $end: the file is cut off");
  }

 private:
  [[noreturn]] void bad(const std::string& what) const { throw input_error(fmt::format("{}:{}: {}", path_, at_, what)); }

  void skip_byte_order_mark() {
    const int first = bytes_.sgetc();
    if (first == 0xfe || first == 0xff) bad("this is UTF-16; save it as UTF-8 or ASCII");
    if (first != 0xef) return;
    for (const int expected : {0xef, 0xbb, 0xbf}) {
      if (bytes_.sbumpc() != expected) bad("this is neither ASCII nor UTF-8");
    }
  }

  // Reads the next word; false = the file has ended.
  bool next() {
    word_.clear();
    int c = bytes_.sbumpc();
    for (; blank(c); c = bytes_.sbumpc()) line_ += c == '\n';
    at_ = line_;
    for (; c > ' '; c = bytes_.sbumpc()) {
      if (word_.size() > most_bits) bad(fmt::format("'{}' is longer than any word of a VCD", printable(word_)));
      word_ += static_cast<char>(c);
    }
    if (c >= 0 && !blank(c)) bad(fmt::format("a byte 0x{:02x} stands here: the file is damaged, or no VCD", c));
    if (c == '\n') bytes_.sungetc();
    return !word_.empty();
  }
  std::vector<std::string> to_end(const std::string& keyword) {
    const std::size_t begin = at_;
    std::vector<std::string> words;
    while (next()) {
      if (word_ == "$end") {
        at_ = begin;
        return words;
      }
      words.push_back(word_);
    }
    at_ = begin;
    bad(fmt::format("there is no $end of {}: the file is cut off", keyword));
  }

  void definition() {
    const std::string keyword = word_;
    if (keyword[0] != '$') bad(fmt::format("'{}' among the definitions", printable(keyword)));
    const std::vector<std::string> words = to_end(keyword);
    if (keyword == "$scope") {
      if (words.size() != 2) bad("a $scope has a kind and a name: write '$scope module NAME $end'");
      scope_.push_back(words[1]);
    } else if (keyword == "$upscope") {
      if (scope_.empty()) bad("no $scope is open that this $upscope could close");
      scope_.pop_back();
    } else if (keyword == "$version") {
      version_ = fmt::format("{}", fmt::join(words, " "));
    } else if (keyword == "$timescale") {
      timescale(fmt::format("{}", fmt::join(words, "")));
    } else if (keyword == "$timezero") {
      if (words.size() != 1 || words[0] != "0") bad("a $timezero other than 0 is not read");
    } else if (keyword == "$var") {
      variable(words);
    } else if (keyword == "$enddefinitions") {
      if (!scaled_) bad("there is no $timescale before: write for example '$timescale 1 ns $end'");
      defined_ = true;
      listener_.defined(signals_, version_);
    } else if (keyword != "$date" && keyword != "$comment" && keyword != "$attrbegin" && keyword != "$attrend") {
      bad(fmt::format("'{}' is a definition that is not read", printable(keyword)));
    }
  }

  void variable(const std::vector<std::string>& words) {
    if (words.size() < 4) bad("a $var has a kind, a width, an identifier and a name");
    const std::string& kind = words[0];
    if (kind == "string" || kind.find("real") != std::string::npos)
      bad(fmt::format("'{}' is a {}; only bits are read", printable(words[3]), kind));
    wave_signal s{fmt::format("{}", fmt::join(scope_, ".")), {}, width_of(words[1]), {}};
    s.event = kind == "event";
    if (s.event && s.width != 1) bad(fmt::format("'{}' is an event of {} bits", printable(words[3]), s.width));
    std::string name = words[3];
    if (words[1][0] == '[' && words.size() == 4) name += " " + words[1];
    if (words.size() > 4) name += fmt::format(" {}", fmt::join(words.begin() + 4, words.end(), ""));
    name_signal(s, name);
    by_id_[words[2]].push_back(signals_.size());
    signals_.push_back(std::move(s));
  }

  // Returns the width from a number or from the indices of a port ([7:0]).
  unsigned width_of(const std::string& text) const {
    const auto number = [&](const char* from, const char* end) {
      int value = 0;
      const auto [behind, error] = std::from_chars(from, end, value);
      return behind == end && error == std::errc() ? std::optional(value) : std::nullopt;
    };
    const char* const end = text.data() + text.size();
    std::optional<std::int64_t> width;
    const std::size_t colon = text.find(':');
    if (text[0] != '[') {
      width = number(text.data(), end);
    } else if (colon != std::string::npos && text.back() == ']') {
      const auto left = number(text.data() + 1, text.data() + colon);
      const auto right = number(text.data() + colon + 1, end - 1);
      if (left && right) width = std::abs(std::int64_t{*left} - *right) + 1;
    }
    if (!width || *width < 1 || *width > most_bits) bad(fmt::format("'{}' is not a width", printable(text)));
    return static_cast<unsigned>(*width);
  }

  void timescale(const std::string& text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string_view number = std::string_view(text).substr(0, digits);
    const std::string_view unit = std::string_view(text).substr(digits);
    constexpr std::pair<std::string_view, int> units[] = {{"fs", -15}, {"ps", -12}, {"ns", -9},
                                                          {"us", -6},  {"ms", -3},  {"s", 0}};
    for (const auto& [name, exponent] : units) {
      if (unit != name || (number != "1" && number != "10" && number != "100")) continue;
      scale_.set(exponent + static_cast<int>(number.size()) - 1);
      scaled_ = true;
      return;
    }
    bad(fmt::format("the time scale '{}' is not read; it is 1, 10 or 100 of fs, ps, ns, us, ms or s", printable(text)));
  }

  void change() {
    switch (word_[0]) {
      case '#':
        return time();
      case '$':
        return command();
      case 'b':
      case 'B':
        digits_ = word_.substr(1);
        if (!next()) bad("a value without a signal");
        return value();
      case 'p':
        return port();
      case 'r':
      case 'R':
      case 's':
      case 'S':
        bad(fmt::format("'{}' is a real number or a string; only bits are read", printable(word_)));
      default:
        digits_ = word_.substr(0, 1);
        word_.erase(0, 1);
        return value();
    }
  }

  void time() {
    std::uint64_t t = 0;
    const char* const end = word_.data() + word_.size();
    const auto [behind, error] = std::from_chars(word_.data() + 1, end, t);
    if (behind != end || error == std::errc::invalid_argument) bad(fmt::format("'{}' is not a time", printable(word_)));
    if (error != std::errc()) t = UINT64_MAX;
    if (const std::string why = scale_.objection(t); !why.empty()) bad(fmt::format("'{}' {}", printable(word_), why));
    if (timed_ && t < time_) bad(fmt::format("'{}' is not a later time", word_));
    time_ = t;
    timed_ = true;
    block_line_ = 0;  // some tools leave the $end of a block out
    listener_.time(scale_.at(t));
  }

  // Reads a keyword among the changes; blocks of values ($dumpvars and the others) are read like changes.
  void command() {
    if (word_ == "$end") {
      block_line_ = 0;
    } else if (word_ == "$comment") {
      to_end("$comment");
    } else if (word_.starts_with("$dump")) {
      block_line_ = at_;
    } else if (word_ != "$vcdclose") {
      bad(fmt::format("'{}' is not read among the changes", printable(word_)));
    }
  }

  // Reads a port's change: a state for each bit, the strengths of 0 and 1, the signal.
  void port() {
    digits_ = word_.substr(1);
    for (char& c : digits_) {
      const char v = port_value(c);
      if (v == 0) bad(fmt::format("'{}' is not a value of a port", printable(word_)));
      c = v;
    }
    for (int i = 0; i < 3; ++i) {
      if (!next()) bad("a value without a signal");
    }
    value();
  }

  // Passes `digits_` on as the value of the signal in `word_`.
  void value() {
    const auto at = by_id_.find(word_);
    if (at == by_id_.end()) bad(fmt::format("there is no signal '{}'", printable(word_)));
    for (char& c : digits_) {
      const char v = four_state(c);
      if (v == 0) bad(fmt::format("'{}' is not a value", printable(digits_)));
      c = v;
    }
    if (!timed_) {
      timed_ = true;
      listener_.time(ps(0));
    }
    for (const std::size_t s : at->second) {
      const unsigned width = signals_[s].width;
      if (digits_.empty() || digits_.size() > width)
        bad(fmt::format("{} digits for a signal of {} bits", digits_.size(), width));
      if (signals_[s].event) {
        if (block_line_ == 0 && (digits_ == "0" || digits_ == "1")) listener_.value(s, "1");
        continue;
      }
      wide_.assign(width - digits_.size(), digits_[0] == '1' ? '0' : digits_[0]);
      wide_ += digits_;
      listener_.value(s, wide_);
    }
  }

  std::string path_;
  std::ifstream in_;
  std::filebuf& bytes_;
  wave_listener& listener_;
  std::size_t line_ = 1;
  std::size_t at_ = 1;  // the line of the statement that is read
  std::string word_;
  std::string digits_;
  std::string wide_;
  bool defined_ = false;
  bool scaled_ = false;
  bool timed_ = false;
  std::string version_;
  time_scale scale_;
  std::uint64_t time_ = 0;      // in the file's unit
  std::size_t block_line_ = 0;  // line of the open $dumpvars, $dumpoff, ...; 0 = none
  std::vector<std::string> scope_;
  std::vector<wave_signal> signals_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_id_;
};

}  // namespace

void read_vcd(const std::filesystem::path& file, wave_listener& listener) {
  vcd_reader(file, listener).read();
}

}  // namespace hcasim
