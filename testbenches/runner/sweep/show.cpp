#include "testbenches/runner/sweep/show.h"

#include <fstream>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "testbenches/runner/run.h"
#include "testbenches/runner/sweep/page.h"
#include "testbenches/runner/sweep/results.h"
#include "testbenches/runner/sweep/svg.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& file, const std::string& content) {
  std::ofstream out(file, std::ios::binary);
  out << content;
  out.close();
  if (!out) throw input_error(fmt::format("cannot write '{}'; choose another place", file.string()));
}

}  // namespace

int show_report(const report_options& o) {
  result_file results = result_file::open(o.results / result_file::file_name, false);
  if (o.svg.empty() || !o.html.empty()) {
    std::optional<result_file> other;
    if (!o.compare.empty()) other.emplace(result_file::open(o.compare / result_file::file_name, false));
    const fs::path file = o.html.empty() ? o.results / "report.html" : o.html;
    write_file(file, report_page(results, other ? &*other : nullptr));
    std::cout << fs::absolute(file).string() << "\n";
  }
  if (o.svg.empty()) return run_passed;
  const std::string name = results.study_value("name");
  std::error_code ec;
  fs::create_directories(o.svg, ec);
  if (ec) throw input_error(fmt::format("cannot make the folder '{}': {}", o.svg.string(), ec.message()));
  int number = 0;
  for (const chart_data& c : charts_of(results)) {
    const fs::path file = o.svg / fmt::format("{}_{}.svg", name, ++number);
    write_file(file, svg_chart(c));
    std::cout << fs::absolute(file).string() << "\n";
  }
  return run_passed;
}

}  // namespace hcasim
