#include "testbenches/program/description/system_errors.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <new>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view another_place = "choose another place";

std::string_view mend_of(int error, std::string_view otherwise) {
  switch (error) {
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENOMEM:
      return "free memory, or raise its limit (ulimit -v)";
    case EAGAIN:
      return "raise the limit of processes (ulimit -u) or of memory (ulimit -v)";
    case EFBIG:
      return "raise the limit of file sizes (ulimit -f)";
    case ENOSPC:
    case EDQUOT:
      return "make room, or choose another place";
    case ENAMETOOLONG:
      return "choose a shorter name";
    default:
      return otherwise;
  }
}

}  // namespace

std::string cause(int error, std::string_view mend) {
  return fmt::format("{}; {}", std::strerror(error), mend_of(error, mend));
}

std::string cause(const std::system_error& e) {
  const std::string_view mend = mend_of(e.code().value(), "");
  return mend.empty() ? std::string(e.what()) : fmt::format("{}; {}", e.what(), mend);
}

void cannot_write(const fs::path& file, int error) {
  const std::string why =
      error != 0 ? cause(error, another_place) : fmt::format("the disk is full or the folder is gone; {}", another_place);
  throw input_error(fmt::format("cannot write '{}': {}", file.string(), why));
}

fs::path beside(const fs::path& file, std::string_view prefix, std::string_view ending) {
  constexpr std::size_t most = 255;
  const std::string name = file.filename().string();
  const bool fits = prefix.size() + name.size() + ending.size() <= most;
  const std::string middle = fits ? name : fmt::format("{:016x}", std::hash<std::string>()(name));
  return file.parent_path() / fmt::format("{}{}{}", prefix, middle, ending);
}

void write_file(const fs::path& file, std::string_view content) {
  std::error_code ec;
  const bool in_place = fs::exists(file, ec) && !fs::is_regular_file(file, ec);  // a device, a pipe
  const fs::path partial = in_place ? file : beside(file, "", ".partial");
  errno = 0;
  std::ofstream out(partial, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  int error = out ? 0 : errno;
  const bool failed = !out;
  if (!failed && !in_place) {
    fs::rename(partial, file, ec);
    if (!ec) return;
    error = ec.value();
  } else if (!failed) {
    return;
  }
  if (!in_place) fs::remove(partial, ec);
  cannot_write(file, error);
}

bool is_out_of_memory(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e)) return true;
  const std::string_view text = e.what();
  for (const std::string_view words : {"std::bad_alloc", "failed to allocate stack memory"}) {  // the kernel's, of a thread
    if (text.find(words) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace hcasim
