// Tables of the result file that follow from all points together.
#include "testbenches/program/results/report.h"
#include "testbenches/program/study/repetition.h"
#include "testbenches/program/study/results.h"
#include "testbenches/program/study/tornado.h"

namespace hcasim {
namespace {

// Returns a number as a literal of SQL.
std::string literal(const std::optional<double>& v) {
  return v ? fmt::format("{}", *v) : "NULL";
}

}  // namespace

void result_file::put_summaries(const study& s, const nlohmann::ordered_json& goals) {
  execute("BEGIN");
  execute(
      "DROP TABLE IF EXISTS repetitions; DROP TABLE IF EXISTS tornado; DROP TABLE IF EXISTS goals;"
      "CREATE TABLE repetitions (axes TEXT, metric TEXT, count INTEGER, mean REAL, deviation REAL, confidence REAL);"
      "CREATE TABLE tornado (axes TEXT, metric TEXT, knob TEXT, low REAL, base REAL, high REAL);"
      "CREATE TABLE goals (axes TEXT, goal TEXT);");
  for (const repetition& r : repetitions_of(*this, s)) {
    execute(fmt::format("INSERT INTO repetitions VALUES ({}, {}, {}, {}, {}, {})", sql_text(compact(r.axes)),
                        sql_text(r.metric), r.over.count, literal(r.over.mean), literal(r.over.deviation),
                        literal(r.over.confidence)));
  }
  for (const tornado_effect& e : tornado_effects(*this, s)) {
    execute(fmt::format("INSERT INTO tornado VALUES ({}, {}, {}, {}, {}, {})", sql_text(compact(e.axes)), sql_text(e.metric),
                        sql_text(e.knob), literal(e.low), literal(e.base), literal(e.high)));
  }
  for (const auto& g : goals)
    execute(fmt::format("INSERT INTO goals VALUES ({}, {})", sql_text(compact(g["axes"])), sql_text(compact(g))));
  execute("COMMIT");
}

}  // namespace hcasim
