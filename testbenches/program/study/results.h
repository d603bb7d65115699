// A study's result file: SQLite in WAL mode, one row for each point. The content of a row of `points` is a function of the
// description and the seed. The host's speed is kept apart, in `hosts`. docs/studies.md lists the tables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "testbenches/program/study/point.h"
#include "testbenches/program/study/study.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hcasim {

// Returns the text as a literal of SQL.
std::string sql_text(const std::string& text);

class result_file {
 public:
  static constexpr int format = 2;
  static constexpr const char* file_name = "results.sqlite";

  // Creates a result file. Like all functions here, throws input_error: not writable, damaged, no result file, another format.
  static result_file create(const std::filesystem::path& file, const study& s);
  static result_file open(const std::filesystem::path& file, bool to_write);
  ~result_file();
  result_file(result_file&&) noexcept;
  result_file& operator=(result_file&&) = delete;

  // Throws input_error unless the file is of these points and this version of the program.
  void check_same(const study& s);
  // Takes over metrics and charts of the study, which may have changed, and computes every row's metrics again.
  void refresh(const study& s);

  // Returns the points that need not run any more; with `retry`, failed points must run again.
  std::set<std::uint64_t> finished(bool retry);
  // Writes a record in a transaction of its own: it survives a kill -9.
  void put(const point_record& r);
  [[nodiscard]] bool knows_catalogue(const std::string& hash) const { return catalogues_.contains(hash); }

  // Writes what follows from all points: means over seeds, effects of a tornado, and the goals found.
  void put_summaries(const study& s, const nlohmann::ordered_json& goals);

  // Calls `row` for each row of a query; the values as text, empty for NULL.
  using row_function = std::function<void(const std::vector<std::string>&)>;
  void query(const std::string& sql, const row_function& row);
  std::string study_value(const std::string& key);

 private:
  class statement;
  explicit result_file(const std::filesystem::path& file);

  void connect(int flags);
  void execute(const std::string& sql);
  void check_format();
  void begin_writing();
  void store_study(const study& s);
  [[noreturn]] void fail(const std::string& doing) const;

  std::filesystem::path file_;
  sqlite3* db_ = nullptr;
  bool writer_ = false;
  std::unique_ptr<statement> insert_;
  std::unique_ptr<statement> insert_host_;
  std::set<std::string> catalogues_;
};

}  // namespace hcasim
