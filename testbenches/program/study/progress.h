// A progress bar with the time that is left, on a terminal; nothing elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace hcasim {

class progress_bar {
 public:
  explicit progress_bar(std::uint64_t points);

  void begin(std::uint64_t finished_before);
  void add(bool passed);
  void show(const std::string& note = "");
  void clear() const;
  void end() const { clear(); }

 private:
  using clock = std::chrono::steady_clock;

  bool terminal_;
  std::uint64_t points_;
  std::uint64_t before_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t failed_ = 0;
  clock::time_point begin_ = clock::now();
  clock::time_point shown_{};
};

}  // namespace hcasim
