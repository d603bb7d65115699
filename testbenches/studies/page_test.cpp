// The page of `hcasim report` in a real browser. It opens without a network, shows values on hover, sorts on a click, and draws
// another kind of chart. A hundred thousand points open quickly (measured to the first frame that shows them).
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/study/results.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class page : public test_in_own_folder {
 protected:
  page() {
    std::ofstream("s.yaml") << "study: sample\nquestion: </script> & <b>?\nbase: {testbench: ping}\naxes:\n"
                               "  size: {knob: parameters.size, values: [64 B, 1 KiB, 16 KiB]}\n"
                               "  seed: {knob: seed, values: [1, 2]}\n"
                               "metrics:\n  write: {figure: WRITE, unit: ns}\n  read: {figure: READ, unit: ns}\n"
                               "charts:\n  - {line: write, x: size, series: seed}\n  - {stacked: [write, read], x: size}\n";
  }
  static outcome hcasim(const std::string& arguments) { return run_program(places::program, arguments); }
  static json use(const std::string& file) {
    const fs::path axe = fs::path(places::program).parent_path() / "report/node_modules/axe-core/axe.min.js";
    const outcome o = run_program(
        "node", fmt::format("{}/testbenches/program/report/page_test.mjs {} shot.png {}", places::source, file, axe.string()));
    EXPECT_EQ(o.status, 0) << o.text << "\nchromium, nodejs and npm are in scripts/packages.txt";
    return o.status == 0 ? json::parse(o.text) : json();
  }

  static std::string query_value(const std::string& sql) {
    std::string value;
    result_file::open("out/results.sqlite", false).query(sql, [&](const auto& row) { value = row[0]; });
    return value;
  }
};

TEST_F(page, opens_without_a_network_and_can_be_used) {
  ASSERT_EQ(hcasim("sweep s.yaml -o out").status, 0);
  const outcome o = hcasim("report out");
  ASSERT_EQ(o.status, 0) << o.text;
  EXPECT_EQ(o.text, fmt::format("{}/out/report.html\n", folder().string()));
  const json seen = use("out/report.html");
  ASSERT_TRUE(seen.is_object());
  EXPECT_EQ(seen["errors"], json::array());
  for (const std::string request : seen["requests"]) {
    EXPECT_TRUE(request.ends_with("/out/report.html") || request.starts_with("data:"))
        << "nothing but the page itself: " << request;
  }
  EXPECT_EQ(seen["title"], "sample");
  EXPECT_EQ(seen["rows"], 6);
  const std::string write = query_value("SELECT json_extract(metrics, '$.write') FROM points WHERE id = 3");
  EXPECT_NE(seen["tooltip"].get<std::string>().find("1 KiB"), std::string::npos) << seen["tooltip"];
  EXPECT_NE(seen["tooltip"].get<std::string>().find(write.substr(0, 4)), std::string::npos) << seen["tooltip"];
  EXPECT_EQ(seen["first_row"].get<std::string>().substr(0, 4), "64 B");
  EXPECT_EQ(seen["first_row_down"].get<std::string>().substr(0, 6), "16 KiB");
  EXPECT_GT(seen["cells"].get<int>(), 5);
  EXPECT_GT(seen["description"].get<int>(), 2000);
  EXPECT_GT(seen["screenshot"].get<int>(), 20'000) << "an empty page is smaller";

  EXPECT_EQ(seen["charts"], 2) << "both charts of the study at once";
  const std::vector<std::string> legend = seen["legend"];
  EXPECT_NE(std::find(legend.begin(), legend.end(), "seed 1"), legend.end()) << "a series says of which axis it is";
  EXPECT_EQ(seen["sorted"], "ascending") << "by the keyboard";
  const json& words = seen["words"];
  EXPECT_EQ(words["tornado"].get<std::string>().substr(0, 10), "write [ns]") << words;
  EXPECT_NE(words["scatter"].get<std::string>().find("on the front of less write and less read"), std::string::npos) << words;
  EXPECT_NE(words["stacked"].get<std::string>().find("write, read"), std::string::npos) << words;
  EXPECT_EQ(seen["csv"], "a,\"b,c\"\n1,\n\"d\"\"e\",2\n");
  EXPECT_NE(seen["numbers"].get<std::string>().find(write.substr(0, 4)), std::string::npos) << seen["numbers"];
  EXPECT_GT(seen["png"].get<int>(), 5'000);
  EXPECT_NE(seen["compared"].get<std::string>().find("write [ns]"), std::string::npos) << seen["compared"];
  EXPECT_NE(seen["detail"].get<std::string>().find("hcasim run s.yaml --point 1 --explain"), std::string::npos)
      << seen["detail"];
  EXPECT_NE(seen["detail"].get<std::string>().find("busy %"), std::string::npos) << seen["detail"];
  EXPECT_EQ(seen["after"], seen["before"]) << "the choice is in the URL";
  EXPECT_EQ(seen["before"].get<std::string>().substr(0, 2), "[3") << "with a chart of one's own";
  EXPECT_EQ(seen["light"], (json{"rgb(34, 34, 34)", "rgb(255, 255, 255)", "rgb(34, 34, 34)"}));
  EXPECT_EQ(seen["dark"], (json{"rgb(228, 230, 234)", "rgb(22, 24, 28)", "rgb(228, 230, 234)"})) << "text of charts too";
  EXPECT_EQ(seen["printed_controls"], "none");
  EXPECT_LE(seen["narrow_width"].get<int>(), 420);
  EXPECT_EQ(seen["accessibility"], json::array());
  EXPECT_EQ(seen["accessibility_dark"], json::array());
}

// A browser gets the page as far as there are points, also when it asks in two parts. The server ends with the sweep.
TEST_F(page, is_served_while_points_arrive) {
  std::ofstream("slow.yaml")
      << "base: {testbench: message_rate, parameters: {messages: 80000}}\n"
         "axes: {seed: {knob: seed, values: [1, 2, 3, 4, 5, 6]}}\nmetrics: {rate: {figure: message_rate}}\n";
  const outcome o = run_program(
      "bash",
      fmt::format("-c \"({} sweep slow.yaml -j 1 -o live --watch 2> said; status=\\$?; touch ended; exit \\$status) & "
                  "while ! grep -qs http said; do sleep 0.05; done; address=\\$(grep -o 'http[^ ]*' said); "
                  "page() {{ exec 3<>/dev/tcp/127.0.0.1/\\$(grep -o '[0-9]*/$' said | tr -d /); "
                  "printf 'GET %s HTTP/1.1\\r\\n' \\$1 >&3; sleep 0.02; printf 'Accept: */*\\r\\n\\r\\n' >&3; cat <&3; }}; "
                  "while ! test -f live/results.sqlite; do sleep 0.05; done; "
                  "seen=''; until test -f ended; do n=\\$(page /points 2>/dev/null | tail -1); "
                  "seen=\\$seen,\\$n; test \\${{n:-0}} -gt 1 && ! grep -qs id=.charts page.html && page / > page.html; "
                  "page /other 2>/dev/null | head -1 >> other.txt; sleep 0.2; done; wait %1; echo seen \\$seen\"",
                  places::program));
  EXPECT_EQ(o.status, 0) << o.text;
  EXPECT_NE(o.text.find("6 of 6 points"), std::string::npos) << o.text;
  const std::string seen = o.text.substr(o.text.find("seen ")) + ',';
  int in_part = 0;
  for (int n = 1; n < 6; ++n) in_part += seen.find(fmt::format(",{},", n)) != std::string::npos;
  EXPECT_GE(in_part, 2) << "points one by one: " << seen;
  EXPECT_NE(file_content("other.txt").find("404"), std::string::npos);
  const std::string got = file_content("page.html");
  EXPECT_NE(got.find("Content-Type: text/html"), std::string::npos);
  EXPECT_NE(got.find("location.reload()"), std::string::npos) << got.substr(0, 300);
  EXPECT_NE(got.find("<div id=\"charts\">"), std::string::npos);
}

TEST_F(page, is_served_for_a_sound_study_alone) {
  EXPECT_EQ(hcasim("sweep nowhere.yaml -o out --watch").text.find("http"), std::string::npos);
  EXPECT_EQ(hcasim("sweep s.yaml -o out --watch --dry-run").status, 2) << "nothing arrives";
}

TEST_F(page, says_why_a_point_failed) {
  std::ofstream("f.yaml") << "base: {testbench: ping}\naxes: {loss: {knob: link.loss, values: [0, 0.999]}}\n"
                             "metrics: {write: {figure: WRITE, unit: ns}}\n";
  EXPECT_EQ(hcasim("sweep f.yaml -o failed").status, 1);
  ASSERT_EQ(hcasim("report failed").status, 0);
  const std::string text = file_content("failed/report.html");
  EXPECT_NE(text.find("\"details\":{"), std::string::npos);
  EXPECT_NE(text.find("\"failures\":["), std::string::npos);
}

TEST_F(page, a_point_shows_its_gains_and_its_statistics_over_time) {
  std::ofstream("t.yaml") << "base: {testbench: message_rate, parameters: {messages: 3000}, statistics: {interval: 1 us}}\n"
                             "axes: {size: {knob: parameters.size, values: [64 B, 4 KiB]}}\nwhat_if: 'link.*'\nmetrics:\n"
                             "  rate: {figure: message_rate}\n  sent: {series: node0.hca.requester.packets, of: max}\n"
                             "charts: [{line: rate, x: size}]\n";
  const outcome o = hcasim("sweep t.yaml -o over_time");
  ASSERT_EQ(o.status, 0) << o.text;
  ASSERT_EQ(hcasim("report over_time --html page.html").status, 0);
  const json seen = use("page.html");
  EXPECT_EQ(seen["errors"], json::array());
  EXPECT_EQ(seen["accessibility"], json::array());
  EXPECT_NE(seen["detail"].get<std::string>().find("What relieving a resource gains"), std::string::npos) << seen["detail"];
  ASSERT_EQ(seen["curves"].size(), 1U) << seen["detail"];
  EXPECT_EQ(seen["curves"][0][0].get<std::string>().substr(0, 33), "node0.hca.requester.packets from ") << seen["curves"];
  EXPECT_GT(seen["curves"][0][1].get<int>(), 2) << "a line is drawn";
}

TEST_F(page, a_hundred_thousand_points_open_within_two_seconds) {
  ASSERT_EQ(hcasim("sweep s.yaml -o out").status, 0);
  {
    result_file f = result_file::open("out/results.sqlite", true);
    const auto run = [&](const char* sql) { f.query(sql, [](const auto&) {}); };
    run("DELETE FROM points WHERE id > 1");
    run("DELETE FROM axes");
    run("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) INSERT INTO axes SELECT 0, 'size', "
        "'size', '', 0, i, "
        "'s' || i, NULL, '{}' FROM n");
    run("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) INSERT INTO axes SELECT 1, 'seed', "
        "'seed', '', 0, i, "
        "'' || i, NULL, '{}' FROM n");
    run("CREATE TEMP TABLE one AS SELECT * FROM points");
    run("DELETE FROM points");
    run("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999) INSERT INTO points (id, status, seed, "
        "version, testbench, simulated_ns, axes, metrics, resources) SELECT i + 1, status, seed, version, testbench, "
        "simulated_ns, json_object('size', 's' || (i / 100), 'seed', '' || (i % 100)), json_object('write', i, 'read', i % 7), "
        "resources FROM n, one");
  }
  ASSERT_EQ(hcasim("report out --html big.html").status, 0);
  json seen;
  for (int i = 0; i < 3; ++i) {  // other tests may be busy beside it
    seen = use("big.html");
    ASSERT_TRUE(seen.is_object());
    EXPECT_EQ(seen["errors"], json::array());
    EXPECT_EQ(seen["rows"], 100'000);
    if (seen["ready_ms"].get<double>() < 2000) break;
  }
  EXPECT_LT(seen["ready_ms"].get<double>(), 2000);
  EXPECT_EQ(seen["first_lines"], 12) << "more cannot be told apart";
  EXPECT_EQ(seen["all_lines"], 100);
  RecordProperty("ready_ms", seen["ready_ms"].get<int>());
}

TEST_F(page, two_results_are_compared) {
  ASSERT_EQ(hcasim("sweep s.yaml -o a").status, 0);
  std::ofstream("t.yaml") << file_content("s.yaml").replace(0, 13, "study: other")
                          << "description: the same axes with another base\n";
  ASSERT_EQ(hcasim("sweep t.yaml -o b").status, 0);
  ASSERT_EQ(hcasim("report a --compare b --html both.html").status, 0);
  EXPECT_NE(file_content("both.html").find("\"name\":\"other, the other\""), std::string::npos);
  const json seen = use("both.html");
  EXPECT_EQ(seen["errors"], json::array());
  EXPECT_NE(seen["tooltip"].get<std::string>().find("(other, the other)"), std::string::npos) << seen["tooltip"];
  EXPECT_NE(seen["head"].get<std::string>().find("write [ns] (other, the other)"), std::string::npos) << seen["head"];
  const auto ones = std::count(seen["ratios"].begin(), seen["ratios"].end(), "1");
  EXPECT_GE(ones, 6) << "six points, equal in both: " << seen["ratios"];
  std::ofstream("u.yaml")
      << "base: {testbench: ping}\naxes: {seed: {knob: seed, values: [1]}}\nmetrics: {write: {figure: WRITE}}\n";
  ASSERT_EQ(hcasim("sweep u.yaml -o c").status, 0);
  EXPECT_EQ(hcasim("report a --compare c").text,
            "hcasim: the two results have different axes; only points of the same axes can be compared\n");
  EXPECT_EQ(hcasim("report nowhere").text,
            "hcasim: there is no result file 'nowhere/results.sqlite'; 'hcasim sweep STUDY.yaml -o DIR' makes one\n");
}

TEST_F(page, no_browser_is_a_clear_error_and_the_page_is_there) {
  ASSERT_EQ(hcasim("sweep s.yaml -o out").status, 0);
  const outcome o =
      run_program("env", fmt::format("-u BROWSER PATH=/nowhere {} report out --open --html page.html", places::program));
  EXPECT_EQ(o.status, 2);
  EXPECT_EQ(o.text,
            fmt::format("{0}/page.html\nhcasim: no browser could be started ($BROWSER, xdg-open); the page is written: open "
                        "'{0}/page.html' elsewhere, or make pictures with --svg\n",
                        folder().string()));
  EXPECT_GT(fs::file_size("page.html"), 500'000U);
  const outcome mine = run_program("env", fmt::format("BROWSER=/bin/true {} report out --open", places::program));
  EXPECT_EQ(mine.status, 0) << mine.text;
}

}  // namespace
}  // namespace hcasim
