#include "testbenches/program/report/show.h"

#include <cstdlib>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/report/page.h"
#include "testbenches/program/report/run_page.h"
#include "testbenches/program/report/svg.h"
#include "testbenches/program/report/what_if_table.h"
#include "testbenches/program/results/report.h"
#include "testbenches/program/study/results.h"
#include "testbenches/program/study/slurm_client.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

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
  // The folder is of a study, or of one run.
  std::error_code ec;
  const bool run = holds_run(o.results) && !fs::exists(o.results / result_file::file_name, ec);
  if (run && !o.compare.empty()) throw input_error("--compare is for studies; 'hcasim diff' compares two runs");
  std::optional<result_file> results;
  if (!run) results.emplace(result_file::open(o.results / result_file::file_name, false));
  const std::string name = run ? name_of_run(o.results) : results->study_value("name");
  nlohmann::ordered_json written{
      {run ? "run" : "study", name}, {"page", nullptr}, {"pictures", nlohmann::ordered_json::array()}};
  const auto tell = [&](const fs::path& file) {
    std::string path = fs::absolute(file).string();
    if (!o.json) std::cout << path << "\n";
    return path;
  };
  if (o.svg.empty() || !o.html.empty() || o.open) {
    std::optional<result_file> other;
    if (!o.compare.empty()) other.emplace(result_file::open(o.compare / result_file::file_name, false));
    const fs::path file = o.html.empty() ? o.results / "report.html" : o.html;
    write_file(file, run ? run_page(o.results) : report_page(*results, other ? &*other : nullptr));
    written["page"] = tell(file);
  }
  if (!o.svg.empty()) {
    fs::create_directories(o.svg, ec);
    if (ec) throw input_error(fmt::format("cannot make the folder '{}': {}", o.svg.string(), ec.message()));
    int number = 0;
    for (const chart_data& c : run ? charts_of_run(o.results) : charts_of(*results)) {
      const fs::path file = o.svg / fmt::format("{}_{}.svg", name, ++number);
      write_file(file, svg_chart(c));
      written["pictures"].push_back(tell(file));
    }
  }
  if (results) {
    if (auto gained = what_ifs_of(*results); !gained.empty()) written["what_if"] = std::move(gained);
  }
  if (o.json) std::cout << dump(written);
  if (o.open) open_in_browser(written["page"]);
  return run_passed;
}

}  // namespace hcasim
