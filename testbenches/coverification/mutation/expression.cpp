#include "expression.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace hcasim::mutation {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 33> strengths{{
    {"->", 1}, {"<->", 1},    {"||", 2},  {"&&", 3},  {"|", 4},   {"^", 5},   {"~^", 5}, {"^~", 5}, {"&", 6},
    {"==", 7}, {"!=", 7},     {"===", 7}, {"!==", 7}, {"==?", 7}, {"!=?", 7}, {"<", 8},  {"<=", 8}, {">", 8},
    {">=", 8}, {"inside", 8}, {"<<", 9},  {">>", 9},  {"<<<", 9}, {">>>", 9}, {"+", 10}, {"-", 10}, {"*", 11},
    {"/", 11}, {"%", 11},     {"**", 12}, {"~|", 0},  {"~&", 0},  {"!", 0},
}};

int strength_of(std::string_view sign) {
  for (const auto& [text, s] : strengths) {
    if (text == sign) return s;
  }
  return 0;
}

bool prefix(std::string_view sign) {
  constexpr std::string_view all[] = {"!", "~", "&", "|", "^", "+", "-", "~&", "~|", "~^", "^~", "++", "--"};
  return std::ranges::find(all, sign) != std::end(all);
}

}  // namespace

std::size_t behind_pair(const std::vector<token>& tokens, std::size_t at) {
  int depth = 0;
  for (; at < tokens.size() && tokens[at].kind != token_kind::end; ++at) {
    const std::string_view t = tokens[at].text;
    if (tokens[at].kind != token_kind::sign) continue;
    if (t == "(" || t == "[" || t == "{" || t == "'{") ++depth;
    if ((t == ")" || t == "]" || t == "}") && --depth == 0) return at + 1;
  }
  return tokens.size() - 1;
}

node expression_parser::parse() {
  node n = binary(1);
  if (!is("?")) return n;
  node choice = open();
  choice.is = node::form::ternary;
  choice.begin = n.begin;
  choice.line = n.line;
  choice.parts.push_back(std::move(n));
  ++at_;
  choice.parts.push_back(parse());
  if (is(":")) {
    ++at_;
    choice.parts.push_back(parse());
  }
  close(choice);
  return choice;
}

node expression_parser::binary(int least) {
  node left = unary();
  for (int s = 0; (s = strength_of(now().text)) >= least && now().kind != token_kind::end;) {
    node both = open();
    both.is = node::form::binary;
    both.sign = now().text;
    both.begin = left.begin;
    ++at_;
    both.parts.push_back(std::move(left));
    both.parts.push_back(both.sign == "inside" ? (skip_pair(), open()) : binary(s + 1));
    if (both.sign == "inside") both.parts.pop_back();
    close(both);
    left = std::move(both);
  }
  return left;
}

node expression_parser::unary() {
  if (now().kind != token_kind::sign || !prefix(now().text)) return primary();
  node n = open();
  n.is = node::form::unary;
  n.sign = now().text;
  ++at_;
  n.parts.push_back(unary());
  close(n);
  return n;
}

node expression_parser::primary() {
  node n = open();
  if (is("(")) {
    ++at_;
    n.parts.push_back(parse());
    if (is(")")) ++at_;
  } else if (is("{")) {
    n = braces();
  } else if (is("'{")) {
    skip_pair();
  } else if (now().kind == token_kind::number) {
    n.is = node::form::literal;
    ++at_;
  } else if (now().kind == token_kind::word || now().kind == token_kind::text) {
    const bool of_system = now().text.starts_with("$") && now().text != "$signed" && now().text != "$unsigned";
    ++at_;
    if (is("(") && of_system) {
      skip_pair();
    } else if (is("(")) {
      n.parts.push_back(list(")"));
    }
  } else {
    close(n);  // nothing that this knows; the caller goes on
    return n;
  }
  close(n);
  suffixes(n);
  return n;
}

// [i], .member, ::name, '(cast).
void expression_parser::suffixes(node& of) {
  for (;;) {
    if (is("[")) {
      node i = index();
      if (!i.parts.empty()) of.parts.push_back(std::move(i));
    } else if (is(".") || is("::")) {
      at_ += 2;
      if (is("(")) of.parts.push_back(list(")"));
    } else if (is("'") && ahead(1) == "(") {
      of.is = node::form::group;
      of.parts.clear();  // a type or a width
      ++at_;
      node inner = open();
      ++at_;
      inner.parts.push_back(parse());
      if (is(")")) ++at_;
      close(inner);
      of.parts.push_back(std::move(inner));
    } else {
      break;
    }
    close(of);
  }
}

// A single index may be wrong, a range may not; nor may an index that is a number.
node expression_parser::index() {
  const std::size_t from = at_;
  node n = open();
  ++at_;
  node i = parse();
  if (is("]") && i.is != node::form::literal) {
    ++at_;
    n.parts.push_back(std::move(i));
    close(n);
    return n;
  }
  at_ = behind_pair(tokens_, from);
  return open();
}

node expression_parser::list(std::string_view closing) {
  node n = open();
  ++at_;
  while (!is(closing) && now().kind != token_kind::end) {
    if (is(".") && ahead(2) == "(") at_ += 3;  // .port(
    const std::size_t before = at_;
    n.parts.push_back(parse());
    while (is(",") || (is(")") && closing != ")")) ++at_;
    if (at_ == before) ++at_;
  }
  ++at_;
  close(n);
  return n;
}

// {a, b} and {N{a}}.
node expression_parser::braces() {
  node n = open();
  const std::size_t from = at_;
  ++at_;
  node first = parse();
  if (is("{")) {
    node inner = list("}");
    n.parts.push_back(std::move(inner));
    if (is("}")) ++at_;
    close(n);
    return n;
  }
  at_ = from;
  return list("}");
}

void expression_parser::skip_pair() {
  at_ = behind_pair(tokens_, at_);
}

}  // namespace hcasim::mutation
