// Tests that run the runner with its sample machine, in a folder of their own.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {

class selftest_program : public test_in_own_folder {
 protected:
  static outcome hcasim(const std::string& arguments) { return run_program(places::selftest, arguments); }
  static void file(const std::string& name, const std::string& text) { std::ofstream(name) << text; }
  static std::string content(const std::filesystem::path& name) { return file_content(name); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& e : std::filesystem::directory_iterator(folder())) names.push_back(e.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  // Status 2, exactly this message, and no file more than before.
  void refused(const std::string& arguments, const std::string& message) const {
    const auto before = files();
    const outcome o = hcasim(arguments);
    EXPECT_EQ(o.status, 2) << arguments;
    EXPECT_EQ(o.text, fmt::format("hcasim: {}\n", message)) << arguments;
    EXPECT_EQ(files(), before) << arguments;
  }
};

}  // namespace hcasim
