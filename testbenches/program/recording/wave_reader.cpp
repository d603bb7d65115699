#include "testbenches/program/recording/wave_reader.h"

#include <fstapi.h>

#include <array>
#include <cerrno>
#include <fstream>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/recording/fst.h"
#include "testbenches/program/recording/fst_reader.h"
#include "testbenches/program/recording/vcd_reader.h"

namespace hcasim {
namespace {

// First bytes of other kinds of files, and the mend for each.
struct other_kind {
  std::string_view begin;
  std::string_view name;
  std::string_view mend;
};
constexpr other_kind other_kinds[] = {{"\x1f\x8b", "compressed by gzip", "unpack it first: gunzip"},
                                      {"BZh", "compressed by bzip2", "unpack it first: bunzip2"},
                                      {"\xfd"
                                       "7zXZ",
                                       "compressed by xz", "unpack it first: unxz"},
                                      {"\x28\xb5\x2f\xfd", "compressed by zstd", "unpack it first: unzstd"},
                                      {"PK\x03\x04", "a zip archive", "unpack it first: unzip"},
                                      {"GHDLwave", "a GHW file", "record VCD or FST"}};

}  // namespace

bool is_fst(const std::filesystem::path& file) {
  const auto refuse = [&](std::string_view why, std::string_view mend) {
    throw input_error(fmt::format("cannot read '{}': {}; {}", file.string(), why, mend));
  };
  std::error_code ec;
  if (std::filesystem::is_directory(file, ec)) refuse("it is a folder", "name a VCD or FST file");
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw input_error(fmt::format("cannot read '{}': {}", file.string(), cause(errno, "check the path and its permissions")));
  if (!std::filesystem::is_regular_file(file, ec)) refuse("it is not an ordinary file", "write it into one first");
  std::array<char, 8> first{};
  in.read(first.data(), first.size());
  const std::string_view begin(first.data(), static_cast<std::size_t>(in.gcount()));
  for (const other_kind& k : other_kinds) {
    if (begin.starts_with(k.begin)) refuse(fmt::format("it is {}", k.name), k.mend);
  }
  return !begin.empty() && (begin[0] == FST_BL_HDR || static_cast<unsigned char>(begin[0]) == FST_BL_ZWRAPPER);
}

void read_waves(const std::filesystem::path& file, wave_listener& listener) {
  if (!is_fst(file)) return read_vcd(file, listener);
  if (!fst_is_whole(file)) throw input_error(fmt::format("'{}' is not a whole FST file", file.string()));
  read_fst(file, listener);
}

}  // namespace hcasim
