// Errors for the user to mend: they end the program with status 2 and leave no output behind. The text names the place, the
// fault and the mend.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace hcasim {

// Status values of the program.
inline constexpr int run_passed = 0;
inline constexpr int run_failed = 1;
inline constexpr int run_bad_input = 2;
inline constexpr int run_without_part = 3;  // a part of hcasim is not built or installed

class input_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The place of a setting: in a file, or an argument of the command line.
struct place {
  std::string source;  // file name, or the argument as it was given
  int line = 0;        // 1, 2, ...; 0 = not in a file
  int column = 0;

  [[nodiscard]] std::string text() const { return line ? fmt::format("{}:{}:{}", source, line, column) : source; }
};

// A knob's value that does not go together with the others; `path`: of the knob, below the group of its testbench.
class knob_error : public std::runtime_error {
 public:
  knob_error(std::string path, const std::string& message) : std::runtime_error(message), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class description_error : public input_error {
 public:
  description_error(place w, std::string key_path, const std::string& message)
      : input_error(key_path.empty() ? fmt::format("{}: {}", w.text(), message)
                                     : fmt::format("{}: {}: {}", w.text(), key_path, message)),
        where_(std::move(w)),
        key_(std::move(key_path)) {}

  [[nodiscard]] const place& where() const { return where_; }
  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  place where_;
  std::string key_;
};

}  // namespace hcasim
