// The conformance table with the test of each row and its result.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hcasim::testing {

struct semantics_table {
  std::string markdown;
  std::vector<std::string> without_test;  // ids, those that the list says are open left out
  std::vector<std::string> wrongly_open;  // ids that the list says are open although there is a test
  std::vector<std::string> failed;        // ids
};

// `cases`: testbenches/checks/conformance/cases.txt; `tests`: the program of the conformance tests.
semantics_table make_semantics_table(const std::filesystem::path& cases, const std::filesystem::path& tests);

}  // namespace hcasim::testing
