// The page docs/fidelity.md says what `hcasim validate` gives, and no preset claims more. Renew the page by
// scripts/remake_fidelity.
#include <unistd.h>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class fidelity : public ::testing::Test {
 protected:
  fidelity() { fs::create_directories(folder_ / "fidelity"); }
  ~fidelity() override { fs::remove_all(folder_); }

  static std::string page() { return file_content(fs::path(places::source) / "docs/fidelity.md"); }
  static fs::path calibration() { return fs::path(places::source) / "testbenches/studies/calibration"; }
  static bool all() { return std::getenv("HCASIM_FULL") != nullptr; }

  static std::map<std::string, std::string> sections(const std::string& page) {
    std::map<std::string, std::string> out;
    std::string name;
    std::istringstream in(page);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("### ")) name = line.substr(4);
      if (!name.empty()) out[name] += line + "\n";
    }
    return out;
  }
  // Writes a file with these points and runs the command on it.
  outcome validate_points(const std::string& points, const std::string& more = "") {
    std::ofstream(folder_ / "own.csv") << "exp,series,preset,xname,x,y,unit,source,accuracy\n" << points;
    return run_program(places::program, fmt::format("validate --csv {}/own.csv {}", folder_.string(), more));
  }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("hcasim_fidelity_{}", ::getpid());
};

// Without HCASIM_FULL only experiments that take a second or two are run.
TEST_F(fidelity, page_says_what_the_runs_give) {
  const fs::path copy = folder_ / "fidelity.md";
  std::ofstream(copy) << page();
  const std::string names = all() ? "" : "V01 V05 X1";
  const outcome o = run_program(places::program, fmt::format("validate {} --page {}", names, copy.string()));
  ASSERT_EQ(o.status, 0) << o.text;
  const auto written = sections(page());
  const auto now = sections(file_content(copy));
  ASSERT_EQ(written.size(), now.size());
  for (const auto& [name, text] : now) EXPECT_EQ(written.at(name), text) << name << ": scripts/remake_fidelity renews the page";
  std::size_t pictures = 0;
  for (const auto& e : fs::directory_iterator(folder_ / "fidelity")) {
    const fs::path drawn = fs::path(places::source) / "docs/fidelity" / e.path().filename();
    EXPECT_EQ(file_content(drawn), file_content(e.path())) << drawn;
    ++pictures;
  }
  EXPECT_GE(pictures, 4U);
}

// The other way: each description, and each series of the data, has its section and picture.
TEST_F(fidelity, page_has_every_experiment) {
  const auto written = sections(page());
  std::size_t descriptions = 0;
  for (const auto& e : fs::directory_iterator(calibration())) {
    if (e.path().extension() != ".yaml") continue;
    ++descriptions;
    EXPECT_TRUE(written.contains(e.path().stem().string())) << e.path();
  }
  EXPECT_EQ(written.size(), descriptions);
  std::size_t pictures = 0;
  static const std::regex picture(R"(\(fidelity/([A-Z0-9_]+\.svg)\))");
  const std::string text = page();
  for (std::sregex_iterator i(text.begin(), text.end(), picture), end; i != end; ++i, ++pictures)
    EXPECT_TRUE(fs::exists(fs::path(places::source) / "docs/fidelity" / (*i)[1].str())) << (*i)[1];
  const auto drawn =
      std::distance(fs::directory_iterator(fs::path(places::source) / "docs/fidelity"), fs::directory_iterator());
  EXPECT_EQ(pictures, static_cast<std::size_t>(drawn));
}

TEST_F(fidelity, presets_claim_only_what_is_within_and_mark_their_constants) {
  const auto written = sections(page());
  for (const char* name :
       {"connectx3", "connectx3_fdr", "connectx3_40", "connectx3_qdr", "connect_ib", "connectx4", "nfp6000"}) {
    std::istringstream in(
        file_content(fs::path(places::source) / "testbenches/studies/presets" / (std::string(name) + ".yaml")));
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("# validated:")) {
        static const std::regex experiment("[A-Z]+[0-9]+");
        for (std::sregex_iterator i(line.begin(), line.end(), experiment), end; i != end; ++i)
          EXPECT_NE(written.at(i->str()).find("Verdict: **within**"), std::string::npos) << name << ": " << i->str();
      }
      static const std::regex constant(R"(^ +[a-z_]+: *[^ #>].*)");
      static const std::regex marked("# .*(published|inferred|fitted|assumed)");
      if (!std::regex_match(line, constant)) continue;
      EXPECT_TRUE(std::regex_search(line, marked)) << name << ": " << line;
    }
  }
}

TEST_F(fidelity, other_measurements_are_taken) {
  const outcome o = validate_points("V01,LAT_DMA_RD mine,NFP,bytes,256,0.6,us,mine,exact\n");
  EXPECT_EQ(o.status, 0) << o.text;
  EXPECT_NE(o.text.find("LAT_DMA_RD mine"), std::string::npos) << o.text;
  EXPECT_NE(o.text.find("published [us]"), std::string::npos) << "the model's ns are given in the file's unit\n" << o.text;
}

TEST_F(fidelity, bad_measurements_are_told_with_file_line_and_mend) {
  const auto refused = [&](const std::string& points, const std::string& text, const std::string& more = "") {
    const outcome o = validate_points(points, more);
    EXPECT_EQ(o.status, 2) << points << o.text;
    EXPECT_NE(o.text.find(text), std::string::npos) << points << o.text;
  };
  refused("V01,LAT_DMA_RD x,NFP,bytes,64,560,furlongs,s,a\n", "own.csv:2:1: unit: the unit 'furlongs' is not known");
  refused("V01,LAT_DMA_RD x,NFP,bytes,64,560,Gb/s,s,a\n", "own.csv:2:1: unit: 'Gb/s' is another kind of unit than 'ns'");
  refused("V01,LAT_DMA_RD x,NFP,bytes,many,560,ns,s,a\n", "own.csv:2:1: x: 'many' is not a number; write for example 64");
  refused("V01,LAT_DMA_RD x,NFP,bytes,64,0,ns,s,a\n", "own.csv:2:1: y: 0 is no measurement");
  refused("V01,LAT_DMA_RD x,NFP,bytes,64\n", "own.csv:2:1: the line has 5 fields, the first line 9");
  refused("V01,\"LAT_DMA_RD x,NFP,bytes,64,560,ns,s,a\n", "own.csv:2:1: a quote is not closed");
  refused("V99,LAT_DMA_RD x,NFP,bytes,64,560,ns,s,a\n", "own.csv:2:1: exp: no description replays 'V99'");
  refused("V01,another series,NFP,bytes,64,560,ns,s,a\n", "own.csv:2:1: series: V01 replays no series 'another series'");
  refused("V01,LAT_DMA_RD x,NFP,bytes,64,560,ns,s,a\n", "has no point of V05", "V05");
  refused("V01,LAT_DMA_RD x,NFP,bytes,64,560,ns,s,a\n", "there is no experiment 'V1'; did you mean", "V1");
  refused("", "own.csv:1:1: the file has no points");
  std::ofstream(folder_ / "own.csv") << "exp,series,xname,x,y,unit,source,accuracy\n";
  const outcome o = run_program(places::program, fmt::format("validate --csv {}/own.csv", folder_.string()));
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.text.find("own.csv:1:1: preset: this column is missing"), std::string::npos) << o.text;
}

// README counts the experiments of older adapters, V and X.
TEST_F(fidelity, readme_says_how_many_are_within) {
  unsigned all = 0, within = 0;
  for (const auto& [name, text] : sections(page())) {
    if (name[0] != 'V' && name[0] != 'X') continue;
    ++all;
    within += text.find("Verdict: **within**") != std::string::npos;
  }
  const std::string sentence = fmt::format("{} of {} experiments are within their tolerances", within, all);
  EXPECT_NE(file_content(fs::path(places::source) / "README.md").find(sentence), std::string::npos) << sentence;
}

TEST_F(fidelity, a_claim_that_does_not_hold_is_a_failure) {
  std::ofstream(folder_ / "boast.yaml") << "# validated: V01\ninclude: nfp6000\nhca:\n  clock: 300 MHz\n";
  for (const fs::path& preset : {folder_ / "boast.yaml", fs::relative(folder_ / "boast.yaml")}) {
    const outcome o =
        validate_points("V01,LAT_DMA_RD x,NFP,bytes,64,560,ns,s,a\n", fmt::format("--preset {}", preset.string()));
    EXPECT_EQ(o.status, 1) << o.text;
    EXPECT_NE(o.text.find("claims this experiment, which is outside"), std::string::npos) << o.text;
  }
}

}  // namespace
}  // namespace hcasim
