#include "testbenches/program/testing/semantics_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "testbenches/program/testing/run_program.h"

namespace hcasim::testing {
namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = line.find("; "); at != std::string::npos; at = line.find("; ", from)) {
    parts.push_back(line.substr(from, at - from));
    from = at + 2;
  }
  parts.push_back(line.substr(from));
  return parts;
}

std::set<std::string> tests_of(const std::filesystem::path& program) {
  std::set<std::string> names;
  std::istringstream list(run_program(program.c_str(), "--gtest_list_tests").text);
  for (std::string line; std::getline(list, line);) {
    if (line.starts_with("  ")) names.insert(line.substr(2));
  }
  return names;
}

// A row with several cases has several tests: TC_M06_accept, TC_M06_refuse.
std::vector<std::string> tests_of_row(const std::set<std::string>& all, const std::string& row) {
  std::vector<std::string> mine;
  for (const std::string& name : all) {
    if (name == row || name.starts_with(row + "_")) mine.push_back(name);
  }
  return mine;
}

std::string escaped(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.replace(at, 1, "\\|");
  return text;
}

}  // namespace

semantics_table make_semantics_table(const std::filesystem::path& cases, const std::filesystem::path& tests) {
  std::vector<std::vector<std::string>> rows;
  std::map<std::string, std::string> open;
  std::ifstream in(cases);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = split(line);
    if (parts[0] == "open") {
      open[parts.at(1)] = parts.at(2);
    } else {
      rows.push_back(parts);
    }
  }

  semantics_table t;
  const std::set<std::string> names = tests_of(tests);
  t.markdown = "\n| id | set-up | action | expected | rule or source | test | result |\n|---|---|---|---|---|---|---|\n";
  for (const std::vector<std::string>& r : rows) {
    const std::string& id = r.at(0);
    std::string name = id;
    std::replace(name.begin(), name.end(), '-', '_');
    const std::vector<std::string> mine = tests_of_row(names, name);
    std::string result = "none";
    if (!mine.empty()) {
      if (open.contains(id)) t.wrongly_open.push_back(id);
      const bool passed = std::all_of(mine.begin(), mine.end(), [&](const std::string& test) {
        return run_program(tests.c_str(), "--gtest_filter=conformance." + test).status == 0;
      });
      result = passed ? "passes" : "fails";
      if (!passed) t.failed.push_back(id);
    } else if (open.contains(id)) {
      result = open.at(id);
    } else {
      t.without_test.push_back(id);
    }
    t.markdown +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", id, escaped(r.at(1)), escaped(r.at(2)), escaped(r.at(3)),
                    escaped(r.at(4)), mine.empty() ? "" : fmt::format("`{}`", fmt::join(mine, "`, `")), result);
  }
  return t;
}

}  // namespace hcasim::testing
