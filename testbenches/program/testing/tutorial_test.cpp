// Pages are followed by copying: their files are written, their console blocks run, and what a page shows must be printed.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

struct block {
  std::string language;
  std::vector<std::string> lines;
};

std::vector<block> blocks_of(const std::string& page) {
  std::vector<block> found;
  bool inside = false;
  std::istringstream text(page);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) found.push_back({line.substr(3), {}});
    } else if (inside) {
      found.back().lines.push_back(line);
    }
  }
  return found;
}

std::string joined(const block& b) {
  std::string text;
  for (const std::string& line : b.lines) text += line + "\n";
  return text;
}

// Finds the lines one after the other; "..." stands for any number of lines.
void expect_lines(const std::string& printed, const block& shown) {
  std::size_t at = 0;
  for (const std::string& line : shown.lines) {
    if (line.find_first_not_of(" .") == std::string::npos) continue;
    const std::string content = line.substr(line.find_first_not_of(' '));
    const std::size_t found = printed.find(content, at);
    ASSERT_NE(found, std::string::npos) << "the page shows\n" << line << "\nprinted was\n" << printed;
    at = found + content.size();
  }
}

struct followed_page {
  const char* page;
  int commands;  // blocks of them
  int outputs;
};

class copied_page : public test_in_own_folder, public ::testing::WithParamInterface<followed_page> {};

TEST_P(copied_page, is_followed_by_copying) {
  const std::string path = fmt::format("PATH={}:$PATH", fs::path(places::program).parent_path().string());
  std::string printed;
  int commands = 0;
  int outputs = 0;
  for (const block& b : blocks_of(file_content(fs::path(places::source) / "docs" / GetParam().page))) {
    if (b.language == "console") {
      std::ofstream("commands") << "set -e\nexport " << path << "\n" << joined(b);
      const outcome o = run_program("bash", "commands");
      EXPECT_EQ(o.status, 0) << joined(b) << o.text;
      printed = o.text;
      ++commands;
    } else if (b.language.empty()) {
      expect_lines(printed, b);
      ++outputs;
    } else if (b.language == "yaml" || b.language == "c") {
      std::ofstream(b.lines.at(0).substr(b.lines[0].find(' ') + 1)) << joined(b);
    }
  }
  EXPECT_EQ(commands, GetParam().commands);
  EXPECT_EQ(outputs, GetParam().outputs);
}

INSTANTIATE_TEST_SUITE_P(docs, copied_page,
                         ::testing::Values(followed_page{"tutorial.md", 8, 7}, followed_page{"results.md", 9, 9}),
                         [](const auto& i) { return fs::path(i.param.page).stem().string(); });

class tutorial : public test_in_own_folder {};

// Chapters 5 and 6: projects that are written, built and run. The line for an editor is left out.
TEST_F(tutorial, has_projects_that_are_built_by_copying) {
  const fs::path build = fs::path(places::program).parent_path();
  int projects = 0;
  for (const block& b : blocks_of(file_content(fs::path(places::source) / "docs/tutorial.md"))) {
    if (b.language != "sh" || joined(b).find("hcasim new-") == std::string::npos) continue;
    block without = b;
    std::erase_if(without.lines, [](const std::string& line) { return line.starts_with("$EDITOR"); });
    std::ofstream("commands") << fmt::format("set -e\nexport PATH={0}:$PATH CMAKE_PREFIX_PATH={0}\n", build.string())
                              << joined(without);
    const outcome o = run_program("bash", "commands");
    EXPECT_EQ(o.status, 0) << joined(b) << o.text;
    EXPECT_NE(o.text.find("100% tests passed"), std::string::npos) << o.text;
    ++projects;
  }
  EXPECT_EQ(projects, 2);
}

}  // namespace
}  // namespace hcasim
