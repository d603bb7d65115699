// Reads recorded traffic: lines of events, then lines of objects (docs/replay.md has the format).
#pragma once

#include <charconv>
#include <cstdint>
#include <istream>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "testbenches/traffic/replay/trace.h"

namespace hcasim::replay {

class trace_reader {
 public:
  trace_reader(std::istream& in, const std::string& name) : in_(in), name_(name) { out_.name = name; }

  std::uint32_t head();
  trace whole();

 private:
  static constexpr const char* again = "record the run again";
  static constexpr std::uint64_t most_objects = 1 << 24;

  struct token_list {
    std::string_view rest;
    std::string_view take() {
      const std::size_t begin = rest.find_first_not_of(' ');
      if (begin == std::string_view::npos) return rest = {};
      const std::size_t end = std::min(rest.find(' ', begin), rest.size());
      const std::string_view word = rest.substr(begin, end - begin);
      rest.remove_prefix(end);
      return word;
    }
  };

  // Returns whether the request names memory of its peer.
  static bool names_memory(verbs::ibv_wr_opcode o) { return o != verbs::IBV_WR_SEND && o != verbs::IBV_WR_SEND_WITH_IMM; }
  static bool makes_key(verbs::ibv_wr_opcode o) { return o == verbs::IBV_WR_BIND_MW || o == verbs::IBV_WR_REG_MR; }

  [[noreturn]] void fail(const std::string& fault, std::string_view mend = again) const { fail_at(line_, fault, mend); }
  [[noreturn]] void fail_at(std::uint32_t line, const std::string& fault, std::string_view mend = again) const {
    throw trace_error(fmt::format("{}:{}: {}; {}", name_, line, fault, mend));
  }
  bool next() {
    if (!std::getline(in_, text_)) return false;
    ++line_;
    words_.rest = text_;
    return true;
  }
  void key(std::string_view wanted) {
    if (const std::string_view got = words_.take(); got != wanted)
      fail(got.empty() ? fmt::format("the line is cut off before '{}'", wanted)
                       : fmt::format("'{}' stands where '{}' is expected", got, wanted));
  }
  std::uint64_t number_in(std::string_view word, std::uint64_t most) const {
    std::uint64_t v = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
    if (word.empty()) fail("the line is cut off: a number is missing");
    if (error != std::errc() || end != word.data() + word.size()) fail(fmt::format("'{}' is no number", word));
    if (v > most) fail(fmt::format("{} is out of range; allowed is 0 to {}", v, most));
    return v;
  }
  std::uint64_t number(std::uint64_t most = std::numeric_limits<std::int64_t>::max()) { return number_in(words_.take(), most); }
  std::uint32_t small(std::uint64_t most = most_objects) { return static_cast<std::uint32_t>(number(most)); }
  std::uint32_t named(std::string_view what, std::uint64_t most = most_objects) {
    key(what);
    return small(most);
  }
  // Returns `nothing` for "-".
  std::uint32_t maybe_number() {
    const std::string_view word = words_.take();
    return word == "-" ? nothing : static_cast<std::uint32_t>(number_in(word, most_objects));
  }
  std::uint32_t node() { return named("node", out_.nodes - 1); }
  // Reads "sl 3" and "grh"; false = the word is another one.
  bool reads_way(std::string_view word, trace_way& way) {
    if (word == "sl") {
      way.service_level = static_cast<std::uint8_t>(small(15));
    } else if (word == "grh") {
      way.global = true;
    } else {
      return false;
    }
    return true;
  }
  void line_ends() { ends_before(words_.take()); }
  void ends_before(std::string_view more) const {
    if (!more.empty()) fail(fmt::format("'{}' behind the end of the line", more));
  }
  template <class T>
  T& object(std::vector<T>& list, std::vector<bool>& there) {
    const std::uint32_t n = small();
    if (n >= list.size()) list.resize(n + 1);
    if (n >= there.size()) there.resize(n + 1);
    if (there[n]) fail(fmt::format("object {} stands twice", n));
    there[n] = true;
    return list[n];
  }

  bool object_line(std::string_view word);
  void region_line();
  void key_line();
  void group_line();
  void member_line();
  void qp_line();
  bool event_line(std::string_view word);
  void post(trace_step& s);
  void receive(trace_step& s);
  void done(trace_step& s);
  void post_flags(trace_step& s);
  void pieces(trace_step& s);
  trace_piece piece(std::string_view word);
  trace_place place(std::string_view word);
  void target(trace_step& s, bool names_key);
  void last_line();
  void check_objects();
  void check_step(const trace_thread& t, const trace_step& s) const;
  void check_key(const trace_step& s, std::uint32_t node) const;
  void check_post(const trace_thread& t, const trace_step& s) const;
  void check_place(const trace_step& s, const trace_place& p, std::uint64_t length, std::uint32_t node) const;
  void check_pieces(const trace_step& s, std::uint32_t node) const;
  [[nodiscard]] bool is_empty(const trace_step& s) const;
  void must_have(bool there, const trace_step& s, std::string_view what, std::uint64_t number) const {
    if (!there) fail_at(s.line, fmt::format("there is no {} {}", what, number));
  }
  static bool has(const std::vector<bool>& there, std::uint64_t n) { return n < there.size() && there[n]; }

  std::istream& in_;
  std::string name_;
  std::string text_;
  std::uint32_t line_ = 0;
  token_list words_;
  trace out_;
  std::uint64_t events_ = 0;
  std::map<std::pair<std::uint32_t, bool>, std::uint32_t> completed_;  // by QP, receives or not
  std::vector<bool> has_region_, has_key_, has_queue_, has_shared_, has_group_, has_qp_, has_thread_;
};

}  // namespace hcasim::replay
