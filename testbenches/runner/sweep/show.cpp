#include "testbenches/runner/sweep/show.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "testbenches/runner/report.h"
#include "testbenches/runner/run.h"
#include "testbenches/runner/sweep/page.h"
#include "testbenches/runner/sweep/results.h"
#include "testbenches/runner/sweep/slurm_client.h"
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

// $BROWSER, or what the desktop has.
void open_in_browser(const std::string& page) {
  const char* chosen = std::getenv("BROWSER");
  for (const std::string& browser : {std::string(chosen ? chosen : ""), std::string("xdg-open")}) {
    if (!browser.empty() && run_tool({browser, page}).status == 0) return;
  }
  throw input_error(fmt::format(
      "no browser could be started ($BROWSER, xdg-open); the page is written: open '{}' elsewhere, or make pictures with --svg",
      page));
}

}  // namespace

int show_report(const report_options& o) {
  result_file results = result_file::open(o.results / result_file::file_name, false);
  nlohmann::ordered_json written{
      {"study", results.study_value("name")}, {"page", nullptr}, {"pictures", nlohmann::ordered_json::array()}};
  const auto tell = [&](const fs::path& file) {
    std::string path = fs::absolute(file).string();
    if (!o.json) std::cout << path << "\n";
    return path;
  };
  if (o.svg.empty() || !o.html.empty() || o.open) {
    std::optional<result_file> other;
    if (!o.compare.empty()) other.emplace(result_file::open(o.compare / result_file::file_name, false));
    const fs::path file = o.html.empty() ? o.results / "report.html" : o.html;
    write_file(file, report_page(results, other ? &*other : nullptr));
    written["page"] = tell(file);
  }
  if (!o.svg.empty()) {
    std::error_code ec;
    fs::create_directories(o.svg, ec);
    if (ec) throw input_error(fmt::format("cannot make the folder '{}': {}", o.svg.string(), ec.message()));
    int number = 0;
    for (const chart_data& c : charts_of(results)) {
      const fs::path file = o.svg / fmt::format("{}_{}.svg", results.study_value("name"), ++number);
      write_file(file, svg_chart(c));
      written["pictures"].push_back(tell(file));
    }
  }
  if (o.json) std::cout << dump(written);
  if (o.open) open_in_browser(written["page"]);
  return run_passed;
}

}  // namespace hcasim
