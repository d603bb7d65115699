// Published measurements of real adapters: a CSV file with a line for each point.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "testbenches/program/description/errors.h"

namespace hcasim {

// A unit of measurement, as a multiple of the base unit of its kind (s, 1/s, b/s).
struct measured_unit {
  enum class kind : std::uint8_t { time, rate, bandwidth };
  kind of = kind::time;
  double factor = 1;
};

// Returns nothing for a unit that is not known.
std::optional<measured_unit> find_unit(std::string_view name);
std::vector<std::string> known_units();

struct published_point {
  std::string experiment;
  std::string series;
  std::string adapter;  // as the file names it
  std::string x_name;
  double x = 0;
  double y = 0;
  std::string unit;
  place where;
};

struct published_data {
  std::filesystem::path file;
  std::string crc;  // CRC-32 of the file, as `crc32` and `gzip -lv` print it
  std::vector<published_point> points;
};

// Reads a file with the columns exp, series, preset, xname, x, y, unit, source and accuracy, in any order. Throws
// description_error.
published_data read_published(const std::filesystem::path& file);

// Returns the CRC-32 of a file, eight digits.
std::string crc_of(const std::filesystem::path& file);

}  // namespace hcasim
