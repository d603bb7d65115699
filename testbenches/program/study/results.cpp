#include "testbenches/program/study/results.h"
#include "testbenches/program/places/places.h"

#include <sqlite3.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int application = 0x68636173;  // "hcas"

constexpr const char* schema = R"(
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE axes (position INTEGER, name TEXT, title TEXT, unit TEXT, logarithmic INTEGER, value_index INTEGER, label TEXT,
                   number, settings TEXT, PRIMARY KEY (position, value_index)) WITHOUT ROWID;
CREATE TABLE metrics (position INTEGER PRIMARY KEY, name TEXT, title TEXT, unit TEXT);
CREATE TABLE charts (position INTEGER PRIMARY KEY, kind TEXT, title TEXT, x TEXT, series TEXT, metrics TEXT,
                     place TEXT);
CREATE TABLE points (id INTEGER PRIMARY KEY, status TEXT NOT NULL, seed TEXT, version TEXT, testbench TEXT, simulated_ns REAL,
                     axes TEXT, metrics TEXT, figures TEXT, units TEXT, tables TEXT, statistics TEXT, resources TEXT,
                     description TEXT, presets TEXT, failures TEXT, cost TEXT,
                     breakdown TEXT, series TEXT, filling TEXT);
CREATE TABLE what_ifs (id INTEGER PRIMARY KEY, gains TEXT NOT NULL);
CREATE TABLE hosts (id INTEGER PRIMARY KEY, host TEXT);
CREATE TABLE statistics (unit TEXT, name TEXT, measure TEXT, help TEXT, PRIMARY KEY (unit, name)) WITHOUT ROWID;
)";

std::string quoted_name(const std::string& name) {
  return "\"" + name + "\"";
}
constexpr const char* chart_words[] = {"line", "heat", "stacked", "tornado"};

}  // namespace

std::string sql_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

class result_file::statement {
 public:
  statement(result_file& owner, const std::string& sql) : owner_(owner) {
    if (sqlite3_prepare_v2(owner.db_, sql.c_str(), -1, &s_, nullptr) != SQLITE_OK) owner.fail("read");
  }
  ~statement() { sqlite3_finalize(s_); }
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;

  // An empty text is NULL.
  statement& bind(int at, const std::string& text) {
    if (text.empty()) {
      sqlite3_bind_null(s_, at);
    } else {
      sqlite3_bind_text64(s_, at, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    }
    return *this;
  }
  statement& bind(int at, std::int64_t v) {
    sqlite3_bind_int64(s_, at, v);
    return *this;
  }
  statement& bind_real(int at, double v) {
    sqlite3_bind_double(s_, at, v);
    return *this;
  }
  bool step() {
    const int r = sqlite3_step(s_);
    if (r == SQLITE_ROW) return true;
    if (r != SQLITE_DONE) owner_.fail("use");
    return false;
  }
  void run() {
    while (step()) {
    }
    sqlite3_reset(s_);
    sqlite3_clear_bindings(s_);
  }
  [[nodiscard]] std::string text(int column) const {
    const auto* t = sqlite3_column_text(s_, column);
    return t ? std::string(reinterpret_cast<const char*>(t), static_cast<std::size_t>(sqlite3_column_bytes(s_, column))) : "";
  }
  [[nodiscard]] std::int64_t integer(int column) const { return sqlite3_column_int64(s_, column); }
  [[nodiscard]] int columns() const { return sqlite3_column_count(s_); }

 private:
  result_file& owner_;
  sqlite3_stmt* s_ = nullptr;
};

result_file::result_file(const fs::path& file) : file_(file) {}

result_file::result_file(result_file&& o) noexcept
    : file_(std::move(o.file_)),
      db_(std::exchange(o.db_, nullptr)),
      writer_(std::exchange(o.writer_, false)),
      catalogues_(std::move(o.catalogues_)) {}

result_file::~result_file() {
  insert_.reset();
  insert_host_.reset();
  // Goes back to one file, which can be read from anywhere; not while another process reads the results.
  if (writer_) sqlite3_exec(db_, "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
  sqlite3_close(db_);
}

void result_file::fail(const std::string& doing) const {
  const int code = sqlite3_errcode(db_);
  std::string mend = "nothing that was finished is lost; mend it and go on with --resume";
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
    mend = "the file is damaged or no result file; 'sqlite3 FILE .recover' saves what can be read";
  } else if (std::string_view(sqlite3_errmsg(db_)) == "malformed JSON") {
    mend = "the file is damaged; run the study into another folder";
  } else if (code == SQLITE_BUSY) {
    mend = "another program is writing to it; wait for it";
  } else if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) {
    mend = "check the path and its permissions";
  }
  std::error_code ec;
  if (fs::is_directory(file_, ec))
    throw input_error(fmt::format("'{}' is a folder and no result file; choose another folder", file_.string()));
  std::string why = fmt::format("{}; {}", sqlite3_errmsg(db_), mend);
  if (const int error = sqlite3_system_errno(db_); code == SQLITE_CANTOPEN && error != 0) why = cause(error, mend);
  throw input_error(fmt::format("cannot {} '{}': {}", doing, file_.string(), why));
}

void result_file::connect(int flags) {
  const int code = sqlite3_open_v2(file_.c_str(), &db_, flags, nullptr);
  if (code != SQLITE_OK) fail("open");
  sqlite3_busy_timeout(db_, 5000);
}

void result_file::execute(const std::string& sql) {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail("write");
}

result_file result_file::create(const fs::path& file, const study& s) {
  result_file f(file);
  f.connect(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  f.begin_writing();
  f.execute("BEGIN");
  f.execute(schema);
  f.store_study(s);
  f.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", application, format));
  f.execute("COMMIT");
  return f;
}

// A commit survives the end of this process; the operating system's own end may cost the last rows, never the file.
void result_file::begin_writing() {
  execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  writer_ = true;
}

result_file result_file::open(const fs::path& file, bool to_write) {
  result_file f(file);
  std::error_code ec;
  if (!fs::exists(file, ec)) {
    throw input_error(fmt::format("there is no result file '{}'; 'hcasim sweep STUDY.yaml -o DIR' makes one", file.string()));
  }
  f.connect(to_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
  f.check_format();
  if (to_write) f.begin_writing();
  f.query("SELECT value FROM study WHERE key LIKE 'catalogue %'", [&](const auto& row) { f.catalogues_.insert(row[0]); });
  return f;
}

void result_file::check_format() {
  std::int64_t id = 0;
  std::int64_t version = 0;
  query("SELECT * FROM pragma_application_id, pragma_user_version", [&](const auto& row) {
    id = std::stoll(row[0]);
    version = std::stoll(row[1]);
  });
  if (id != application) {
    throw input_error(fmt::format("'{}' is not a result file of hcasim; choose another folder", file_.string()));
  }
  if (version != format) {
    throw input_error(
        fmt::format("'{}' has result format {}, but this program writes format {}; use the program that wrote it ({})",
                    file_.string(), version, format, study_value("version")));
  }
  std::string verdict;
  query("PRAGMA quick_check(1)", [&](const auto& row) { verdict = row[0]; });
  std::replace(verdict.begin(), verdict.end(), '\n', ' ');
  if (verdict != "ok") {
    throw input_error(
        fmt::format("'{}' is damaged: {}; 'sqlite3 FILE .recover' saves what can be read", file_.string(), verdict));
  }
}

std::string result_file::study_value(const std::string& key) {
  std::string value;
  query("SELECT value FROM study WHERE key = " + sql_text(key), [&](const auto& row) { value = row[0]; });
  return value;
}

void result_file::check_same(const study& s) {
  if (const std::string version = study_value("version"); version != places::version) {
    throw input_error(
        fmt::format("'{}' was begun by hcasim {}, this is {}; results of two versions are not mixed: choose another folder",
                    file_.string(), version, places::version));
  }
  if (study_value("fingerprint") != s.fingerprint()) {
    throw input_error(
        fmt::format("'{}' is of another study, or the base or the axes of '{}' have changed; choose another folder with -o",
                    file_.string(), s.file().string()));
  }
}

void result_file::store_study(const study& s) {
  const auto put_value = [&](const std::string& key, const std::string& value) {
    statement(*this, "INSERT OR REPLACE INTO study VALUES (?, ?)").bind(1, key).bind(2, value.empty() ? " " : value).run();
  };
  put_value("name", s.name());
  put_value("question", s.question());
  put_value("file", s.file().string());
  put_value("text", s.text());
  put_value("fingerprint", s.fingerprint());
  put_value("version", places::version);
  put_value("points", std::to_string(s.points()));
  std::string repeats;
  for (const study_axis& a : s.axes()) {
    if (a.repeats) repeats = a.name;
  }
  put_value("repeats", repeats);
  execute("DELETE FROM axes; DELETE FROM metrics; DELETE FROM charts; DROP VIEW IF EXISTS results;");
  std::string view = "CREATE VIEW results AS SELECT id, status";
  for (std::size_t a = 0; a < s.axes().size(); ++a) {
    const study_axis& axis = s.axes()[a];
    for (std::size_t v = 0; v < axis.values.size(); ++v) {
      const axis_value& value = axis.values[v];
      ordered_json settings = ordered_json::object();
      for (const auto& [path, text] : value.settings) settings[path] = text;
      const std::string json = compact(settings);
      statement insert(*this, "INSERT INTO axes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
      insert.bind(1, static_cast<std::int64_t>(a)).bind(2, axis.name).bind(3, axis.title).bind(4, axis.unit);
      insert.bind(5, std::int64_t{axis.logarithmic}).bind(6, static_cast<std::int64_t>(v)).bind(7, value.label).bind(9, json);
      if (value.number.is_number()) insert.bind_real(8, value.number.get<double>());
      insert.run();
    }
    // Plain numbers compare as numbers.
    const bool numbers = std::all_of(axis.values.begin(), axis.values.end(), [](const axis_value& v) {
      return !v.label.empty() && v.label.find_first_not_of("0123456789.") == std::string::npos;
    });
    view += fmt::format(", {}json_extract(axes, '$.{}'){} AS {}", numbers ? "CAST(" : "", axis.name,
                        numbers ? " AS NUMERIC)" : "", quoted_name(axis.name));
  }
  for (std::size_t i = 0; i < s.metrics().size(); ++i) {
    const metric& m = s.metrics()[i];
    statement(*this, "INSERT INTO metrics VALUES (?, ?, ?, ?)")
        .bind(1, static_cast<std::int64_t>(i))
        .bind(2, m.name)
        .bind(3, m.title)
        .bind(4, m.unit)
        .run();
    view += fmt::format(", json_extract(metrics, '$.{}') AS {}", m.name, quoted_name(m.name));
  }
  for (std::size_t i = 0; i < s.charts().size(); ++i) {
    const study_chart& c = s.charts()[i];
    const std::string metrics = compact(ordered_json(c.metrics));
    ordered_json at = ordered_json::object();
    for (const auto& [axis, label] : c.at) at[axis] = label;
    const std::string chart_place = compact(at);
    const std::string kind = chart_words[static_cast<std::size_t>(c.kind)];
    statement(*this, "INSERT INTO charts VALUES (?, ?, ?, ?, ?, ?, ?)")
        .bind(1, static_cast<std::int64_t>(i))
        .bind(2, kind)
        .bind(3, c.title)
        .bind(4, c.x)
        .bind(5, c.series)
        .bind(6, metrics)
        .bind(7, chart_place)
        .run();
  }
  execute(view + " FROM points");
}

void result_file::refresh(const study& s) {
  execute("BEGIN");
  store_study(s);
  std::vector<std::pair<std::string, std::string>> changed;
  query(
      "SELECT id, figures, tables, statistics, resources, description, cost, breakdown, series FROM points "
      "WHERE status = 'passed'",
      [&](const auto& row) {
        point_data data;
        data.figures = ordered_json::parse(row[1]);
        data.tables = ordered_json::parse(row[2]);
        data.statistics = ordered_json::parse(row[3]);
        data.resources = ordered_json::parse(row[4]);
        data.description = ordered_json::parse(row[5]);
        data.cost = ordered_json::parse(row[6]);
        data.breakdown = ordered_json::parse(row[7]);
        data.series = ordered_json::parse(row[8]);
        data.axes = s.numbers(std::stoull(row[0]));
        changed.emplace_back(row[0], compact(metric_values(s.metrics(), data)));
      });
  for (const auto& [id, metrics] : changed) {
    statement(*this, "UPDATE points SET metrics = ? WHERE id = ?").bind(1, metrics).bind(2, id).run();
  }
  execute("COMMIT");
}

std::set<std::uint64_t> result_file::finished(bool retry) {
  std::set<std::uint64_t> ids;
  query(retry ? "SELECT id FROM points WHERE status = 'passed'" : "SELECT id FROM points",
        [&](const auto& row) { ids.insert(std::stoull(row[0])); });
  return ids;
}

void result_file::put(const point_record& r) {
  if (!insert_) {
    insert_ = std::make_unique<statement>(
        *this, "INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert_host_ = std::make_unique<statement>(*this, "INSERT OR REPLACE INTO hosts VALUES (?, ?)");
  }
  execute("BEGIN IMMEDIATE");
  const auto id = static_cast<std::int64_t>(r.id);
  insert_->bind(1, id);
  int at = 2;
  for (const std::string* f :
       {&r.status, &r.seed, &r.version, &r.testbench, &r.simulated_ns, &r.axes, &r.metrics, &r.figures, &r.units, &r.tables,
        &r.statistics, &r.resources, &r.description, &r.presets, &r.failures, &r.cost, &r.breakdown, &r.series, &r.filling}) {
    insert_->bind(at++, *f);
  }
  insert_->run();
  insert_host_->bind(1, id).bind(2, r.host).run();
  if (!r.what_if.empty())
    statement(*this, "INSERT OR REPLACE INTO what_ifs VALUES (?, ?)").bind(1, id).bind(2, r.what_if).run();
  if (!r.catalogue.empty() && catalogues_.insert(r.catalogue_hash).second) {
    statement(*this, "INSERT OR REPLACE INTO study VALUES (?, ?)")
        .bind(1, "catalogue " + r.catalogue_hash)
        .bind(2, r.catalogue_hash)
        .run();
    statement words(*this, "INSERT OR IGNORE INTO statistics VALUES (?, ?, ?, ?)");
    for (const auto& entry : ordered_json::parse(r.catalogue)) {
      const std::string column[] = {entry[0], entry[1], entry[2], entry[3]};
      words.bind(1, column[0]).bind(2, column[1]).bind(3, column[2]).bind(4, column[3]).run();
    }
  }
  execute("COMMIT");
}

void result_file::query(const std::string& sql, const row_function& row) {
  statement s(*this, sql);
  std::vector<std::string> values(static_cast<std::size_t>(s.columns()));
  while (s.step()) {
    for (int c = 0; c < s.columns(); ++c) values[static_cast<std::size_t>(c)] = s.text(c);
    try {
      row(values);
    } catch (const nlohmann::json::exception& e) {
      throw input_error(fmt::format("'{}' is damaged: the data of a point are not JSON ({}); run the study into another folder",
                                    file_.string(), e.what()));
    }
  }
}

}  // namespace hcasim
