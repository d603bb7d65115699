#include "alternatives.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>

namespace hcasim::mutation {
namespace {

std::string_view other_sign(std::string_view sign) {
  static const std::map<std::string_view, std::string_view> others{
      {"&&", "||"}, {"||", "&&"}, {"==", "!="}, {"!=", "=="}, {"<", "<="},    {"<=", "<"},   {">", ">="},
      {">=", ">"},  {"+", "-"},   {"-", "+"},   {"&", "|"},   {"|", "&"},     {"^", "|"},    {"<<", ">>"},
      {">>", "<<"}, {"*", "+"},   {"/", "*"},   {"%", "/"},   {"===", "!=="}, {"!==", "==="}};
  const auto found = others.find(sign);
  return found == others.end() ? std::string_view() : found->second;
}

// The next value of a literal, of one bit the other one; empty = it has none.
std::string other_literal(std::string_view text) {
  if (text == "'0") return "'1";
  if (text == "'1") return "'0";
  std::string clean(text);
  std::erase(clean, '_');
  const std::size_t tick = clean.find('\'');
  std::size_t digits = tick == std::string::npos ? 0 : tick + 1;
  unsigned base = 10;
  std::string mark;
  if (digits != 0) {
    if (std::tolower(clean[digits]) == 's') ++digits;
    base = std::tolower(clean[digits]) == 'h'   ? 16
           : std::tolower(clean[digits]) == 'b' ? 2
           : std::tolower(clean[digits]) == 'o' ? 8
                                                : 10;
    ++digits;
  }
  const std::string value = clean.substr(digits);
  if (value.empty() || value.size() > 15 ||
      !std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isxdigit(c); }))
    return {};
  const std::uint64_t v = std::stoull(value, nullptr, static_cast<int>(base));
  if (tick == std::string::npos) return std::to_string(v + 1);
  if (tick == 0) return "'d" + std::to_string(v + 1);
  const unsigned long bits = std::stoul(clean.substr(0, tick));
  const std::uint64_t next = bits < 64 ? (v + 1) & ((std::uint64_t{1} << bits) - 1) : v + 1;
  return std::to_string(bits) + "'d" + std::to_string(next);
}

}  // namespace

std::vector<wrong> wrongs_of(const node& n, std::string_view source, bool constants, bool of_condition) {
  const auto raw = [&](const node& of) { return std::string(source.substr(of.begin, of.end - of.begin)); };
  std::vector<wrong> all;
  if (of_condition) {
    all.push_back({"condition", "1'b0"});
    all.push_back({"condition", "1'b1"});
  }
  if (n.is == node::form::binary && n.parts.size() == 2) {
    const std::string left = raw(n.parts[0]);
    const std::string right = raw(n.parts[1]);
    const std::string_view other = other_sign(n.sign);
    if (!other.empty()) all.push_back({"operator", left + " " + std::string(other) + " " + right});
    if (n.sign == "&&" || n.sign == "||") {
      const char* const nothing = n.sign == "&&" ? " && 1'b1" : " || 1'b0";
      all.push_back({"operand", "(" + left + ")" + nothing});
      all.push_back({"operand", "(" + right + ")" + nothing});
    }
  } else if (n.is == node::form::unary && n.sign == "!") {
    all.push_back({"negation", "!(" + raw(n) + ")"});
  } else if (n.is == node::form::unary && n.sign == "~") {
    all.push_back({"negation", "(" + raw(n.parts[0]) + ")"});
  } else if (n.is == node::form::literal && constants) {
    const std::string other = other_literal(raw(n));
    if (!other.empty()) all.push_back({"constant", other});
  }
  return all;
}

}  // namespace hcasim::mutation
