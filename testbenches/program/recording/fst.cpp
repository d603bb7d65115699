#include "testbenches/program/recording/fst.h"

#include <fstapi.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/description/system_errors.h"

namespace hcasim {
namespace {

// Below the size at which the writer would end a block on its own. Smaller ones compress worse, larger ones leave the host's
// caches.
constexpr std::uint64_t block_bytes = 4 << 20;
constexpr std::uint64_t header_bytes = 330;

constexpr auto byte_digits = [] {
  std::array<std::array<char, 8>, 256> t{};
  for (unsigned v = 0; v < 256; ++v) {
    for (unsigned bit = 0; bit < 8; ++bit) t[v][bit] = static_cast<char>('0' + ((v >> (7 - bit)) & 1));
  }
  return t;
}();

}  // namespace

// A full disk leaves the chain of blocks broken: the writer itself does not look.
bool fst_is_whole(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(in.tellg(), 0));
  std::uint64_t at = 0;
  while (at + 9 <= size) {
    in.seekg(static_cast<std::streamoff>(at));
    std::array<unsigned char, 9> head{};
    in.read(reinterpret_cast<char*>(head.data()), head.size());
    if (!in || head[0] == FST_BL_SKIP) return false;
    std::uint64_t length = 0;
    for (std::size_t i = 1; i < head.size(); ++i) length = length << 8 | head[i];
    if (length < 8 || length > size) return false;
    at += 1 + length;
  }
  return at == size && size >= header_bytes;
}

fst_file::fst_file(const std::filesystem::path& file, const std::string& version) : path_(file.string()) {
  // The writer says only that it failed, not why.
  std::FILE* const writable = std::fopen(path_.c_str(), "wb");
  if (!writable) cannot_write(path_, errno);
  std::fclose(writable);
  // The writer deletes what is there before it writes, a device as well.
  if (!std::filesystem::is_regular_file(file))
    throw input_error(fmt::format("'{}' is not a regular file; an FST needs one", path_));
  errno = 0;
  context_ = fstWriterCreate(path_.c_str(), 1);
  if (!context_) cannot_write(path_, errno);
  fstWriterSetDate(context_, "");
  fstWriterSetVersion(context_, version.substr(0, 127).c_str());
  fstWriterSetTimescale(context_, -12);
  fstWriterSetPackType(context_, FST_WR_PT_ZLIB);
}

fst_file::~fst_file() {
  if (context_) fstWriterClose(context_);
}

void fst_file::define(const std::vector<wave_signal>& signals) {
  std::vector<std::string> open;
  const auto leave = [&](std::size_t depth) {
    for (; open.size() > depth; open.pop_back()) fstWriterSetUpscope(context_);
  };
  for (const wave_signal& s : signals) {
    const std::vector<std::string> scope = split(s.scope, '.');
    std::size_t common = 0;
    while (common < open.size() && common < scope.size() && open[common] == scope[common]) ++common;
    leave(common);
    for (; open.size() < scope.size(); open.push_back(scope[open.size()])) {
      fstWriterSetScope(context_, FST_ST_VCD_MODULE, scope[open.size()].c_str(), nullptr);
    }
    const std::string name = ranged_name(s);
    const fstVarType kind = s.event ? FST_VT_VCD_EVENT : FST_VT_VCD_WIRE;
    handles_.push_back(fstWriterCreateVar(context_, kind, FST_VD_IMPLICIT, s.width, name.c_str(), 0));
    closing_ += 8 + name.size();
  }
  leave(0);
  finished_ = header_bytes + closing_;
}

void fst_file::stamp(ps at) {
  if (at == last_) return;
  if (block_ > block_bytes) end_block();
  fstWriterEmitTimeChange(context_, static_cast<std::uint64_t>(at.count()));
  last_ = at;
  block_ += 2;
}

void fst_file::emit(std::uint32_t signal, const char* digits, unsigned width) {
  fstWriterEmitValueChange(context_, handles_[signal], digits);
  block_ += width + 6;
}

// The writer ends a block at a change of time, so the next one begins in the new block.
void fst_file::end_block() {
  fstWriterFlushContext(context_);
  fstWriterEmitTimeChange(context_, static_cast<std::uint64_t>(last_.count()));
  block_ = 0;
}

std::uint64_t fst_file::size() const {
  std::error_code ec;
  const auto n = std::filesystem::file_size(path_, ec);
  return ec ? 0 : n;
}

// Until the sum is known that a block comes to, it counts as if it were not compressed.
bool fst_file::full(std::uint64_t limit) {
  if (finished_ + block_ < limit) return false;
  end_block();
  finished_ = size() + closing_;
  return finished_ + limit / 16 >= limit;
}

void fst_file::close(ps end) {
  stamp(end);
  const bool failed = fstWriterGetFseekFailed(context_) != 0;
  errno = 0;
  fstWriterClose(std::exchange(context_, nullptr));
  const int error = errno;
  if (failed || !fst_is_whole(path_)) cannot_write(path_, error == ENOSPC || error == EFBIG || error == EDQUOT ? error : 0);
}

fst_writer::fst_writer(const std::filesystem::path& file, const std::string& version, std::uint64_t limit,
                       const wave_window& window)
    : wave_writer(limit, window), file_(file, "hcasim " + version) {}

void fst_writer::begin(ps at) {
  for (const wave_signal& s : signals()) widths_.push_back(static_cast<std::uint8_t>(s.width));
  file_.define(signals());
  file_.stamp(at);
  const std::string unknown(64, 'x');
  for (std::uint32_t i = 0; i < widths_.size(); ++i) file_.emit(i, unknown.data(), widths_[i]);
}

void fst_writer::emit(std::uint32_t signal, std::uint64_t value) {
  char digits[64];
  const unsigned width = widths_[signal];
  for (unsigned byte = 8 - (width + 7) / 8; byte < 8; ++byte) {
    std::memcpy(digits + 8 * static_cast<std::size_t>(byte), byte_digits[(value >> (56 - 8 * byte)) & 0xff].data(), 8);
  }
  file_.emit(signal, digits + (64 - width), width);
}

}  // namespace hcasim
