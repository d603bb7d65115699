#include "testbenches/program/validation/preset_marks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include <fmt/format.h>

#include "testbenches/program/description/describe.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/validation/published.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

std::set<std::string> names_of(const std::string& list) {
  static const std::regex name("[A-Z]+[0-9]+");
  std::set<std::string> out;
  for (std::sregex_iterator i(list.begin(), list.end(), name), end; i != end; ++i) out.insert(i->str());
  return out;
}

std::string trimmed(const std::string& s) {
  const std::size_t begin = s.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : s.substr(begin, s.find_last_not_of(" \t") + 1 - begin);
}

// Adds the constants of one line: "key: value", or "key: {a: 1, b: 2}", which is two.
void add_constants(const std::string& code, const std::set<std::string>& experiments, preset_marks& to) {
  const std::size_t open = code.find('{');
  if (open == std::string::npos) {
    if (!code.empty()) to.fitted.push_back({code, experiments});
    return;
  }
  const std::string key = trimmed(code.substr(0, code.find(':')));
  static const std::regex entry("([a-z_]+: *[^,}]+)");
  const std::string inside = code.substr(open + 1);
  for (std::sregex_iterator i(inside.begin(), inside.end(), entry), end; i != end; ++i)
    to.fitted.push_back({fmt::format("{}.{}", key, trimmed((*i)[1])), experiments});
}

void read_file(const search_path& search, const std::string& name, const fs::path& base, int depth, preset_marks& to) {
  const auto file = search.find(name, base);
  if (!file) throw input_error(fmt::format("there is no preset '{}'; {}", name, search.nearest(name)));
  to.crc += (to.crc.empty() ? "" : "+") + crc_of(*file);
  std::ifstream in(*file);
  for (std::string line; std::getline(in, line);) {
    static const std::regex included("^include: *([^ #]+)");
    static const std::regex fitted("fitted to ((?:[A-Z]+[0-9]+(?:, | and )?)+)");
    static const std::regex validated("^# validated: *(.*)$");
    std::smatch m;
    if (std::regex_search(line, m, included) && depth < 8) {
      read_file(search, m[1], file->parent_path(), depth + 1, to);
    } else if (std::regex_search(line, m, validated)) {
      to.validated.merge(names_of(m[1]));
    } else if (std::regex_search(line, m, fitted)) {
      add_constants(trimmed(line.substr(0, line.find('#'))), names_of(m[1]), to);
    }
  }
}

}  // namespace

std::vector<std::string> preset_marks::fitted_to(const std::string& experiment) const {
  std::vector<std::string> out;
  for (const constant& c : fitted) {
    if (c.experiments.contains(experiment)) out.push_back(c.text);
  }
  return out;
}

preset_marks read_marks(const std::string& preset) {
  preset_marks marks;
  marks.name = preset;
  read_file(search_path::standard(), preset, fs::current_path(), 0, marks);
  return marks;
}

}  // namespace hcasim
