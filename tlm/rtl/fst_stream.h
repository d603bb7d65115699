// Turns a VCD file's text into FST while it is written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hcasim::rtl {

// Reads the VCD of one writer: a line for each scope, variable, time and value.
class fst_stream {
 public:
  fst_stream() = default;
  ~fst_stream() { close(); }
  fst_stream(const fst_stream&) = delete;
  fst_stream& operator=(const fst_stream&) = delete;

  // Returns whether the FST file could be made. Without one, `write` does nothing.
  bool open(const std::string& name);
  void write(std::string_view text);
  void close();

 private:
  struct variable {
    unsigned handle;
    std::size_t bits;
  };

  void line(std::string_view text);
  void declaration(std::string_view text);
  void declare(std::string_view text);
  void time(std::string_view digits);
  void value(std::string_view digits, std::string_view code, bool real);

  void* writer_ = nullptr;
  std::string begun_;  // begin of a line
  std::string key_;
  std::string padded_;
  std::unordered_map<std::string, variable> codes_;
  std::size_t since_ = 0;  // bytes of VCD since the last block
};

// Converts a VCD file to FST. Throws std::runtime_error.
void vcd_to_fst(const std::string& vcd, const std::string& fst);

}  // namespace hcasim::rtl
