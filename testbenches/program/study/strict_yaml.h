// Reading YAML where every key must be known: errors name the file, the place and the key.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "testbenches/program/description/errors.h"

namespace hcasim {

class strict_yaml {
 public:
  explicit strict_yaml(std::filesystem::path file) : file_(std::move(file)) {}

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] place at(const YAML::Node& n) const;
  [[noreturn]] void fail(const YAML::Node& n, const std::string& key, const std::string& message) const;
  [[nodiscard]] std::string scalar(const YAML::Node& n, const std::string& key) const;
  [[nodiscard]] std::vector<std::string> list(const YAML::Node& n, const std::string& key) const;
  // The keys of a map, each known and given once.
  void check_keys(const YAML::Node& map, const std::string& path, const std::vector<std::string>& valid) const;
  // Letters, digits and '_', and not given before.
  void check_name(const YAML::Node& n, const std::string& path, const std::string& name, std::set<std::string>& seen) const;

 private:
  std::filesystem::path file_;
};

}  // namespace hcasim
