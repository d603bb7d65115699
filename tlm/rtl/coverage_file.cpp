#include "tlm/rtl/coverage_file.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace hcasim::rtl {
namespace {

constexpr const char* first_line = "# SystemC::Coverage-3";

// A point is a list of fields: \001 name \002 value.
std::map<std::string, std::string> fields_of(const std::string& key) {
  std::map<std::string, std::string> fields;
  for (std::size_t at = key.find('\001'); at != std::string::npos;) {
    const std::size_t next = key.find('\001', at + 1);
    const std::string field = key.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    const std::size_t split = field.find('\002');
    if (split != std::string::npos) fields[field.substr(0, split)] = field.substr(split + 1);
    at = next;
  }
  return fields;
}

bool matches(const char* pattern, const char* text) {
  if (*pattern == 0) return *text == 0;
  if (*pattern == '*') return matches(pattern + 1, text) || (*text != 0 && matches(pattern, text + 1));
  return *pattern == *text && matches(pattern + 1, text + 1);
}

std::string name_of(std::string kind, const std::string& module, const std::string& point) {
  return kind.append(" ").append(module).append(" ").append(point);
}

// "s[7:5]" means s[7], s[6] and s[5].
std::vector<std::string> bits_of(const std::string& signal) {
  const std::size_t open = signal.rfind('[');
  unsigned high = 0, low = 0;
  if (open == std::string::npos || std::sscanf(signal.c_str() + open, "[%u:%u]", &high, &low) != 2) return {signal};
  std::vector<std::string> bits;
  for (unsigned bit = high + 1; bit-- > low;) bits.push_back(signal.substr(0, open) + "[" + std::to_string(bit) + "]");
  return bits;
}

}  // namespace

void coverage_file::add(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line.find("SystemC::Coverage") == std::string::npos)
    throw std::runtime_error(file + ": not a coverage file of Verilator");
  while (std::getline(in, line)) {
    const std::size_t end = line.rfind("' ");
    if (!line.starts_with("C '") || end == std::string::npos) continue;
    const std::string key = line.substr(3, end - 3);
    const std::uint64_t count = std::stoull(line.substr(end + 2));
    sums_[key] += count;
    const auto fields = fields_of(key);
    const auto field = [&](const char* name) {
      const auto found = fields.find(name);
      return found == fields.end() ? std::string() : found->second;
    };
    const std::string page = field("page");  // v_line/module, v_toggle/module, v_bin/group
    const std::size_t slash = page.find('/');
    if (!page.starts_with("v_") || slash == std::string::npos) continue;
    const std::string said = page.substr(2, slash - 2);
    const std::string kind = said == "toggle" || said == "user" || said == "bin" ? said : "line";
    std::string module = page.substr(slash + 1);
    if (kind != "bin") module = module.substr(0, module.find("__"));  // without the suffix of a parametrization
    const std::string file_name = std::filesystem::path(field("f")).filename().string();
    if (module == "hca_mutant" || file_name == "hca_mutant.sv") continue;
    const bool by_name = kind == "toggle" || kind == "bin";
    const std::string text = by_name ? field("o") : field("l") + "." + field("n") + "." + field("o");
    point& p = points_[name_of(kind, module, text)];
    p.kind = kind;
    p.module = module;
    p.count += count;
    if (const std::string goal = field("s"); !goal.empty()) p.goal = std::max<std::uint64_t>(std::stoull(goal), 1);
  }
}

void coverage_file::write(const std::string& file) const {
  std::ofstream out(file, std::ios::binary);
  out << first_line << '\n';
  for (const auto& [key, count] : sums_) out << "C '" << key << "' " << count << '\n';
  if (!out.flush()) throw std::runtime_error(file + ": the coverage cannot be written");
}

std::vector<std::string> coverage_file::leave_out(const std::string& list) {
  std::ifstream in(list);
  if (!in) return {list + ": cannot be read"};
  std::vector<std::string> wrong;
  std::string line;
  for (unsigned number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line.starts_with("#")) continue;
    const std::string place = list + ":" + std::to_string(number) + ": ";
    const std::size_t reason = line.find('#');
    if (reason == std::string::npos || line.find_first_not_of(" #", reason) == std::string::npos) {
      wrong.push_back(place + "no reason is given");
      continue;
    }
    std::istringstream words(line.substr(0, reason));
    std::string kind, module, meant;
    words >> kind >> module >> meant;
    for (const std::string& point_meant : bits_of(meant)) {
      const std::string pattern = name_of(kind, module, point_meant);
      bool found = false;
      for (auto& [name, p] : points_) {
        if (!matches(pattern.c_str(), name.c_str()) && !matches((pattern + "[*").c_str(), name.c_str())) continue;
        found = true;
        if (p.count != 0) wrong.push_back(place + name + " is reached");
        p.left_out = true;
      }
      if (!found) wrong.push_back((place + "there is no ").append(pattern));
    }
  }
  return wrong;
}

coverage_file::share coverage_file::of(const std::string& kind, const std::string& module) const {
  share s;
  for (const auto& [name, p] : points_) {
    if (!belongs(p, kind, module)) continue;
    s.left_out += p.left_out;
    if (p.left_out) continue;
    ++s.points;
    s.hit += p.count >= p.goal;
  }
  return s;
}

std::vector<std::string> coverage_file::missed(const std::string& kind, const std::string& module) const {
  std::vector<std::string> names;
  for (const auto& [name, p] : points_) {
    if (!belongs(p, kind, module) || p.count >= p.goal || p.left_out) continue;
    names.push_back(p.count == 0 ? name : name + " (" + std::to_string(p.count) + " of " + std::to_string(p.goal) + ")");
  }
  return names;
}

std::vector<std::string> coverage_file::modules() const {
  std::set<std::string> names;
  for (const auto& [name, p] : points_) names.insert(p.module);
  return {names.begin(), names.end()};
}

}  // namespace hcasim::rtl
