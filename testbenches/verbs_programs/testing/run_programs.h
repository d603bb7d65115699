// Runs `hcasim exec` in tests.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim::applications {

// A folder of the test's own, removed afterwards.
class scratch {
 public:
  scratch() : path_(std::filesystem::temp_directory_path() / fmt::format("hcasim_applications.{}.{}", ::getpid(), made_++)) {
    std::filesystem::create_directories(path_);
  }
  ~scratch() { std::filesystem::remove_all(path_); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  static inline int made_ = 0;
  std::filesystem::path path_;
};

inline outcome exec(const std::string& folder, const std::string& programs, const std::string& options = "") {
  return run_program(places::program, fmt::format("exec -o {} --force --no-trace {} {}", folder, options, programs));
}

// Returns the reason why programs cannot be run here; empty = there is none.
inline std::string obstacle(const std::string& program) {
  std::error_code ec;
  if (!std::filesystem::exists(std::filesystem::path(places::program).parent_path() / "libhcasim_verbs.so", ec)) {
    return "the library was not built: libibverbs-dev is missing";
  }
  if (std::system(fmt::format("command -v {} >/dev/null 2>&1", program).c_str()) != 0) return program + " is not installed";
  const scratch out;
  const std::string self = std::filesystem::path(places::program).parent_path() / "hcasim_misuse";
  if (!std::filesystem::exists(self, ec)) return {};
  const outcome o = exec(out / "probe", "-- " + self + " register");
  return o.text.find("process_vm_readv") != std::string::npos ? "this system forbids process_vm_readv" : "";
}

inline double simulated_seconds(const std::string& folder) {
  return static_cast<double>(nlohmann::json::parse(file_content(folder + "/result.json"))["simulated_ns"]) / 1e9;
}

inline double figure(const std::string& folder, const char* name) {
  return nlohmann::json::parse(file_content(folder + "/result.json"))["figures"][name]["value"];
}

}  // namespace hcasim::applications
