#include "testbenches/program/recording/vcd.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "testbenches/program/description/names.h"
#include "testbenches/program/description/system_errors.h"

namespace hcasim {
namespace {

constexpr std::size_t vcd_buffer = 1 << 20;
constexpr std::size_t longest_change = 80;  // "b", 64 digits, a blank, the id, newline

// The eight binary digits of each byte.
constexpr auto vcd_digits = [] {
  std::array<std::array<char, 8>, 256> t{};
  for (unsigned v = 0; v < 256; ++v) {
    for (unsigned bit = 0; bit < 8; ++bit) t[v][bit] = static_cast<char>('0' + ((v >> (7 - bit)) & 1));
  }
  return t;
}();

// The eight digits of a number below 10^8.
void eight_digits(char* to, std::uint32_t v) {
  constexpr auto pairs = [] {
    std::array<std::array<char, 2>, 100> t{};
    for (unsigned i = 0; i < 100; ++i) t[i] = {static_cast<char>('0' + i / 10), static_cast<char>('0' + i % 10)};
    return t;
  }();
  const std::uint32_t high = v / 10000;
  const std::uint32_t low = v % 10000;
  std::memcpy(to, pairs[high / 100].data(), 2);
  std::memcpy(to + 2, pairs[high % 100].data(), 2);
  std::memcpy(to + 4, pairs[low / 100].data(), 2);
  std::memcpy(to + 6, pairs[low % 100].data(), 2);
}

}  // namespace

vcd_id::vcd_id(std::size_t number, bool is_vector) : vector(is_vector) {
  do {  // printable characters '!' to '~'
    text[length++] = static_cast<char>('!' + number % 94);
    number /= 94;
  } while (number);
}

std::string vcd_definitions(const std::vector<wave_signal>& signals, const std::vector<vcd_id>& ids,
                            const std::string& version) {
  std::string out = fmt::format("$version {} $end\n$timescale 1 ps $end\n", version);
  std::vector<std::string> open;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const wave_signal& s = signals[i];
    const std::vector<std::string> scope = split(s.scope, '.');
    std::size_t common = 0;
    while (common < open.size() && common < scope.size() && open[common] == scope[common]) ++common;
    for (; open.size() > common; open.pop_back()) out += "$upscope $end\n";
    for (; open.size() < scope.size(); open.push_back(scope[open.size()])) {
      out += fmt::format("$scope module {} $end\n", scope[open.size()]);
    }
    out += fmt::format("$var {} {} {} {} $end\n", s.event ? "event" : "wire", s.width, ids[i].view(), ranged_name(s));
  }
  for (; !open.empty(); open.pop_back()) out += "$upscope $end\n";
  return out + "$enddefinitions $end\n";
}

std::string vcd_unknown(const std::vector<wave_signal>& signals, const std::vector<vcd_id>& ids, ps at) {
  std::string out = fmt::format("#{}\n$dumpvars\n", at.count());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!signals[i].event) out += fmt::format("{}{}\n", ids[i].vector ? "bx " : "x", ids[i].view());
  }
  return out + "$end\n";
}

vcd_writer::vcd_writer(const std::filesystem::path& file, std::string version, std::uint64_t limit, const wave_window& window)
    : wave_writer(limit, window),
      file_(std::fopen(file.c_str(), "wb")),
      path_(file.string()),
      version_(std::move(version)),
      buffer_(vcd_buffer) {
  if (!file_) cannot_write(path_, errno);
  std::setvbuf(file_, nullptr, _IONBF, 0);
}

vcd_writer::~vcd_writer() {
  stop_thread();
  if (file_) std::fclose(file_);
}

void vcd_writer::text(std::string_view s) {
  while (!s.empty()) {
    const std::size_t n = std::min(s.size(), vcd_buffer / 2);
    std::memcpy(room(n), s.data(), n);
    used_ += n;
    s.remove_prefix(n);
  }
}

void vcd_writer::begin(ps at) {
  for (const wave_signal& s : signals()) ids_.emplace_back(ids_.size(), s.width > 1);
  text(vcd_definitions(signals(), ids_, "hcasim " + version_));
  text(vcd_unknown(signals(), ids_, at));
}

// Time stamps share their leading digits for a long while: these are kept.
void vcd_writer::stamp(ps at) {
  constexpr std::int64_t low_range = 100'000'000;
  char* to = room(longest_change);
  *to++ = '#';
  ++used_;
  if (at.count() < low_range) {
    const auto digits = std::to_chars(to, to + 20, at.count());
    used_ += static_cast<std::size_t>(digits.ptr - to);
    to = digits.ptr;
  } else {
    const std::int64_t high = at.count() / low_range;
    if (high != stamp_high_) {
      stamp_high_ = high;
      stamp_length_ = static_cast<std::size_t>(std::to_chars(stamp_text_, stamp_text_ + 20, high).ptr - stamp_text_);
    }
    std::memcpy(to, stamp_text_, sizeof stamp_text_);
    eight_digits(to + stamp_length_, static_cast<std::uint32_t>(at.count() % low_range));
    to += stamp_length_ + 8;
    used_ += stamp_length_ + 8;
  }
  *to = '\n';
  ++used_;
}

void vcd_writer::emit(std::uint32_t signal, std::uint64_t value) {
  const vcd_id& id = ids_[signal];
  char* const begin = room(longest_change);
  char* to = begin;
  if (!id.vector) {
    *to++ = value ? '1' : '0';
  } else {
    *to++ = 'b';
    const auto bits = std::max(1U, static_cast<unsigned>(std::bit_width(value)));
    unsigned byte = (bits + 7) / 8;
    const unsigned lead = bits - 8 * (byte - 1);  // digits of the topmost byte
    --byte;
    std::memcpy(to, vcd_digits[(value >> (8 * byte)) & 0xff].data() + (8 - lead), lead);
    to += lead;
    while (byte-- > 0) {
      std::memcpy(to, vcd_digits[(value >> (8 * byte)) & 0xff].data(), 8);
      to += 8;
    }
    *to++ = ' ';
  }
  std::memcpy(to, id.text, sizeof id.text);  // a fixed length is faster; the rest is overwritten
  to += id.length;
  *to++ = '\n';
  used_ += static_cast<std::size_t>(to - begin);
}

void vcd_writer::drain() {
  if (used_ && !error_ && std::fwrite(buffer_.data(), 1, used_, file_) != used_) error_ = errno;
  written_ += used_;
  used_ = 0;
}

void vcd_writer::close(ps end) {
  text(fmt::format("#{}\n", end.count()));
  drain();
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && !error_) error_ = errno;
  if (error_) cannot_write(path_, error_);
}

}  // namespace hcasim
