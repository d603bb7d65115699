#include "testbenches/runner/vcd.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "testbenches/runner/errors.h"
#include "testbenches/runner/hierarchy.h"
#include "testbenches/runner/names.h"

namespace hcasim {
namespace {

constexpr std::size_t buffer_bytes = 1 << 20;
constexpr std::size_t first_batch = 1 << 12;
constexpr std::size_t longest_change = 80;  // "b", 64 digits, a blank, the id, newline

// The eight binary digits of each byte.
constexpr auto byte_digits = [] {
  std::array<std::array<char, 8>, 256> t{};
  for (unsigned v = 0; v < 256; ++v) {
    for (unsigned bit = 0; bit < 8; ++bit) t[v][bit] = static_cast<char>('0' + ((v >> (7 - bit)) & 1));
  }
  return t;
}();

std::string clean(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ']') continue;
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out += plain ? c : '_';
  }
  return out;
}

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

vcd_writer::vcd_writer(const std::filesystem::path& file, std::string version, std::uint64_t limit)
    : file_(std::fopen(file.c_str(), "wb")),
      path_(file.string()),
      version_(std::move(version)),
      limit_(limit),
      buffer_(buffer_bytes),
      batch_(first_batch) {
  if (!file_)
    throw input_error(fmt::format("cannot write '{}': {}; choose another folder with -o", path_, std::strerror(errno)));
  std::setvbuf(file_, nullptr, _IONBF, 0);
}

vcd_writer::~vcd_writer() {
  if (file_) std::fclose(file_);
}

void vcd_writer::add(const std::string& scope, const probe_entry& entry) {
  const auto id = static_cast<std::uint32_t>(signals_.size());
  std::string clean_scope;
  for (const std::string& part : split(scope, '.')) {
    if (!clean_scope.empty()) clean_scope += '.';
    clean_scope += clean(part);
  }
  signals_.push_back({clean_scope, clean(entry.name), std::clamp(entry.width, 1U, 64U), entry.labels});
  state s;
  s.width = static_cast<std::uint8_t>(signals_.back().width);
  std::uint32_t rest = id;
  do {  // printable characters '!' to '~'
    s.id[s.id_length++] = static_cast<char>('!' + rest % 94);
    rest /= 94;
  } while (rest);
  states_.push_back(s);
  first_.push_back(never);
  entry.signal->watch(this, id);
}

void vcd_writer::text(std::string_view s) {
  while (!s.empty()) {
    const std::size_t n = std::min(s.size(), buffer_bytes / 2);
    std::memcpy(room(n), s.data(), n);
    used_ += n;
    s.remove_prefix(n);
  }
}

void vcd_writer::write_header() {
  text(fmt::format("$version hcasim {} $end\n$timescale 1 ps $end\n", version_));
  std::vector<std::string> open;
  for (std::size_t i = 0; i < signals_.size(); ++i) {
    const vcd_signal& s = signals_[i];
    const std::vector<std::string> scope = split(s.scope, '.');
    std::size_t common = 0;
    while (common < open.size() && common < scope.size() && open[common] == scope[common]) ++common;
    for (; open.size() > common; open.pop_back()) text("$upscope $end\n");
    for (; open.size() < scope.size(); open.push_back(scope[open.size()])) {
      text(fmt::format("$scope module {} $end\n", scope[open.size()]));
    }
    const std::string range = s.width > 1 ? fmt::format(" [{}:0]", s.width - 1) : "";
    text(fmt::format("$var wire {} {} {}{} $end\n", s.width, std::string_view(states_[i].id, states_[i].id_length), s.name,
                     range));
  }
  for (; !open.empty(); open.pop_back()) text("$upscope $end\n");
  text("$enddefinitions $end\n#0\n$dumpvars\n");
  for (const state& s : states_) {
    text(fmt::format("{}{}\n", s.width > 1 ? "bx " : "x", std::string_view(s.id, s.id_length)));
  }
  text("$end\n");
}

// Stable, by time: radix sort over the bits that differ. Arrival order decides between equal times.
void vcd_writer::sort_pending() {
  constexpr unsigned digit_bits = 11;
  constexpr std::size_t digits = 1U << digit_bits;
  ps low = never;
  ps high{0};
  bool sorted = true;
  ps before{0};
  for (item& i : pending_) {
    i.at = std::max(i.at, floor_);
    low = std::min(low, i.at);
    high = std::max(high, i.at);
    sorted = sorted && before <= i.at;
    before = i.at;
  }
  if (sorted) return;
  if (pending_.size() < 512) {
    std::stable_sort(pending_.begin(), pending_.end(), [](const item& a, const item& b) { return a.at < b.at; });
    return;
  }
  const auto span = static_cast<std::uint64_t>((high - low).count());
  spare_.resize(pending_.size());
  for (unsigned shift = 0; shift < 64 && (span >> shift) != 0; shift += digit_bits) {
    std::array<std::uint32_t, digits> start{};
    const auto digit = [&](const item& i) {
      return static_cast<std::size_t>((static_cast<std::uint64_t>((i.at - low).count()) >> shift) & (digits - 1));
    };
    for (const item& i : pending_) ++start[digit(i)];
    std::uint32_t sum = 0;
    for (std::uint32_t& s : start) sum += std::exchange(s, sum);
    for (const item& i : pending_) spare_[start[digit(i)]++] = i;
    pending_.swap(spare_);
  }
}

void vcd_writer::flush(ps until) {
  if (stopped_at_ != never) {
    pending_.clear();
    return;
  }
  if (until <= floor_) {  // the kernel has not moved on
    batch_ *= 2;
    return;
  }
  sort_pending();
  std::size_t i = 0;
  while (i < pending_.size() && pending_[i].at < until) {
    const ps at = pending_[i].at;
    for (; i < pending_.size() && pending_[i].at == at; ++i) {
      state& s = states_[pending_[i].signal];
      s.next = pending_[i].value;
      if (!s.touched) {
        s.touched = true;
        touched_.push_back(pending_[i].signal);
      }
    }
    write_step(at);
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(i));
  floor_ = std::max(floor_, until);
  batch_ = std::max(first_batch, 2 * pending_.size());
}

void vcd_writer::write_step(ps at) {
  bool stamped = false;
  for (const std::uint32_t id : touched_) {
    state& s = states_[id];
    s.touched = false;
    if (s.width < 64) s.next &= (std::uint64_t{1} << s.width) - 1;
    if ((s.known && s.next == s.shown) || stopped_at_ != never) continue;
    if (!stamped) {
      if (limit_ && bytes() > limit_) {
        stopped_at_ = at;
        continue;
      }
      stamped = true;
      stamp(at);
    }
    if (!s.known) first_[id] = at;
    emit(s);
  }
  touched_.clear();
}

ps vcd_writer::first_change(std::string_view unit) const {
  ps first = never;
  for (std::size_t i = 0; i < signals_.size(); ++i) {
    const std::string_view scope = signals_[i].scope;
    if (scope.substr(scope.rfind('.') + 1) == unit) first = std::min(first, first_[i]);
  }
  return first;
}

// Time stamps share their leading digits for a long while: these are kept.
void vcd_writer::stamp(ps at) {
  constexpr std::int64_t low_range = 100'000'000;
  last_ = at;
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

void vcd_writer::emit(state& s) {
  s.shown = s.next;
  s.known = true;
  ++changes_;
  char* const begin = room(longest_change);
  char* to = begin;
  if (s.width == 1) {
    *to++ = s.next ? '1' : '0';
  } else {
    *to++ = 'b';
    const auto bits = std::max(1U, static_cast<unsigned>(std::bit_width(s.next)));
    unsigned byte = (bits + 7) / 8;
    const unsigned lead = bits - 8 * (byte - 1);  // digits of the topmost byte
    --byte;
    std::memcpy(to, byte_digits[(s.next >> (8 * byte)) & 0xff].data() + (8 - lead), lead);
    to += lead;
    while (byte-- > 0) {
      std::memcpy(to, byte_digits[(s.next >> (8 * byte)) & 0xff].data(), 8);
      to += 8;
    }
    *to++ = ' ';
  }
  std::memcpy(to, s.id, sizeof s.id);  // a fixed length is faster; the rest is overwritten
  to += s.id_length;
  *to++ = '\n';
  used_ += static_cast<std::size_t>(to - begin);
}

void vcd_writer::drain() {
  if (used_ && !failed_ && std::fwrite(buffer_.data(), 1, used_, file_) != used_) failed_ = true;
  written_ += used_;
  used_ = 0;
}

void vcd_writer::finish(ps end) {
  flush(never);
  text(fmt::format("#{}\n", std::max(end, last_).count()));
  drain();
  if (std::fclose(std::exchange(file_, nullptr)) != 0) failed_ = true;
  if (failed_)
    throw input_error(fmt::format("cannot write '{}': the disk is full or the folder is gone; choose another with -o", path_));
}

vcd_recorder::vcd_recorder(const std::filesystem::path& file, std::vector<std::string> patterns, const std::string& version,
                           std::uint64_t limit)
    : sc_module(sc_core::sc_module_name(sc_core::sc_gen_unique_name("vcd_recorder"))),
      writer_(file, version, limit),
      patterns_(std::move(patterns)) {}

void vcd_recorder::end_of_elaboration() {
  std::vector<bool> used(patterns_.size(), false);
  std::vector<std::string> unit_names;
  for (const unit* u : all_units()) {
    const std::string scope = u->name();
    unit_names.push_back(scope);
    for (const probe_entry& e : u->signals().all()) {
      const std::string full = scope + "." + e.name;
      const std::string_view below_top = std::string_view(full).substr(full.find('.') + 1);
      bool wanted = false;
      for (std::size_t p = 0; p < patterns_.size(); ++p) {
        const auto matches = [&](std::string_view name) {
          return glob_match(patterns_[p], name) || glob_match(patterns_[p] + ".*", name);
        };
        if (matches(full) || matches(below_top)) wanted = used[p] = true;
      }
      if (wanted) writer_.add(scope, e);
    }
  }
  for (std::size_t p = 0; p < patterns_.size(); ++p) {
    if (used[p] || patterns_[p] == "*") continue;
    throw input_error(
        fmt::format("--trace {}: no signal has such a name; {}", patterns_[p], suggestion(patterns_[p], unit_names, "units")));
  }
  writer_.write_header();
}

}  // namespace hcasim
