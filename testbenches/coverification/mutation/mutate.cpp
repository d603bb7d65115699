#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>

#include "alternatives.h"
#include "mutant.h"

namespace hcasim::mutation {
namespace {

class mutator {
 public:
  mutator(const std::string& file, std::string_view source, unsigned first, const std::function<bool(unsigned)>& wanted)
      : file_(file), s_(source), wanted_(wanted), tokens_(tokens_of(source)), next_(first) {}

  mutated run() {
    while (now().kind != token_kind::end) item();
    copy_to(s_.size());
    return {std::move(out_), std::move(mutants_), next_};
  }

 private:
  // ---- tokens
  [[nodiscard]] const token& now() const { return ahead(0); }
  [[nodiscard]] const token& ahead(std::size_t n = 1) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
  [[nodiscard]] bool is(std::string_view text) const { return now().text == text && now().kind != token_kind::end; }
  void skip_pair() { at_ = behind_pair(tokens_, at_); }
  void skip_to(std::string_view text) {
    while (!is(text) && now().kind != token_kind::end) {
      if (is("(") || is("[") || is("{") || is("'{")) {
        skip_pair();
      } else {
        ++at_;
      }
    }
  }
  void skip_statement() {
    skip_to(";");
    ++at_;
  }
  // Skips to behind the word that closes a block which `open` began.
  void skip_block(std::string_view open, std::string_view close) {
    int depth = 0;
    do {
      depth += is(open) ? 1 : is(close) ? -1 : 0;
      ++at_;
    } while (depth > 0 && now().kind != token_kind::end);
  }

  // ---- text
  void copy_to(std::size_t end) {
    if (end < copied_) return;
    out_ += s_.substr(copied_, end - copied_);
    copied_ = end;
  }
  void replace(const node& n, bool constants, bool of_condition) {
    copy_to(n.begin);
    out_ += text_of(n, constants, of_condition);
    copied_ = n.end;
  }
  [[nodiscard]] std::string raw(std::size_t begin, std::size_t end) const { return std::string(s_.substr(begin, end - begin)); }
  [[nodiscard]] std::string raw(const node& n) const { return raw(n.begin, n.end); }
  static std::string one_line(const std::string& text) {
    std::string line;
    for (const char c : text) {
      const bool space = std::isspace(static_cast<unsigned char>(c));
      if (!space)
        line += c;
      else if (!line.empty() && line.back() != ' ')
        line += ' ';
    }
    return line;
  }
  // Its number; 0 = it is not wanted.
  unsigned add(std::size_t at, unsigned line, const char* kind, const std::string& right, const std::string& wrong_text) {
    const unsigned number = next_++;
    if (!wanted_(number)) return 0;
    const std::size_t begin = s_.rfind('\n', at) + 1;
    const std::string text = one_line(raw(begin, std::min(s_.find('\n', at), s_.size())));
    mutants_.push_back({number, file_, line, kind, one_line(right), one_line(wrong_text), text});
    return number;
  }

  // ---- expressions
  std::string text_of(const node& n, bool constants, bool of_condition) {
    const std::vector<wrong> wrongs = wrongs_of(n, s_, constants, of_condition);
    std::string choice;
    for (const wrong& w : wrongs) {
      const unsigned number = add(n.begin, n.line, w.kind, raw(n), w.text);
      if (number != 0) choice += "hca_mutant::number == " + std::to_string(number) + " ? (" + w.text + ") : ";
    }
    std::string text;
    std::size_t at = n.begin;
    for (std::size_t i = 0; i < n.parts.size(); ++i) {
      const node& part = n.parts[i];
      if (part.begin < at || part.end < part.begin) continue;  // of a text that ends early
      text += s_.substr(at, part.begin - at);
      text += text_of(part, constants, n.is == node::form::ternary && i == 0);
      at = part.end;
    }
    text += s_.substr(at, n.end - at);
    return choice.empty() ? text : "(" + choice + "(" + text + "))";
  }

  node expression() {
    expression_parser p(tokens_, at_);
    node n = p.parse();
    at_ = p.at();
    return n;
  }

  // ---- what stands in a module
  void item() {
    const std::string_view word = now().text;
    if (word == "assign") {
      ++at_;
      do {
        skip_to("=");
        ++at_;
        replace(expression(), true, false);
      } while (is(",") && ++at_);
      skip_statement();
    } else if (word == "always_comb" || word == "always_latch" || word == "always_ff" || word == "always") {
      ++at_;
      combinational_ =
          word == "always_comb" || word == "always_latch" || (is("@") && (ahead().text == "*" || (ahead(2).text == "*")));
      if (is("@")) {
        ++at_;
        if (is("("))
          skip_pair();
        else
          ++at_;
      }
      defaults_.clear();
      statement(0, false);
    } else if (word == "function") {
      skip_statement();
      combinational_ = true;
      defaults_.clear();
      while (!is("endfunction") && now().kind != token_kind::end) statement(0, false);
    } else if (word == "initial" || word == "final") {
      ++at_;
      if (is("begin"))
        skip_block("begin", "end");
      else
        skip_statement();
    } else if (word == "property" || word == "sequence" || word == "task" || word == "class" || word == "covergroup" ||
               word == "clocking") {
      skip_block(word, word == "covergroup" ? "endgroup" : std::string("end") + std::string(word));
    } else if (word == "if" || word == "for" || word == "case") {  // of a generate
      ++at_;
      skip_pair();
    } else if (now().kind == token_kind::word && ahead().kind == token_kind::word && !keyword(word)) {
      ++at_;  // perhaps an instance: type name ( ... )
      instance();
    } else if (now().kind == token_kind::word && ahead().text == "#" && ahead(2).text == "(" && !keyword(word)) {
      at_ += 2;
      skip_pair();
      instance();
    } else if (now().kind == token_kind::word && ahead().text == ":") {
      at_ += 2;
    } else if (now().kind == token_kind::word && !block_word(word)) {
      skip_statement();
    } else {
      ++at_;
      if (is(":") && (word == "begin" || word == "end")) at_ += 2;
    }
  }

  static bool keyword(std::string_view w) {
    static const std::set<std::string_view> words{
        "input",    "output",   "inout",         "wire",      "reg",        "logic",     "bit",     "byte",   "int",
        "integer",  "shortint", "longint",       "genvar",    "localparam", "parameter", "typedef", "import", "export",
        "package",  "var",      "tri",           "supply0",   "supply1",    "assert",    "assume",  "cover",  "restrict",
        "defparam", "timeunit", "timeprecision", "bind",      "default",    "real",      "time",    "string", "enum",
        "struct",   "union",    "signed",        "unsigned",  "automatic",  "static",    "const",   "return", "unique",
        "unique0",  "priority", "module",        "interface", "program"};
    return words.contains(w) || block_word(w);
  }
  static bool block_word(std::string_view w) {
    static const std::set<std::string_view> words{"generate", "endgenerate",  "begin",       "end",
                                                  "else",     "endmodule",    "endfunction", "endpackage",
                                                  "endcase",  "endinterface", "endprogram"};
    return words.contains(w);
  }

  // At the name of an instance.
  void instance() {
    ++at_;
    while (is("[")) skip_pair();
    if (!is("(")) return skip_statement();
    ++at_;
    while (!is(")") && !is(";") && now().kind != token_kind::end) {
      if (is(".") && ahead(2).text == "(" && ahead(3).text != ")") {
        at_ += 3;
        // An expression that is joined to an output has no operators, but may have an index that has.
        node n = expression();
        if (n.is != node::form::group || n.parts.empty() || s_[n.begin] == '(') replace(n, true, false);
        skip_to(")");
        ++at_;
      } else if (is("(")) {
        skip_pair();
      } else {
        ++at_;
      }
    }
    skip_statement();
  }

  // ---- statements
  void statement(int depth, bool in_reset) {
    const std::string_view word = now().text;
    if (word == "begin") {
      block(depth, in_reset);
    } else if (word == "if") {
      choice(depth, in_reset);
    } else if (word == "unique" || word == "unique0" || word == "priority") {
      ++at_;
      statement(depth, in_reset);
    } else if (word == "case" || word == "casez" || word == "casex") {
      cases(depth, in_reset);
    } else if (word == "for" || word == "while" || word == "repeat" || word == "foreach") {
      ++at_;
      skip_pair();
      statement(depth + 1, in_reset);
    } else if (word == "forever") {
      ++at_;
      statement(depth + 1, in_reset);
    } else if (word == "return") {
      ++at_;
      if (!is(";")) replace(expression(), true, false);
      skip_statement();
    } else if (word == ";") {
      ++at_;
    } else {
      assignment(depth, in_reset);
    }
  }

  void block(int depth, bool in_reset) {
    ++at_;
    if (is(":")) at_ += 2;
    while (!is("end") && now().kind != token_kind::end) statement(depth, in_reset);
    ++at_;
    if (is(":")) at_ += 2;
  }

  void choice(int depth, bool in_reset) {
    ++at_;
    if (!is("(")) return;
    ++at_;
    const std::size_t from = at_;
    node condition = expression();
    const bool resets = !combinational_ && depth == 0 && names_a_reset(from, at_);
    replace(condition, true, true);
    skip_to(")");
    ++at_;
    statement(depth + 1, in_reset || resets);
    if (!is("else")) return;
    ++at_;
    statement(depth + (is("if") ? 0 : 1), in_reset);
  }
  // `if (!rst_n)`, `if (reset)`: of a register, outermost.
  [[nodiscard]] bool names_a_reset(std::size_t from, std::size_t to) const {
    return std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(from), tokens_.begin() + static_cast<std::ptrdiff_t>(to),
                       [](const token& t) {
                         std::string name(t.text);
                         std::transform(name.begin(), name.end(), name.begin(),
                                        [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
                         return name.find("rst") != std::string::npos || name.find("reset") != std::string::npos;
                       });
  }

  void cases(int depth, bool in_reset) {
    ++at_;
    if (is("(")) skip_pair();
    if (is("inside")) ++at_;
    while (!is("endcase") && now().kind != token_kind::end) {
      if (is("default")) {
        ++at_;
        if (is(":")) ++at_;
      } else {
        skip_to(":");
        ++at_;
      }
      statement(depth + 1, in_reset);
    }
    ++at_;
  }

  // left = right, left <= right, left += right; a declaration or a call has no faults of its own.
  void assignment(int depth, bool in_reset) {
    const std::size_t first = at_;
    std::size_t sign = at_;
    if (at_ >= tokens_.size()) return;
    for (; tokens_[sign].text != ";" && tokens_[sign].kind != token_kind::end;) {
      const std::string_view t = tokens_[sign].text;
      if (t == "=" || t == "<=" || (t.size() >= 2 && t.back() == '=' && t != "==" && t != "!=" && t != ">=")) break;
      sign = t == "(" || t == "[" || t == "{" ? behind_pair(tokens_, sign) : sign + 1;
    }
    const bool declares = keyword(now().text) ||
                          (now().kind == token_kind::word &&
                           (ahead().kind == token_kind::word || (ahead().text == "::" && ahead(3).kind == token_kind::word)));
    if (declares || tokens_[sign].text == ";" || tokens_[sign].kind == token_kind::end) return skip_statement();
    const std::string base(now().text == "{" ? std::string_view() : now().text);
    const bool drop = !combinational_ || (depth > 0 && defaults_.contains(base)) || tokens_[sign].text != "=";
    if (combinational_ && depth == 0) defaults_.insert(base);
    if (tokens_[sign].text == "<=" && combinational_) return skip_statement();

    std::size_t end = sign;
    while (end + 1 < tokens_.size() && tokens_[end].text != ";" && tokens_[end].kind != token_kind::end) ++end;
    unsigned dropped = 0;
    if (drop) {
      const std::string whole = raw(tokens_[first].begin, tokens_[end].end);
      dropped = add(tokens_[first].begin, tokens_[first].line, in_reset ? "reset" : "assignment", whole, "nothing");
    }
    if (dropped != 0) {
      copy_to(tokens_[first].begin);
      out_ += "begin if (hca_mutant::number != " + std::to_string(dropped) + ") ";
    }
    at_ = sign + 1;
    replace(expression(), true, false);
    skip_statement();
    if (dropped != 0) {
      copy_to(tokens_[std::min(at_, tokens_.size()) - 1].end);
      out_ += " end";
    }
  }

  std::string file_;
  std::string_view s_;
  const std::function<bool(unsigned)>& wanted_;
  std::vector<token> tokens_;
  std::size_t at_ = 0;
  std::size_t copied_ = 0;
  unsigned next_;
  bool combinational_ = false;
  std::set<std::string> defaults_;  // what a combinational block has assigned at its beginning
  std::string out_;
  std::vector<mutant> mutants_;
};

}  // namespace

mutated mutate(const std::string& file, std::string_view source, unsigned first, const std::function<bool(unsigned)>& wanted) {
  return mutator(file, source, first, wanted).run();
}

}  // namespace hcasim::mutation
