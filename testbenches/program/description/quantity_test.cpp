// Quantities: every unit of every kind, every way to get one wrong, and that what is written is read back.
#include "testbenches/program/description/quantity.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace hcasim {
namespace {

using enum knob_kind;

std::string error_of(knob_kind kind, std::string_view text) {
  try {
    parse_quantity(kind, text);
  } catch (const quantity_error& e) {
    return e.what();
  }
  return "no error";
}

TEST(quantity, every_unit) {
  const struct {
    knob_kind kind;
    std::string_view text;
    long double value;
  } rows[] = {{count, "0", 0},
              {count, "8", 8},
              {count, "4096", 4096},
              {count, "18446744073709551615", 18446744073709551615.0L},
              {count, "1e3", 1000},
              {count, "-1", -1},
              {count, "0x1F", 31},
              {count, "0xffffffffffffffff", 18446744073709551615.0L},
              {bytes, "0x10 KiB", 16384},
              {time, "0x20ns", 32'000},
              {cycles, "6 cycles", 6},
              {cycles, "1 cycle", 1},
              {cycles, "1.5 cycles", 1.5},
              {time, "12 ps", 12},
              {time, "200 ns", 200'000},
              {time, "200ns", 200'000},
              {time, "  200   ns ", 200'000},
              {time, "1 us", 1'000'000},
              {time, "0.1 us", 100'000},
              {time, "3.5 ms", 3'500'000'000},
              {time, "2 s", 2e12L},
              {time, "0 ns", 0},
              {time, "never", static_cast<long double>(never.count())},
              {bytes, "4096 B", 4096},
              {bytes, "64 KiB", 65536},
              {bytes, "2 MiB", 2097152},
              {bytes, "1 GiB", 1073741824},
              {bytes, "2 TiB", 2199023255552},
              {bytes, "0.5 KiB", 512},
              {rate, "9600 b/s", 9600},
              {rate, "64 kb/s", 64e3L},
              {rate, "10 Mb/s", 10e6L},
              {rate, "100 Gb/s", 100e9L},
              {rate, "54.5 Gb/s", 54.5e9L},
              {rate, "1.6 Tb/s", 1.6e12L},
              {clock, "5 Hz", 5},
              {clock, "32 kHz", 32e3L},
              {clock, "350 MHz", 350e6L},
              {clock, "1.2 GHz", 1.2e9L},
              {ratio, "0.01", 0.01L},
              {ratio, "1e-6", 1e-6L},
              {ratio, "1", 1}};
  for (const auto& r : rows) EXPECT_NEAR(static_cast<double>(parse_quantity(r.kind, r.text) - r.value), 0, 1e-6) << r.text;
}

TEST(quantity, errors_say_what_to_write) {
  EXPECT_EQ(error_of(time, "200"), "'200' has no unit; a time is in ps, ns, us, ms or s: write for example '200 ns'");
  EXPECT_EQ(error_of(bytes, "64"), "'64' has no unit; a size is in B, KiB, MiB, GiB or TiB: write for example '64 B'");
  EXPECT_EQ(error_of(cycles, "6"), "'6' has no unit; a number of cycles is in cycles: write for example '6 cycles'");
  EXPECT_EQ(error_of(rate, "100"),
            "'100' has no unit; a rate is in b/s, kb/s, Mb/s, Gb/s or Tb/s: write for example '100 Gb/s'");
  EXPECT_EQ(error_of(clock, "350"), "'350' has no unit; a clock is in Hz, kHz, MHz or GHz: write for example '350 MHz'");
  EXPECT_EQ(error_of(bytes, "64 KB"),
            "'64 KB' has the unit 'KB', but a size is in B, KiB, MiB, GiB or TiB; write for example '64 KiB'");
  EXPECT_EQ(error_of(time, "6 cycles"),
            "'6 cycles' has the unit 'cycles', but a time is in ps, ns, us, ms or s; write for example '200 ns'");
  EXPECT_EQ(error_of(cycles, "6 ns"),
            "'6 ns' has the unit 'ns', but a number of cycles is in cycles; write for example '6 cycles'");
  EXPECT_EQ(error_of(rate, "100 GB/s"),
            "'100 GB/s' has the unit 'GB/s', but a rate is in b/s, kb/s, Mb/s, Gb/s or Tb/s; write for example '100 Gb/s'");
  EXPECT_EQ(error_of(count, "4Ki"), "'4Ki' has a unit, but a count is a number alone; write for example 8");
  EXPECT_EQ(error_of(ratio, "5 %"), "'5 %' has a unit, but a ratio is a number alone; write for example 0.01");
  EXPECT_EQ(error_of(count, "many"), "'many' is not a number; a count is written like '8'");
  EXPECT_EQ(error_of(time, ""), "'' is not a number; a time is written like '200 ns'");
  EXPECT_EQ(error_of(count, "8.5"), "'8.5' is not a whole number; write for example 8");
  EXPECT_EQ(error_of(time, "0.5 ps"), "'0.5 ps' is not a whole number of picoseconds, the finest time there is; round it");
  EXPECT_EQ(error_of(bytes, "0.3 KiB"), "'0.3 KiB' is not a whole number of bytes; round it");
  EXPECT_EQ(error_of(time, "1e9999 s"), "'1e9999 s' is too large");
  for (const auto* text : {"inf", "nan", "0x", "-", "+", ".", ".5", "e5", "1.2.3 ns", "--5", "ns 5", "1,5 ns"}) {
    EXPECT_NE(error_of(time, text), "no error") << text;
    EXPECT_NE(error_of(count, text), "no error") << text;
  }
}

// Notations of numbers that YAML 1.1 or other languages read as another number.
TEST(quantity, other_notations_are_named) {
  const auto told = [](const char* text, const char* what) {
    const std::string mend = "; write it in decimal, or a whole number in hexadecimal as 0x1F";
    EXPECT_EQ(error_of(count, text), fmt::format("'{}' {}{}", text, what, mend));
    const std::string timed = fmt::format("{} ns", text);
    EXPECT_EQ(error_of(time, timed), fmt::format("'{}' {}{}", timed, what, mend));
  };
  told("017", "begins with a 0, as octal numbers do");
  told("-08", "begins with a 0, as octal numbers do");
  told("0o17", "is an octal number");
  told("0b101", "is a binary number");
  told("1_000", "has a '_' among its digits");
  told("0xg", "has no digits behind its 0x");
}

TEST(quantity, flags) {
  EXPECT_TRUE(parse_flag("true"));
  EXPECT_FALSE(parse_flag("false"));
  for (const auto* text : {"yes", "True", "1", "", "on"}) EXPECT_THROW(parse_flag(text), quantity_error) << text;
}

TEST(quantity, written_in_the_largest_fitting_unit) {
  EXPECT_EQ(format_quantity(count, 4096), "4096");
  EXPECT_EQ(format_quantity(count, 18446744073709551615.0L), "18446744073709551615");
  EXPECT_EQ(format_quantity(cycles, 1), "1 cycle");
  EXPECT_EQ(format_quantity(cycles, 2.5), "2.5 cycles");
  EXPECT_EQ(format_quantity(time, 0), "0 ns");
  EXPECT_EQ(format_quantity(time, 12), "12 ps");
  EXPECT_EQ(format_quantity(time, 200'000), "200 ns");
  EXPECT_EQ(format_quantity(time, 1'500), "1.5 ns");
  EXPECT_EQ(format_quantity(time, 3'500'000'000), "3.5 ms");
  EXPECT_EQ(format_quantity(time, 1'000'000'000'001), "1.000000000001 s");
  EXPECT_EQ(format_quantity(time, static_cast<long double>(never.count())), "never");
  EXPECT_EQ(format_quantity(bytes, 0), "0 B");
  EXPECT_EQ(format_quantity(bytes, 65536), "64 KiB");
  EXPECT_EQ(format_quantity(bytes, 65537), "65537 B");
  EXPECT_EQ(format_quantity(bytes, 1.5L * (1 << 30)), "1536 MiB");
  EXPECT_EQ(format_quantity(rate, 54.5e9L), "54.5 Gb/s");
  EXPECT_EQ(format_quantity(clock, 350e6L), "350 MHz");
  EXPECT_EQ(format_quantity(ratio, 0.01), "0.01");
}

TEST(quantity, whole_kinds_round_trip_exactly) {
  rc::check("count, bytes and time", [](std::uint64_t v) {
    const auto limited = static_cast<long double>(v >> 1);  // the range of a time
    for (const knob_kind kind : {count, bytes, time}) {
      RC_ASSERT(parse_quantity(kind, format_quantity(kind, limited)) == limited);
    }
  });
}

TEST(quantity, real_kinds_round_trip_exactly) {
  rc::check("rate, clock, cycles and ratio as double", [] {
    const double v = static_cast<double>(*rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000)) /
                     static_cast<double>(*rc::gen::inRange(1, 1000));
    for (const knob_kind kind : {rate, clock, cycles, ratio}) {
      RC_ASSERT(static_cast<double>(parse_quantity(kind, format_quantity(kind, v))) == v);
    }
  });
}

}  // namespace
}  // namespace hcasim
