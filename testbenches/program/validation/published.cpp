#include "testbenches/program/validation/published.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "testbenches/program/description/names.h"
#include "testbenches/program/description/system_errors.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using unit_kind = measured_unit::kind;

constexpr double mebibyte = 8.0 * (1 << 20);
constexpr double gibibyte = 8.0 * (1 << 30);
constexpr std::pair<const char*, measured_unit> unit_table[] = {{"ns", {unit_kind::time, 1e-9}},
                                                                {"us", {unit_kind::time, 1e-6}},
                                                                {"ms", {unit_kind::time, 1e-3}},
                                                                {"Mops", {unit_kind::rate, 1e6}},
                                                                {"Mpps", {unit_kind::rate, 1e6}},
                                                                {"M/s", {unit_kind::rate, 1e6}},
                                                                {"Mops/machine", {unit_kind::rate, 1e6}},
                                                                {"Mops/machine(2 NIC)", {unit_kind::rate, 1e6}},
                                                                {"M cachelines/s", {unit_kind::rate, 1e6}},
                                                                {"Mb/s", {unit_kind::bandwidth, 1e6}},
                                                                {"Gb/s", {unit_kind::bandwidth, 1e9}},
                                                                {"MiB/s", {unit_kind::bandwidth, mebibyte}},
                                                                {"GiB/s", {unit_kind::bandwidth, gibibyte}},
                                                                {"MB/s", {unit_kind::bandwidth, 8e6}},
                                                                {"GB/s", {unit_kind::bandwidth, 8e9}}};

constexpr std::array<const char*, 9> csv_columns{"exp", "series", "preset", "xname", "x", "y", "unit", "source", "accuracy"};
enum column_number : std::uint8_t { exp_column, series_column, adapter_column, x_name_column, x_column, y_column, unit_column };

std::string bytes_of_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || fs::is_directory(file))
    throw input_error(fmt::format("cannot read '{}': {}", file.string(),
                                  fs::exists(file) ? "it is no file that can be read" : "there is no such file"));
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string crc_of_text(const std::string& text) {
  return fmt::format("{:08x}", libdeflate_crc32(0, text.data(), text.size()));
}

// Splits a line at its commas; a field in quotes may hold commas, and a quote as two. False = a quote is open at the end.
bool split_line(const std::string& line, std::vector<std::string>& fields) {
  fields.assign(1, "");
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return !quoted;
}

struct line_reader {
  const fs::path& file;
  int line = 1;
  std::vector<std::string> fields{};
  std::array<std::size_t, csv_columns.size()> at{};  // field of each column

  [[noreturn]] void fail(std::string_view column, const std::string& message) const {
    throw description_error({file.string(), line, 1}, std::string(column), message);
  }

  void read_header() {
    for (std::size_t c = 0; c < csv_columns.size(); ++c) {
      const auto found = std::find(fields.begin(), fields.end(), csv_columns[c]);
      if (found == fields.end())
        fail(csv_columns[c],
             fmt::format("this column is missing; the first line names the columns {}", fmt::join(csv_columns, ",")));
      at[c] = static_cast<std::size_t>(found - fields.begin());
    }
  }

  [[nodiscard]] const std::string& text(column_number c) const { return fields[at[c]]; }

  [[nodiscard]] double number(column_number c) const {
    const std::string& s = text(c);
    double v = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (error != std::errc{} || end != s.data() + s.size() || !std::isfinite(v))
      fail(csv_columns[c], fmt::format("'{}' is not a number; write for example 64", s));
    return v;
  }

  [[nodiscard]] published_point point(std::size_t wanted) const {
    if (fields.size() != wanted)
      fail("", fmt::format("the line has {} fields, the first line {}; put a field with commas into quotes", fields.size(),
                           wanted));
    published_point p{text(exp_column), text(series_column), text(adapter_column), text(x_name_column),
                      number(x_column), number(y_column),    text(unit_column),    {file.string(), line, 1}};
    if (p.experiment.empty()) fail(csv_columns[exp_column], "no experiment is named; write its name, as V01");
    if (!(p.y > 0))
      fail(csv_columns[y_column], fmt::format("{} is no measurement; a value above 0 is expected", text(y_column)));
    if (!find_unit(p.unit)) {
      const auto known = known_units();
      fail(csv_columns[unit_column],
           fmt::format("the unit '{}' is not known; {}", p.unit, suggestion(p.unit, known, "known units")));
    }
    return p;
  }
};

}  // namespace

std::optional<measured_unit> find_unit(std::string_view name) {
  for (const auto& [known, unit] : unit_table) {
    if (name == known) return unit;
  }
  return std::nullopt;
}

std::vector<std::string> known_units() {
  std::vector<std::string> names;
  for (const auto& [known, unit] : unit_table) names.emplace_back(known);
  return names;
}

std::string crc_of(const fs::path& file) {
  return crc_of_text(bytes_of_file(file));
}

published_data read_published(const fs::path& file) {
  const std::string content = bytes_of_file(file);
  published_data data{file, crc_of_text(content), {}};
  std::istringstream in(content);
  line_reader reader{file};
  std::size_t wanted = 0;
  for (std::string line; std::getline(in, line); ++reader.line) {
    if (line.empty() || line == "\r") continue;
    if (!split_line(line, reader.fields)) reader.fail("", "a quote is not closed; add it at the end of its field");
    if (wanted == 0) {
      reader.read_header();
      wanted = reader.fields.size();
    } else {
      data.points.push_back(reader.point(wanted));
    }
  }
  if (data.points.empty())
    throw description_error({file.string(), 1, 1}, "",
                            "the file has no points; the first line names the columns, the others are points");
  return data;
}

}  // namespace hcasim
