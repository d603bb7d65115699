// Tests that run the runner with its sample machine, in a folder of their own.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {

class selftest_program : public ::testing::Test {
 protected:
  selftest_program() {
    std::filesystem::create_directories(folder_);
    std::filesystem::current_path(folder_);
  }
  ~selftest_program() override {
    std::filesystem::current_path("/");
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, std::filesystem::perm_options::add);
    std::filesystem::remove_all(folder_);
  }

  static outcome hcasim(const std::string& arguments) { return run_program(places::selftest, arguments); }
  static void file(const std::string& name, const std::string& text) { std::ofstream(name) << text; }
  static std::string content(const std::filesystem::path& name) { return file_content(name); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& e : std::filesystem::directory_iterator(folder_)) names.push_back(e.path().filename());
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

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / fmt::format("hcasim_selftest_{}", ::getpid());
};

}  // namespace hcasim
