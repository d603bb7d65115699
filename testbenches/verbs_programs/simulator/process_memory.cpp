#include "testbenches/verbs_programs/simulator/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <sstream>
#include <string>

#include "testbenches/verbs_programs/simulator/descriptor.h"

namespace hcasim::applications {
namespace {

constexpr std::uint64_t user_space = std::uint64_t{1} << 47;

std::string content_of(const std::string& file) {
  std::string text;
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  constexpr std::size_t piece = 16384;
  for (;;) {
    const std::size_t at = text.size();
    text.resize(at + piece);
    const ssize_t n = ::read(fd, text.data() + at, piece);
    text.resize(at + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n <= 0) break;
  }
  ::close(fd);
  return text;
}

}  // namespace

bool process_memory::complete(ssize_t moved, std::size_t wanted) const {
  if (moved == static_cast<ssize_t>(wanted)) return true;
  if (moved < 0 && (errno == EPERM || errno == ENOSYS)) forbidden_ = true;
  return false;
}

bool process_memory::read(std::uint64_t va, std::span<std::byte> to) const {
  if (to.empty()) return true;
  if (process_ == 0) return false;
  const iovec here{to.data(), to.size()};
  const iovec there{reinterpret_cast<void*>(va), to.size()};  // NOLINT(performance-no-int-to-ptr): of another process
  return complete(::process_vm_readv(process_, &here, 1, &there, 1, 0), to.size());
}

bool process_memory::write(std::uint64_t va, std::span<const std::byte> from) {
  if (from.empty()) return true;
  if (process_ == 0) return false;
  const iovec here{const_cast<std::byte*>(from.data()), from.size()};
  const iovec there{reinterpret_cast<void*>(va), from.size()};  // NOLINT(performance-no-int-to-ptr): of another process
  const bool done = complete(::process_vm_writev(process_, &here, 1, &there, 1, 0), from.size());
  const int why = errno;
  activity_.landed(now(), va, from.size());
  errno = why;
  return done;
}

bool process_memory::is_private(std::uint64_t va) const {
  constexpr std::uint64_t page = 4096;
  const auto [at, fresh] = private_.try_emplace(va / page, false);
  if (!fresh || process_ == 0) return at->second;
  const std::string rights = rights_at(va);
  at->second = rights.size() == 4 && rights[3] == 'p';
  return at->second;
}

std::string process_memory::rights_at(std::uint64_t va) const {
  std::istringstream maps(content_of("/proc/" + std::to_string(process_) + "/maps"));
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t first = 0;
    std::uint64_t after = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &first, &after, rights) == 3 && va >= first && va < after) return rights;
  }
  return "";
}

// The file ignores the rights of private pages, and those to read shared ones. Any other mapped page out of reach is
// remembered.
template <class Move>
bool process_memory::by_force(std::uint64_t va, std::size_t bytes, int mode, Move move) const {
  if (process_ == 0 || errno != EFAULT) return false;
  const descriptor file(::open(("/proc/" + std::to_string(process_) + "/mem").c_str(), mode | O_CLOEXEC));
  if (file && move(file.get()) == static_cast<ssize_t>(bytes)) return true;
  if (!rights_at(va).empty()) unreached_ = va;
  return false;
}

bool process_memory::device_read(std::uint64_t va, std::span<std::byte> to) const {
  return read(va, to) || by_force(va, to.size(), O_RDONLY,
                                  [&](int file) { return ::pread(file, to.data(), to.size(), static_cast<off_t>(va)); });
}

bool process_memory::device_write(std::uint64_t va, std::span<const std::byte> from) {
  return write(va, from) || by_force(va, from.size(), O_WRONLY, [&](int file) {
           return ::pwrite(file, from.data(), from.size(), static_cast<off_t>(va));
         });
}

std::vector<outside_memory::piece> parse_maps(const std::string& text, std::uint64_t va, std::uint64_t bytes) {
  std::vector<outside_memory::piece> out;
  if (bytes == 0) return out;
  const std::uint64_t last = bytes - 1 > ~va ? ~std::uint64_t{0} : va + bytes - 1;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const char* line_end = std::find(at, end, '\n');
    std::uint64_t first = 0;
    std::uint64_t after = 0;
    const auto a = std::from_chars(at, line_end, first, 16);
    if (a.ec == std::errc() && a.ptr < line_end && *a.ptr == '-') {
      const auto b = std::from_chars(a.ptr + 1, line_end, after, 16);
      if (b.ec == std::errc() && line_end - b.ptr > 3 && b.ptr[1] == 'r' && after <= user_space && first <= last &&
          after > va) {
        const bool writable = b.ptr[2] == 'w';
        const std::uint64_t from = std::max(first, va);
        const std::uint64_t to = std::min(after - 1, last) + 1;
        if (!out.empty() && out.back().writable == writable && out.back().va + out.back().bytes == from) {
          out.back().bytes += to - from;
        } else {
          out.push_back({from, to - from, writable});
        }
      }
    }
    at = line_end + 1;
  }
  return out;
}

std::vector<outside_memory::piece> process_memory::mapped(std::uint64_t va, std::uint64_t bytes) const {
  if (process_ == 0) return {};
  return parse_maps(content_of("/proc/" + std::to_string(process_) + "/maps"), va, bytes);
}

}  // namespace hcasim::applications
