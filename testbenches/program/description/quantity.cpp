#include "testbenches/program/description/quantity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>

#include <fmt/format.h>

namespace hcasim {
namespace {

struct scale {
  std::string_view unit;
  long double factor;
};

constexpr std::array<scale, 2> cycle_units{{{"cycles", 1}, {"cycle", 1}}};
constexpr std::array<scale, 5> time_units{{{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}}};
constexpr std::array<scale, 5> byte_units{
    {{"B", 1}, {"KiB", 1024.0L}, {"MiB", 1048576.0L}, {"GiB", 1073741824.0L}, {"TiB", 1099511627776.0L}}};
constexpr std::array<scale, 5> rate_units{{{"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}}};
constexpr std::array<scale, 4> clock_units{{{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}}};

std::span<const scale> scales(knob_kind kind) {
  switch (kind) {
    case knob_kind::cycles:
      return cycle_units;
    case knob_kind::time:
      return time_units;
    case knob_kind::bytes:
      return byte_units;
    case knob_kind::rate:
      return rate_units;
    case knob_kind::clock:
      return clock_units;
    default:
      return {};
  }
}

std::string_view example(knob_kind kind) {
  switch (kind) {
    case knob_kind::cycles:
      return "6 cycles";
    case knob_kind::time:
      return "200 ns";
    case knob_kind::bytes:
      return "64 KiB";
    case knob_kind::rate:
      return "100 Gb/s";
    case knob_kind::clock:
      return "350 MHz";
    case knob_kind::ratio:
      return "0.01";
    default:
      return "8";
  }
}

bool whole(knob_kind kind) {
  return kind == knob_kind::count || kind == knob_kind::bytes || kind == knob_kind::time;
}

constexpr bool digit(char c) {
  return c >= '0' && c <= '9';
}

// Length of the decimal number that `s` begins with; 0 when there is none.
std::size_t number_length(std::string_view s) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t from = i;
    while (i < s.size() && digit(s[i])) ++i;
    return i - from;
  };
  if (i < s.size() && (s[i] == '-' || s[i] == '+')) ++i;
  std::size_t seen = digits();
  if (i + 1 < s.size() && s[i] == '.' && digit(s[i + 1])) {
    ++i;
    seen += digits();
  }
  if (seen == 0) return 0;
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    const std::size_t mantissa = i++;
    if (i < s.size() && (s[i] == '-' || s[i] == '+')) ++i;
    if (digits() == 0) i = mantissa;
  }
  return i;
}

// Returns the length of the hexadecimal number (0x1F) at the begin of `s`; 0 = there is none.
std::size_t hexadecimal_length(std::string_view s) {
  if (s.size() < 3 || s[0] != '0' || (s[1] != 'x' && s[1] != 'X')) return 0;
  const std::size_t end = std::min(s.find_first_not_of("0123456789abcdefABCDEF", 2), s.size());
  return end > 2 ? end : 0;
}

// Throws quantity_error for an unsupported notation, or one read in different ways by different tools.
void refuse_other_notations(std::string_view text) {
  const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::string_view number = text.substr(sign, text.find(' ', sign) - sign);
  const auto refuse = [&](std::string_view what) {
    throw quantity_error(fmt::format("'{}' {}; write it in decimal, or a whole number in hexadecimal as 0x1F", text, what));
  };
  if (number.empty() || !digit(number[0])) return;
  if (number.find('_') != std::string_view::npos) refuse("has a '_' among its digits");
  if (number.size() < 2 || number[0] != '0') return;
  if (number[1] == 'o' || number[1] == 'O') refuse("is an octal number");
  if (number[1] == 'b' && number.size() > 2 && digit(number[2])) refuse("is a binary number");
  if ((number[1] == 'x' || number[1] == 'X') && hexadecimal_length(number) == 0) refuse("has no digits behind its 0x");
  if (digit(number[1])) refuse("begins with a 0, as octal numbers do");
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

// Returns the unit to suggest for a number that came without one.
std::string_view usual_unit(knob_kind kind) {
  const std::string_view text = example(kind);
  return kind == knob_kind::bytes ? "B" : text.substr(text.find(' ') + 1);
}

long double factor_of(knob_kind kind, std::string_view text, std::string_view unit) {
  const auto all = scales(kind);
  if (all.empty()) {
    if (unit.empty()) return 1;
    throw quantity_error(
        fmt::format("'{}' has a unit, but {} is a number alone; write for example {}", text, kind_name(kind), example(kind)));
  }
  if (unit.empty()) {
    throw quantity_error(fmt::format("'{0}' has no unit; {1} is in {2}: write for example '{0} {3}'", text, kind_name(kind),
                                     unit_list(kind), usual_unit(kind)));
  }
  for (const scale& s : all) {
    if (s.unit == unit) return s.factor;
  }
  throw quantity_error(fmt::format("'{}' has the unit '{}', but {} is in {}; write for example '{}'", text, unit,
                                   kind_name(kind), unit_list(kind), example(kind)));
}

std::string shortest(long double v) {
  return fmt::format("{}", static_cast<double>(v));
}

// value / factor as exact decimal digits; both are whole.
std::string decimal(long double value, long double factor) {
  const auto v = static_cast<std::int64_t>(value);
  const auto f = static_cast<std::int64_t>(factor);
  std::string text = fmt::format("{}", v / f);
  std::int64_t rest = std::abs(v % f);
  if (v < 0 && v / f == 0) text.insert(text.begin(), '-');
  if (rest == 0) return text;
  text += '.';
  for (std::int64_t step = f / 10; rest != 0; step /= 10) {
    text += static_cast<char>('0' + rest / step);
    rest %= step;
  }
  return text;
}

}  // namespace

std::string_view kind_name(knob_kind kind) {
  switch (kind) {
    case knob_kind::count:
      return "a count";
    case knob_kind::cycles:
      return "a number of cycles";
    case knob_kind::time:
      return "a time";
    case knob_kind::bytes:
      return "a size";
    case knob_kind::rate:
      return "a rate";
    case knob_kind::clock:
      return "a clock";
    case knob_kind::ratio:
      return "a ratio";
    case knob_kind::flag:
      return "a flag";
    case knob_kind::choice:
      return "a choice";
    case knob_kind::text:
      return "a text";
    case knob_kind::path:
      return "a name or a path";
  }
  return "";
}

std::string unit_list(knob_kind kind) {
  if (kind == knob_kind::cycles) return "cycles";
  const auto all = scales(kind);
  std::string list;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i) list += i + 1 == all.size() ? " or " : ", ";
    list += all[i].unit;
  }
  return list;
}

long double parse_quantity(knob_kind kind, std::string_view given) {
  const std::string_view text = trim(given);
  if (kind == knob_kind::time && text == "never") return static_cast<long double>(never.count());
  refuse_other_notations(text);
  const std::size_t hexadecimal = hexadecimal_length(text);
  const std::size_t length = hexadecimal != 0 ? hexadecimal : number_length(text);
  if (length == 0) {
    throw quantity_error(fmt::format("'{}' is not a number; {} is written like '{}'", text, kind_name(kind), example(kind)));
  }
  const std::string number(text.substr(0, length));
  const long double factor = factor_of(kind, text, trim(text.substr(length)));
  const long double value = std::strtold(number.c_str(), nullptr) * factor;
  if (!std::isfinite(value)) throw quantity_error(fmt::format("'{}' is too large", text));
  if (!whole(kind)) return value;

  const long double nearest = std::round(value);
  // A decimal such as 0.1 us is not exact in binary; a fraction of a base unit is much larger than that error.
  constexpr long double relative_error = 2e-19L;
  if (std::fabs(value - nearest) > std::max(1e-6L, std::fabs(value) * relative_error)) {
    if (kind == knob_kind::count) {
      throw quantity_error(fmt::format("'{}' is not a whole number; write for example {}", text, example(kind)));
    }
    throw quantity_error(fmt::format("'{}' is not a whole number of {}; round it", text,
                                     kind == knob_kind::time ? "picoseconds, the finest time there is" : "bytes"));
  }
  return nearest;
}

std::string time_text(ps t) {
  return format_quantity(knob_kind::time, static_cast<long double>(t.count()));
}

std::string format_quantity(knob_kind kind, long double value) {
  if (kind == knob_kind::time && value >= static_cast<long double>(never.count())) return "never";
  if (kind == knob_kind::count) return fmt::format("{:.0f}", value);
  const auto all = scales(kind);
  if (all.empty()) return shortest(value);
  if (kind == knob_kind::cycles) return shortest(value) + (value == 1 ? " cycle" : " cycles");
  if (value == 0) return fmt::format("0 {}", kind == knob_kind::time ? "ns" : all[0].unit);
  for (std::size_t i = all.size(); i-- > 1;) {
    const long double factor = all[i].factor;
    if (std::fabs(value) < factor) continue;
    std::string number;
    if (kind == knob_kind::bytes) {
      if (std::fmod(value, factor) != 0) continue;
      number = fmt::format("{:.0f}", value / factor);
    } else if (kind == knob_kind::time) {
      number = decimal(value, factor);
    } else {
      number = shortest(value / factor);
      if (std::strtold(number.c_str(), nullptr) * factor != value &&
          static_cast<double>(std::strtold(number.c_str(), nullptr) * factor) != static_cast<double>(value)) {
        continue;
      }
    }
    return fmt::format("{} {}", number, all[i].unit);
  }
  return whole(kind) ? fmt::format("{:.0f} {}", value, all[0].unit) : fmt::format("{} {}", shortest(value), all[0].unit);
}

bool parse_flag(std::string_view given) {
  const std::string_view text = trim(given);
  if (text == "true") return true;
  if (text == "false") return false;
  throw quantity_error(fmt::format("'{}' is not a flag; write true or false", text));
}

}  // namespace hcasim
