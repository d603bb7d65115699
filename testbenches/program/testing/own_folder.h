// A test that runs in an empty folder of its own. The folder is removed at the end.
#pragma once

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hcasim {

class test_in_own_folder : public ::testing::Test {
 protected:
  test_in_own_folder() {
    std::filesystem::create_directories(folder_);
    std::filesystem::current_path(folder_);
  }
  ~test_in_own_folder() override {
    std::filesystem::current_path("/");
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, std::filesystem::perm_options::add);
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / fmt::format("hcasim_test_{}", ::getpid());
};

}  // namespace hcasim
