// Waveforms as VCD (IEEE 1364 value change dump): text that every viewer reads.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "testbenches/program/recording/waves.h"

namespace hcasim {

// A signal's name in the changes.
struct vcd_id {
  vcd_id(std::size_t number, bool is_vector);
  [[nodiscard]] std::string_view view() const { return {text, length}; }

  bool vector;
  std::uint8_t length = 0;
  char text[6] = {};
};

// The definitions, and the values (all unknown) that a file begins with.
std::string vcd_definitions(const std::vector<wave_signal>& signals, const std::vector<vcd_id>& ids,
                            const std::string& version);
std::string vcd_unknown(const std::vector<wave_signal>& signals, const std::vector<vcd_id>& ids, ps at);

class vcd_writer final : public wave_writer {
 public:
  // Throws input_error when the file cannot be written.
  vcd_writer(const std::filesystem::path& file, std::string version, std::uint64_t limit = 0, const wave_window& window = {});
  ~vcd_writer() override;
  vcd_writer(const vcd_writer&) = delete;
  vcd_writer& operator=(const vcd_writer&) = delete;

  [[nodiscard]] std::uint64_t bytes() const { return written_ + used_; }

 private:
  void begin(ps at) override;
  void stamp(ps at) override;
  void emit(std::uint32_t signal, std::uint64_t value) override;
  bool full(std::uint64_t limit) override { return bytes() > limit; }
  void close(ps end) override;

  void text(std::string_view s);
  void drain();
  char* room(std::size_t n) {
    if (buffer_.size() - used_ < n) drain();
    return buffer_.data() + used_;
  }

  std::FILE* file_;
  std::string path_;
  std::string version_;
  std::vector<vcd_id> ids_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::uint64_t written_ = 0;
  std::int64_t stamp_high_ = -1;  // leading digits of the last time stamp, and their text
  std::size_t stamp_length_ = 0;
  char stamp_text_[20] = {};
  int error_ = 0;  // the errno of the first write that failed
};

}  // namespace hcasim
