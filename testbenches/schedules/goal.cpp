#include "testbenches/schedules/goal.h"

#include <algorithm>
#include <charconv>
#include <istream>
#include <limits>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

namespace hcasim::schedules {
namespace {

class goal_reader {
 public:
  goal_reader(std::istream& in, const std::string& name, const goal_limits& limits) : in_(in), limits_(limits) {
    s_.file = name;
  }

  schedule read() {
    while (next_line()) {
      while (word()) statement();
    }
    if (in_.bad()) fail("the file cannot be read to its end", "check the disk");
    if (in_comment_) fail("a comment /* does not end", "the file is cut off, or write */");
    if (rank_ != none) fail(fmt::format("rank {} does not end", rank_), "the file is cut off, or write }");
    if (s_.ranks.empty()) fail("there is no 'num_ranks'", "begin with for example: num_ranks 2");
    return std::move(s_);
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t longest_line = 4096;

  [[noreturn]] void fail(const std::string& fault, const std::string& mend) const {
    throw schedule_error(fmt::format("{}:{}: {}; {}", s_.file, line_, fault, mend));
  }

  bool next_line() {
    if (!std::getline(in_, text_)) return false;
    ++line_;
    if (text_.size() > longest_line) fail("the line is longer than 4096 bytes", "is it a GOAL schedule?");
    blank_comments();
    rest_ = text_;
    return true;
  }
  void blank_comments() {
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const bool two = i + 1 < text_.size();
      if (in_comment_) {
        if (two && text_[i] == '*' && text_[i + 1] == '/') {
          in_comment_ = false;
          text_[i + 1] = ' ';
        }
        text_[i] = ' ';
      } else if (two && text_[i] == '/' && text_[i + 1] == '*') {
        in_comment_ = true;
        text_[i] = text_[i + 1] = ' ';
        ++i;
      } else if (two && text_[i] == '/' && text_[i + 1] == '/') {
        text_.resize(i);
      }
    }
  }
  // Takes the next word off a line; "" at its end. A brace is a word, and a colon ends one.
  static std::string_view take(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty()) return {};
    std::size_t length = 1;
    if (line[0] != '{' && line[0] != '}') {
      length = std::min(line.find_first_of(" \t\r{}:"), line.size());
      if (length < line.size() && line[length] == ':') ++length;
    }
    const std::string_view w = line.substr(0, length);
    line.remove_prefix(length);
    return w;
  }
  bool word() {
    word_ = take(rest_);
    return !word_.empty();
  }
  [[nodiscard]] std::string_view next_word() const {
    std::string_view ahead = rest_;
    return take(ahead);
  }

  void expect(std::string_view what) {
    if (!word() || word_ != what) fail(fmt::format("'{}' is expected here, not '{}'", what, word_), "see docs/schedules.md");
  }
  std::uint64_t number(std::string_view what, std::uint64_t most) {
    if (!word()) fail(fmt::format("{} is missing", what), "write a number");
    return value_of(word_, what, most);
  }
  std::uint64_t value_of(std::string_view digits, std::string_view what, std::uint64_t most) const {
    std::uint64_t v = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
    if (error != std::errc() || end != digits.data() + digits.size())
      fail(fmt::format("{}: '{}' is not a whole number", what, word_), "write one, such as 8");
    if (v > most) fail(fmt::format("{} is {}", what, v), fmt::format("at most {} is allowed", most));
    return v;
  }

  void statement() {
    if (word_ == "num_ranks") return begin_ranks();
    if (s_.ranks.empty())
      fail(fmt::format("'num_ranks' is expected here, not '{}'", word_), "begin with for example: num_ranks 2");
    if (word_ == "rank") return begin_rank();
    if (rank_ == none) fail(fmt::format("'rank' is expected here, not '{}'", word_), "an operation stands in: rank 0 { ... }");
    if (word_ == "}") return end_rank();
    if (word_.back() == ':') {
      const std::string label(word_.substr(0, word_.size() - 1));
      if (!word()) fail("an operation is missing behind the label", "write send, recv or calc");
      return operation_of(label);
    }
    const std::string_view second = next_word();
    if (second == "requires" || second == "irequires") return requires_of(std::string(word_));
    operation_of({});
  }
  void begin_ranks() {
    if (!s_.ranks.empty()) fail("'num_ranks' stands twice", "remove one");
    const std::uint64_t n = number("num_ranks", limits_.ranks);
    if (n == 0) fail("num_ranks is 0", "at least 1 is needed");
    s_.ranks.resize(n);
    seen_.resize(n);
  }
  void begin_rank() {
    if (rank_ != none) fail(fmt::format("rank {} does not end before", rank_), "write } ahead of this line");
    rank_ = static_cast<std::uint32_t>(number("rank", s_.ranks.size() - 1));
    if (seen_[rank_]) fail(fmt::format("rank {} stands twice", rank_), "put its operations together");
    seen_[rank_] = true;
    expect("{");
  }
  void end_rank() {
    for (const pending& p : pending_) {
      const auto after = labels_.find(p.after);
      const auto before = labels_.find(p.before);
      const bool has_after = after != labels_.end();
      if (!has_after || before == labels_.end()) {
        line_ = p.line;
        fail(fmt::format("rank {} has no label '{}'", rank_, has_after ? p.before : p.after), "check the name");
      }
      here().dependencies.push_back({after->second, before->second, p.begun});
    }
    pending_.clear();
    labels_.clear();
    rank_ = none;
  }
  void operation_of(const std::string& label) {
    operation o;
    o.line = static_cast<std::uint32_t>(line_);
    if (word_ == "calc") {
      o.what = action::calculate;
      o.time = ps(static_cast<std::int64_t>(number("calc", longest_ns) * 1000));
    } else if (word_ == "send" || word_ == "recv") {
      o.what = word_ == "send" ? action::send : action::receive;
      message(o);
    } else {
      fail(fmt::format("'{}' is no operation", word_), "write send, recv or calc, or 'l2 requires l1'");
    }
    options(o);
    if (++operations_ > limits_.operations)
      fail(fmt::format("there are more than {} operations", limits_.operations), "cut the schedule into parts");
    const std::uint32_t index = here().add(o);
    if (!label.empty() && !labels_.emplace(label, index).second)
      fail(fmt::format("the label '{}' stands twice in rank {}", label, rank_), "rename one");
  }
  void message(operation& o) {
    if (!word() || word_.back() != 'b')
      fail(fmt::format("a size is expected here, not '{}'", word_), "write for example 4096b");
    o.bytes = value_of(word_.substr(0, word_.size() - 1), "the size", largest_message);
    expect(o.what == action::send ? "to" : "from");
    o.peer = static_cast<std::uint32_t>(number("the other rank", s_.ranks.size() - 1));
    if (o.peer == rank_) fail(fmt::format("rank {} sends to itself", rank_), "no adapter is needed for it: remove the pair");
  }
  void options(operation& o) {
    for (std::string_view w = next_word(); w == "tag" || w == "cpu" || w == "nic"; w = next_word()) {
      word();
      if (w == "tag") o.tag = static_cast<std::uint32_t>(number("tag", none - 1));
      if (w == "cpu") o.cpu = static_cast<std::uint16_t>(number("cpu", limits_.cpus - 1U));
      if (w == "nic" && number("nic", none - 1) != 0)
        fail(fmt::format("nic is {}", word_), "a host has one adapter: write nic 0");
    }
  }
  void requires_of(const std::string& after) {
    word();
    const bool begun = word_ == "irequires";
    if (!word()) fail("a label is missing behind 'requires'", "write for example: l2 requires l1");
    pending_.push_back({after, std::string(word_), begun, line_});
  }
  rank_schedule& here() { return s_.ranks[rank_]; }

  struct pending {
    std::string after;
    std::string before;
    bool begun;
    std::uint64_t line;
  };
  static constexpr std::uint64_t longest_ns = 1'000'000'000'000;  // 1 000 s
  static constexpr std::uint64_t largest_message = 1U << 30;

  std::istream& in_;
  goal_limits limits_;
  schedule s_;
  std::string text_;
  std::string_view rest_;
  std::string_view word_;
  std::uint64_t line_ = 0;
  bool in_comment_ = false;
  std::uint32_t rank_ = none;
  std::vector<bool> seen_;
  std::uint64_t operations_ = 0;
  std::unordered_map<std::string, std::uint32_t> labels_;
  std::vector<pending> pending_;
};

}  // namespace

schedule read_goal(std::istream& in, const std::string& name, const goal_limits& limits) {
  return goal_reader(in, name, limits).read();
}

}  // namespace hcasim::schedules
