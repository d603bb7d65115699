#include <unistd.h>

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/results/parquet.h"
#include "testbenches/program/results/report.h"
#include "testbenches/program/study/results.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

// Returns a cell of CSV (RFC 4180).
std::string csv_cell(const ordered_json& value) {
  if (value.is_null()) return {};
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::string csv_line(const ordered_json& row) {
  std::vector<std::string> cells;
  for (const ordered_json& value : row) cells.push_back(csv_cell(value));
  return fmt::format("{}\n", fmt::join(cells, ","));
}

class results_command final : public command {
 public:
  results_command()
      : command("results", "Print the points of a study, or another table of its results, as CSV, JSON or Parquet") {}

  void declare(CLI::App& options) override {
    options.add_option("results", folder_, "The folder that 'hcasim sweep' wrote")->required()->type_name("DIR");
    options.add_option("--table", table_, "Table or view of the result file; the default has axes and metrics of each point")
        ->type_name("NAME")
        ->capture_default_str();
    CLI::Option* const csv = options.add_flag("--csv", csv_, "Print CSV, the default");
    CLI::Option* const json = options.add_flag("--json", json_, "Print JSON: a list of objects")->excludes(csv);
    options.add_flag("--parquet", parquet_, "Write Apache Parquet to the standard output, which must be no terminal")
        ->excludes(csv)
        ->excludes(json);
    options.footer("docs/studies.md lists the tables.");
  }

  int run(const context& /*c*/) override {
    if (parquet_ && ::isatty(STDOUT_FILENO))
      throw input_error("--parquet: a terminal shows no such file; write > points.parquet");
    result_file results = result_file::open(std::filesystem::path(folder_) / result_file::file_name, false);
    check_table(results);
    std::vector<std::string> columns;
    std::vector<std::string> wanted;
    results.query(fmt::format("SELECT name, 'json_array(\"' || name || '\")' FROM pragma_table_info({})", sql_text(table_)),
                  [&](const auto& row) {
                    columns.push_back(row[0]);
                    wanted.push_back(row[1]);
                  });
    ordered_json list = ordered_json::array();
    const bool csv = !json_ && !parquet_;
    if (csv) std::cout << csv_line(ordered_json(columns));
    const std::string order = fmt::format("\"{}\"", fmt::join(columns, "\", \""));
    const std::string rows = fmt::format("SELECT {} FROM \"{}\" ORDER BY {}", fmt::join(wanted, ", "), table_, order);
    results.query(rows, [&](const auto& cells) {
      ordered_json row = ordered_json::array();
      for (const std::string& cell : cells) row.push_back(ordered_json::parse(cell)[0]);
      if (csv) {
        std::cout << csv_line(row);
        return;
      }
      if (parquet_) {
        list.push_back(std::move(row));
        return;
      }
      ordered_json& to = list.emplace_back(ordered_json::object());
      for (std::size_t i = 0; i < columns.size(); ++i) to[columns[i]] = row[i];
    });
    if (json_) std::cout << dump(list);
    if (parquet_) std::cout << parquet_file(columns, list);
    return run_passed;
  }

 private:
  void check_table(result_file& results) const {
    std::vector<std::string> tables;
    results.query("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name",
                  [&](const auto& row) { tables.push_back(row[0]); });
    if (std::find(tables.begin(), tables.end(), table_) == tables.end()) {
      throw input_error(
          fmt::format("--table: '{}' has no table '{}'; {}", folder_, table_, suggestion(table_, tables, "tables")));
    }
  }

  std::string folder_;
  std::string table_ = "results";
  bool csv_ = false;
  bool json_ = false;
  bool parquet_ = false;
};

}  // namespace

void add_results_command(command_list& to) {
  to.push_back(std::make_unique<results_command>());
}

}  // namespace hcasim
