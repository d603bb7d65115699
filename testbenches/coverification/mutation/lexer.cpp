#include "lexer.h"

#include <cctype>

namespace hcasim::mutation {
namespace {

bool begins_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '`' || c == '\\';
}
bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}
bool digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c));
}

constexpr std::string_view signs[] = {
    "<<<=", ">>>=", "===", "!==", "==?", "!=?", "<<<", ">>>", "<<=", ">>=", "|->", "|=>", "<->", "&&",
    "||",   "==",   "!=",  "<=",  ">=",  "<<",  ">>",  "+=",  "-=",  "*=",  "/=",  "%=",  "&=",  "|=",
    "^=",   "++",   "--",  "+:",  "-:",  "::",  "->",  "~&",  "~|",  "~^",  "^~",  "**",  "'{",  ".*"};

class lexer {
 public:
  explicit lexer(std::string_view source) : s_(source) {}

  std::vector<token> run() {
    while (skip_space(), at_ < s_.size()) {
      const std::size_t begin = at_;
      const token_kind kind = step();
      if (hidden_ > 0 || at_ == begin) continue;
      tokens_.push_back({kind, begin, at_, line_, s_.substr(begin, at_ - begin)});
      if (directive_) {
        tokens_.pop_back();
        directive_ = false;
      }
    }
    tokens_.push_back({token_kind::end, s_.size(), s_.size(), line_, {}});
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const { return at_ + ahead < s_.size() ? s_[at_ + ahead] : '\0'; }
  void to_line_end() {
    while (at_ < s_.size() && s_[at_] != '\n') at_ += s_[at_] == '\\' && peek(1) == '\n' ? (++line_, 2) : 1;
  }

  void skip_space() {
    for (; at_ < s_.size(); ++at_) {
      if (s_[at_] == '\n') {
        ++line_;
      } else if (s_[at_] == '/' && peek(1) == '/') {
        to_line_end();
        --at_;
      } else if (s_[at_] == '/' && peek(1) == '*') {
        const std::size_t close = std::min(s_.find("*/", at_ + 2), s_.size());
        for (; at_ < close; ++at_) line_ += s_[at_] == '\n';
        ++at_;
      } else if (!std::isspace(static_cast<unsigned char>(s_[at_]))) {
        return;
      }
    }
  }

  token_kind step() {
    const char c = peek();
    if (begins_word(c)) {
      ++at_;
      while (c == '\\' ? at_ < s_.size() && !std::isspace(static_cast<unsigned char>(peek())) : in_word(peek())) ++at_;
      if (c == '`') directive();
      return token_kind::word;
    }
    if (c == '"') {
      for (++at_; at_ < s_.size() && s_[at_] != '"'; ++at_) at_ += s_[at_] == '\\';
      at_ = std::min(at_ + 1, s_.size());
      return token_kind::text;
    }
    if (digit(c) || (c == '\'' && literal_follows())) {
      number();
      return token_kind::number;
    }
    for (const std::string_view sign : signs) {
      if (s_.substr(at_, sign.size()) != sign) continue;
      at_ += sign.size();
      return token_kind::sign;
    }
    ++at_;
    return token_kind::sign;
  }

  [[nodiscard]] bool literal_follows() const {
    const auto next = static_cast<char>(std::tolower(static_cast<unsigned char>(peek(1))));
    return std::string_view("01xzbodhs").find(next) != std::string_view::npos && peek(1) != '\0';
  }
  // 12, 8'hff, 'b1, '0, 4 'd3 is not met.
  void number() {
    while (digit(peek()) || peek() == '_' || (peek() == '.' && digit(peek(1)))) ++at_;
    if (peek() != '\'' || !literal_follows()) return;
    ++at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_' || peek() == '?') ++at_;
  }

  // Its name has been read.
  void directive() {
    const std::size_t begin = s_.rfind('`', at_ - 1);
    const std::string_view name = s_.substr(begin + 1, at_ - begin - 1);
    directive_ = true;
    if (name == "ifdef" || name == "ifndef") {
      ++hidden_;
    } else if (name == "endif") {
      if (hidden_ > 0) --hidden_;
      if (hidden_ > 0) directive_ = false;
    } else if (name == "define" || name == "include" || name == "timescale" || name == "default_nettype" || name == "undef") {
      to_line_end();
    } else if (name != "else" && name != "elsif" && name != "resetall" && name != "celldefine" && name != "endcelldefine") {
      directive_ = false;  // the use of a macro
    }
    if (hidden_ > 0) directive_ = false;
  }

  std::string_view s_;
  std::size_t at_ = 0;
  unsigned line_ = 1;
  unsigned hidden_ = 0;
  bool directive_ = false;
  std::vector<token> tokens_;
};

}  // namespace

std::vector<token> tokens_of(std::string_view source) {
  return lexer(source).run();
}

}  // namespace hcasim::mutation
