// Waveforms as FST, GTKWave's compressed format, through the writer (fstapi) that Verilator ships.
//
// The file is made of blocks of a bounded size, so that it does not depend on the memory of the machine; its date is constant.
#pragma once

#include <string>
#include <vector>

#include "testbenches/program/recording/waves.h"

namespace hcasim {

// Whether the chain of blocks reaches exactly to the end of the file.
bool fst_is_whole(const std::filesystem::path& file);

// A file that is being written, below the signals.
class fst_file {
 public:
  // Throws input_error when the file cannot be written.
  fst_file(const std::filesystem::path& file, const std::string& version);
  ~fst_file();
  fst_file(const fst_file&) = delete;
  fst_file& operator=(const fst_file&) = delete;

  void define(const std::vector<wave_signal>& signals);
  void stamp(ps at);
  // `digits`: as many of 0, 1, x and z as the signal is wide.
  void emit(std::uint32_t signal, const char* digits, unsigned width);
  // Whether the file has come near `limit` bytes. Ends a block to find out.
  bool full(std::uint64_t limit);
  void close(ps end);

 private:
  void end_block();
  [[nodiscard]] std::uint64_t size() const;

  std::string path_;
  void* context_;
  std::vector<std::uint32_t> handles_;
  ps last_{-1};
  std::uint64_t block_ = 0;     // bytes in the block that is being filled, before compression
  std::uint64_t finished_ = 0;  // of the file, with what comes at its end
  std::uint64_t closing_ = 0;   // what comes at its end
};

class fst_writer final : public wave_writer {
 public:
  fst_writer(const std::filesystem::path& file, const std::string& version, std::uint64_t limit = 0,
             const wave_window& window = {});
  ~fst_writer() override { stop_thread(); }
  fst_writer(const fst_writer&) = delete;
  fst_writer& operator=(const fst_writer&) = delete;

 private:
  void begin(ps at) override;
  void stamp(ps at) override { file_.stamp(at); }
  void emit(std::uint32_t signal, std::uint64_t value) override;
  bool full(std::uint64_t limit) override { return file_.full(limit); }
  void close(ps end) override { file_.close(end); }

  fst_file file_;
  std::vector<std::uint8_t> widths_;
};

}  // namespace hcasim
