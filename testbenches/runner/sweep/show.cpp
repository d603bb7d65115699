#include "testbenches/runner/sweep/show.h"

#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "testbenches/runner/run.h"
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
  const std::string name = results.study_value("name");
  if (o.svg.empty()) throw input_error("what to write? add --svg FOLDER");
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
