#include "text.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

namespace hcasim::wrap {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_of_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string text_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view p : parts) text += p;
  return text;
}

std::string join(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& p : parts) text += (text.empty() ? "" : std::string(between)) + p;
  return text;
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_of_names(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(),
                     [more](char c) { return is_of_name(c) || more.find(c) != std::string_view::npos; });
}

bool has(const std::vector<std::string>& list, std::string_view one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

bool mentions(std::string_view code, std::string_view pin) {
  for (std::size_t at = code.find(pin); at != std::string_view::npos; at = code.find(pin, at + 1)) {
    const std::size_t end = at + pin.size();
    const bool member = at > 0 && (code[at - 1] == '>' || code[at - 1] == '.');
    if (member && end < code.size() && !is_of_name(code[end])) return true;
  }
  return false;
}

std::string read_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw refusal("cannot read " + file);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

void write_changed(const std::string& file, const std::string& text) {
  std::ifstream before(file, std::ios::binary);
  if (before) {
    std::ostringstream old;
    old << before.rdbuf();
    if (old.view() == text) return;
  }
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw refusal("cannot write " + file);
}

}  // namespace hcasim::wrap
