// An expression of SystemVerilog as a tree, as far as faults need it: operators with their operands, literals, and what
// they stand in. What must stay constant (replication counts, ranges, casts) has no nodes.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "lexer.h"

namespace hcasim::mutation {

struct node {
  enum class form { group, literal, unary, binary, ternary };
  form is = form::group;
  std::size_t begin = 0;  // of the source
  std::size_t end = 0;
  unsigned line = 0;
  std::string_view sign;  // unary, binary
  std::vector<node> parts;
};

class expression_parser {
 public:
  expression_parser(const std::vector<token>& tokens, std::size_t at) : tokens_(tokens), at_(at) {}

  node parse();
  // The token behind what was parsed.
  [[nodiscard]] std::size_t at() const { return std::min(at_, tokens_.size() - 1); }

 private:
  node binary(int least);
  node unary();
  node primary();
  void suffixes(node& of);
  node index();
  node list(std::string_view close);
  node braces();
  void skip_pair();

  [[nodiscard]] const token& now() const { return tokens_[std::min(at_, tokens_.size() - 1)]; }
  [[nodiscard]] bool is(std::string_view text) const { return now().text == text && now().kind != token_kind::end; }
  [[nodiscard]] node open() const { return {node::form::group, now().begin, now().end, now().line, {}, {}}; }
  [[nodiscard]] std::string_view ahead(std::size_t n) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)].text; }
  void close(node& n) const { n.end = std::max(n.begin, tokens_[std::min(at_, tokens_.size()) - 1].end); }

  const std::vector<token>& tokens_;
  std::size_t at_;
};

// Returns the index behind the token that closes the bracket at `at`.
std::size_t behind_pair(const std::vector<token>& tokens, std::size_t at);

}  // namespace hcasim::mutation
