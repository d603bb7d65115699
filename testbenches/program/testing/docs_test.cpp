// The documentation's statements on the program are true: commands, options, settings, whole descriptions, every unit's knobs.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/interface_tables.h"
#include "testbenches/program/testing/run_program.h"
#include "testbenches/program/testing/semantics_table.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path source = places::source;

outcome hcasim(const std::string& arguments) {
  return run_program(places::program, arguments);
}

std::vector<fs::path> pages() {
  std::vector<fs::path> found{source / "README.md", source / "traces/README.md"};
  for (const auto& e : fs::recursive_directory_iterator(source / "docs")) {
    if (e.path().extension() == ".md") found.push_back(e.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Fenced blocks of a language ("" for plain ones) and the line they begin at.
std::vector<std::pair<std::string, std::size_t>> blocks(const std::string& page, const std::string& language) {
  std::vector<std::pair<std::string, std::size_t>> found;
  bool inside = false;
  bool wanted = false;
  std::size_t number = 0;
  for (const std::string& line : lines_of(page)) {
    ++number;
    if (line.starts_with("```")) {
      wanted = !inside && line.substr(3) == language;
      inside = !inside;
      if (wanted) found.emplace_back("", number);
    } else if (inside && wanted) {
      found.back().first += line + "\n";
    }
  }
  return found;
}

// Every `hcasim ...` of a page: lines of console blocks and code within the text.
std::vector<std::string> commands(const std::string& page) {
  std::vector<std::string> found;
  for (const char* language : {"", "console", "sh"}) {
    for (const auto& [block, line] : blocks(page, language)) {
      for (const std::string& l : lines_of(block)) {
        static const std::regex command(R"(^\s*(?:\$ )?(?:[\w./]*/)?(?:hcasim|dev run)( .*)?$)");
        if (std::smatch m; std::regex_match(l, m, command)) {
          const bool dev = l.find("dev run") != std::string::npos;
          found.push_back((dev ? "run" : "") + m[1].str());
        }
      }
    }
  }
  static const std::regex code("`hcasim ([^`]*)`");
  for (std::sregex_iterator i(page.begin(), page.end(), code), end; i != end; ++i) found.push_back((*i)[1]);
  return found;
}

std::vector<std::string> words(const std::string& command) {
  std::vector<std::string> found;
  static const std::regex word(R"('([^']*)'|"([^"]*)\"|([^\s'"=]+='[^']*')|(#.*)|(\S+))");
  for (std::sregex_iterator i(command.begin(), command.end(), word), end; i != end; ++i) {
    if ((*i)[4].matched) break;
    for (const int group : {1, 2, 3, 5}) {
      if ((*i)[static_cast<std::size_t>(group)].matched) found.push_back((*i)[static_cast<std::size_t>(group)]);
    }
  }
  return found;
}

std::set<std::string> testbenches() {
  std::set<std::string> names;
  for (const auto& t : json::parse(hcasim("list --json").text)) names.insert(t["name"]);
  return names;
}

std::set<std::string> parameter_options() {
  std::set<std::string> options;
  for (const std::string& t : testbenches()) {
    for (const auto& k : json::parse(hcasim("list --json " + t).text)) {
      std::string name = k["path"];
      options.insert("--" + name);
      std::replace(name.begin(), name.end(), '_', '-');
      options.insert("--" + name);
    }
  }
  return options;
}

TEST(docs, commands_and_options_exist) {
  const std::set<std::string> parameters = parameter_options();
  const std::set<std::string> names = testbenches();
  std::map<std::string, std::string> help;
  const json manual = json::parse(hcasim("man --json").text);
  for (const auto& c : manual["commands"]) {
    const std::string name = c["name"];
    help[name] = hcasim(name + " --help").text;
  }
  std::size_t checked = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& command : commands(file_content(page))) {
      const auto parts = words(command);
      const std::string where = fmt::format("{}: hcasim {}", page.filename().string(), command);
      if (parts.empty() || parts[0].starts_with("-") || parts[0].starts_with("|")) continue;
      ++checked;
      ASSERT_TRUE(help.contains(parts[0])) << where;
      for (std::size_t i = 1; i < parts.size() && parts[i] != "--"; ++i) {  // behind it stand words of other programs
        const std::string option = parts[i].substr(0, parts[i].find('='));
        if (option.starts_with("--")) {
          const bool known = help[parts[0]].find(option) != std::string::npos || parameters.contains(option);
          EXPECT_TRUE(known) << where << ": no option " << option;
        }
        // `preset` is a key of a description, not a knob.
        if (parts[i - 1] == "--set" && parts[i].find("PATH") == std::string::npos && option != "preset") {
          EXPECT_EQ(hcasim(fmt::format("params '{}'", option)).status, 0) << where;
        }
      }
      const bool placeholder = parts.size() > 1 && std::isupper(static_cast<unsigned char>(parts[1][0]));
      if (parts[0] == "run" && parts.size() > 1 && !placeholder && !parts[1].starts_with("-") && !parts[1].ends_with(".yaml")) {
        EXPECT_TRUE(names.contains(parts[1])) << where << ": no testbench " << parts[1];
      }
    }
  }
  EXPECT_GT(checked, 10U) << "the commands of the documentation were found";
}

TEST(docs, descriptions_run) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("hcasim_docs_{}", ::getpid());
  fs::create_directories(folder);
  std::size_t checked = 0;
  for (const fs::path& page : pages()) {
    for (const auto& [block, line] : blocks(file_content(page), "yaml")) {
      if (block.find("testbench:") == std::string::npos) continue;
      ++checked;
      std::ofstream(folder / "doc.yaml") << block;
      const bool study = block.find("axes:") != std::string::npos;
      fs::remove_all(folder / "out");
      const outcome o = hcasim(fmt::format("{1} {0}/doc.yaml -o {0}/out", folder.string(), study ? "sweep" : "run --no-trace"));
      EXPECT_EQ(o.status, 0) << page << ":" << line << "\n" << o.text;
    }
  }
  fs::remove_all(folder);
  EXPECT_GT(checked, 0U);
}

// The knobs of the page's table, first column.
std::set<std::string> documented_knobs(const std::string& page) {
  std::set<std::string> found;
  bool inside = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("## ")) inside = line == "## Knobs";
    if (!inside || !line.starts_with("|")) continue;
    const std::string first = line.substr(1, line.find('|', 1) - 1);
    static const std::regex name("`([a-z0-9_]+)`");
    for (std::sregex_iterator i(first.begin(), first.end(), name), end; i != end; ++i) found.insert((*i)[1]);
  }
  return found;
}

// The page with a row for this knob behind its last one.
std::string with_row(const std::string& page, const json& knob, const std::string& name) {
  std::string out;
  bool inside = false;
  std::size_t end = std::string::npos;  // end of the last row
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("## ")) inside = line == "## Knobs";
    out += line + "\n";
    if (inside && line.starts_with("|")) end = out.size();
  }
  const auto text = [&knob](const char* of) { return knob[of].get<std::string>(); };
  if (end == std::string::npos) return out;
  return out.insert(
      end, fmt::format("| `{}` | {} | {} | {} | {} |\n", name, text("kind"), text("default"), text("range"), text("help")));
}

// HCASIM_UPDATE_DOCS=1 writes the rows that are missing.
TEST(docs, knob_tables_are_complete_and_true) {
  // Places of a unit's knobs other than `hca.<unit>`.
  const std::map<std::string, std::vector<std::string>> elsewhere{{"context_cache", {"node*.hca.mrc_cache."}},
                                                                  {"fabric", {"link.", "switch."}},
                                                                  {"host", {"node*.host."}},
                                                                  {"pcie", {"node*.pcie."}},
                                                                  {"iommu", {"node*.iommu."}},
                                                                  {"peer_device", {"node*.peer0."}},
                                                                  {"rtl_device", {"node*.device0."}},
                                                                  {"driver", {"node*.driver."}}};
  // Knobs that the system sets itself and a description cannot.
  const std::set<std::string> derived{"port.lid", "port.virtual_lanes", "dma_engine.mrrs"};
  const json all = json::parse(hcasim("params --json").text);
  std::size_t checked = 0;
  for (const auto& e : fs::directory_iterator(source / "docs/units")) {
    if (e.path().extension() != ".md") continue;
    const std::string unit = e.path().stem();
    const auto places = elsewhere.contains(unit) ? elsewhere.at(unit) : std::vector<std::string>{"node*.hca." + unit + "."};
    std::map<std::string, json> real;
    for (const auto& k : all) {
      const std::string path = k["path"];
      for (const std::string& p : places) {
        if (path.starts_with(p)) real.emplace(path.substr(path.rfind('.') + 1), k);
      }
    }
    std::string page = file_content(e.path());
    if (std::getenv("HCASIM_UPDATE_DOCS")) {
      const std::set<std::string> before = documented_knobs(page);
      for (const auto& [name, knob] : real) {
        if (!before.contains(name)) page = with_row(page, knob, name);
      }
      std::ofstream(e.path()) << page;
    }
    const std::set<std::string> told = documented_knobs(page);
    for (const std::string& k : told) {
      EXPECT_TRUE(real.contains(k) || derived.contains(unit + "." + k))
          << unit << ".md tells of a knob " << k << " that is not there";
    }
    for (const auto& [k, knob] : real) {
      EXPECT_TRUE(told.contains(k)) << unit << ".md does not tell of the knob " << k
                                    << "; run this test with HCASIM_UPDATE_DOCS=1";
    }
    checked += told.size();
  }
  EXPECT_GT(checked, 50U);
}

// The tables of the programming interface follow from the headers; HCASIM_UPDATE_DOCS=1 writes them.
TEST(docs, programming_interface_is_that_of_the_headers) {
  const fs::path page = source / "docs/programming_interface.md";
  const std::string mark = "<!-- from firmware/abi -->\n";
  std::string text = file_content(page);
  const std::size_t at = text.find(mark);
  ASSERT_NE(at, std::string::npos);
  const std::string tables = testing::interface_tables(source / "firmware/abi");
  if (std::getenv("HCASIM_UPDATE_DOCS")) {
    text = text.substr(0, at + mark.size()) + tables;
    std::ofstream(page) << text;
  }
  EXPECT_EQ(text.substr(at + mark.size()), tables) << "run this test with HCASIM_UPDATE_DOCS=1";
  EXPECT_GT(tables.size(), 10'000U);
}

// Every row of the conformance table has a passing test, but for rows listed as open. HCASIM_UPDATE_DOCS=1 writes the page's
// table.
TEST(docs, conformance_table_is_that_of_the_tests) {
  const fs::path page = source / "docs/semantics.md";
  const std::string mark = "<!-- from the tests -->\n";
  std::string text = file_content(page);
  const std::size_t at = text.find(mark);
  ASSERT_NE(at, std::string::npos);
  const testing::semantics_table t =
      testing::make_semantics_table(source / "testbenches/checks/conformance/cases.txt", places::conformance);
  EXPECT_EQ(t.without_test, std::vector<std::string>{});
  EXPECT_EQ(t.wrongly_open, std::vector<std::string>{});
  EXPECT_EQ(t.failed, std::vector<std::string>{});
  if (std::getenv("HCASIM_UPDATE_DOCS")) {
    text = text.substr(0, at + mark.size()) + t.markdown;
    std::ofstream(page) << text;
  }
  EXPECT_EQ(text.substr(at + mark.size()), t.markdown) << "run this test with HCASIM_UPDATE_DOCS=1";
}

// The samples in the README are real runs; HCASIM_UPDATE_DOCS=1 writes them. `end`: the first text that the page leaves out.
void expect_sample(const std::string& testbench, const std::string& end) {
  const fs::path page = source / "README.md";
  std::string text = file_content(page);
  const std::string folder = "readme_" + testbench;  // other tests run meanwhile
  const std::string said = hcasim("run " + testbench + " --no-trace -o " + folder + " --force").text;
  fs::remove_all(folder);
  const std::string sample = said.substr(0, said.find(end)) + end;
  ASSERT_GT(sample.size(), 500U) << said;
  const std::size_t begin = text.find(testbench + ": passed");
  ASSERT_NE(begin, std::string::npos);
  const std::size_t last = text.find(end, begin);
  ASSERT_NE(last, std::string::npos);
  if (std::getenv("HCASIM_UPDATE_DOCS")) {
    text.replace(begin, last + end.size() - begin, sample);
    std::ofstream(page) << text;
  }
  EXPECT_EQ(text.substr(begin, sample.size()), sample) << "run this test with HCASIM_UPDATE_DOCS=1";
  std::istringstream lines(sample);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << "too wide for a terminal: " << line;
}

TEST(docs, sample_run_of_the_readme_is_a_run) {
  expect_sample("rkey_reuse", "\nwhat each way took");
}

TEST(docs, sample_ping_of_the_readme_is_a_run) {
  expect_sample("ping", "\nREAD\n");
}

TEST(docs, readme_lists_every_testbench) {
  const std::string page = file_content(source / "README.md");
  const json all = json::parse(hcasim("list --json").text);
  std::size_t listed = 0;
  for (const json& t : all) {
    EXPECT_NE(page.find("| `" + t.at("name").get<std::string>() + "` | "), std::string::npos) << t.at("name");
    ++listed;
  }
  EXPECT_GT(listed, 20U);
}

// The page of runs lists all systems, and all presets with their links and claimed experiments.
TEST(docs, presets_and_systems_are_listed) {
  std::map<std::string, std::string> rows;
  for (const std::string& line : lines_of(file_content(source / "docs/running.md"))) {
    static const std::regex row(R"(\| `([a-z0-9_]+)` \|.*)");
    std::smatch name;
    if (std::regex_match(line, name, row)) rows.emplace(name[1], line);
  }
  for (const char* folder : {"presets", "systems"}) {
    for (const auto& e : fs::directory_iterator(source / "testbenches/studies" / folder)) {
      const std::string name = e.path().stem();
      ASSERT_TRUE(rows.contains(name)) << name;
      static const std::regex claim(R"(\b[A-Z]+[0-9]+\b)");
      static const std::regex rate(R"( +rate: ([0-9.]+ Gb/s).*)");
      for (const std::string& line : lines_of(file_content(e.path()))) {
        std::smatch found;
        if (std::regex_match(line, found, rate)) {
          EXPECT_NE(rows[name].find(found[1]), std::string::npos) << rows[name];
        }
        if (!line.starts_with("# validated:")) continue;
        for (std::sregex_iterator i(line.begin(), line.end(), claim), end; i != end; ++i)
          EXPECT_NE(rows[name].find(i->str()), std::string::npos) << rows[name];
      }
    }
  }
}

TEST(docs, links_between_pages_lead_somewhere) {
  for (const fs::path& page : pages()) {
    const std::string text = file_content(page);
    static const std::regex link(R"(\]\(([^)#:\s]+)(#[^)]*)?\))");
    for (std::sregex_iterator i(text.begin(), text.end(), link), end; i != end; ++i) {
      EXPECT_TRUE(fs::exists(page.parent_path() / (*i)[1].str())) << page.filename() << " links to " << (*i)[1];
    }
  }
}

struct adapter_net {
  std::string from, initiator, to, target;
  bool is_shared;
};

std::vector<adapter_net> adapter_nets() {
  std::vector<adapter_net> nets;
  static const std::regex row(
      R"(^HCASIM_(?:OPTIONAL\(\w+, |(NET|CLIENT|BRIDGED)\()(?:add<hcasim::)?(\w+)(?:>\(.*\))?(?:\.|->)(\w+)(?:\[\d\])?(?:, \w+)?, )"
      R"((\w+)(?:\.|->)(\w+)(?:\[\d\])?\)$)");
  for (const std::string& line : lines_of(file_content(source / "models/adapter/hca/netlist.def"))) {
    std::smatch m;
    if (std::regex_match(line, m, row)) nets.push_back({m[2], m[3], m[4], m[5], m[1] == "CLIENT" || m[1] == "BRIDGED"});
  }
  return nets;
}

// Returns a diagram with an arrow between units that meet, and a table of the shared sockets with their clients by number.
std::string adapter_picture() {
  std::map<std::pair<std::string, std::string>, std::string> arrows;
  std::map<std::string, std::string> clients;
  for (const adapter_net& n : adapter_nets()) {
    std::string& label = arrows[{n.from, n.to}];
    label += (label.empty() ? "" : ", ") + n.initiator;
    if (!n.is_shared) continue;
    std::string& row = clients[n.to + "` | `" + n.target];
    row += (row.empty() ? "" : ", ") + n.from;
  }
  std::string text = "```mermaid\nflowchart LR\n";
  for (const auto& [units, label] : arrows) text += "  " + units.first + " -->|" + label + "| " + units.second + "\n";
  text += "```\n\n| unit | socket | clients 0, 1, ... |\n|---|---|---|\n";
  for (const auto& [socket, row] : clients) text += "| `" + socket + "` | " + row + " |\n";
  return text;
}

// HCASIM_UPDATE_DOCS=1 writes the adapter's picture again.
TEST(docs, picture_of_the_adapter_is_that_of_its_netlist) {
  const fs::path page = source / "docs/architecture.md";
  const std::string begin = "<!-- netlist: begin -->\n";
  std::string text = file_content(page);
  const std::size_t at = text.find(begin);
  const std::size_t to = text.find("<!-- netlist: end -->");
  ASSERT_LT(at, to);
  ASSERT_NE(to, std::string::npos);
  const std::string picture = adapter_picture();
  if (std::getenv("HCASIM_UPDATE_DOCS")) {
    text = text.substr(0, at + begin.size()) + picture + text.substr(to);
    std::ofstream(page) << text;
  }
  EXPECT_NE(text.find(begin + picture + "<!-- netlist: end -->"), std::string::npos)
      << "run this test with HCASIM_UPDATE_DOCS=1";
  EXPECT_GE(adapter_nets().size(), 60U) << "rows have another form";
}

// The walk of a WRITE through the sources is short, opens no file twice, and names functions that are there.
TEST(docs, walk_of_a_write_is_in_the_sources) {
  constexpr std::size_t most_files = 30;
  std::set<std::string> files;
  const std::string text = file_content(source / "docs/architecture.md");
  static const std::regex row(R"(\| \d+ \| `([^`]+)` \| ([^|]+) \|)");
  for (std::sregex_iterator i(text.begin(), text.end(), row), end; i != end; ++i) {
    const std::string file = (*i)[1];
    const std::string functions = (*i)[2];
    EXPECT_TRUE(files.insert(file).second) << file << " is opened twice";
    const std::string code = file_content(source / file);
    static const std::regex name("`([a-z_]+)`");
    for (std::sregex_iterator n(functions.begin(), functions.end(), name), none; n != none; ++n) {
      EXPECT_TRUE(std::regex_search(code, std::regex("\\b" + (*n)[1].str() + "\\("))) << file << " has no " << (*n)[1];
    }
  }
  EXPECT_GE(files.size(), 20U);
  EXPECT_LE(files.size(), most_files);
}

// Two versions of one section contradict each other sooner or later.
TEST(docs, no_page_has_a_section_twice) {
  for (const fs::path& page : pages()) {
    std::set<std::string> sections;
    bool code = false;
    for (const std::string& line : lines_of(file_content(page))) {
      if (line.starts_with("```")) code = !code;
      const bool again = !code && line.starts_with("## ") && !sections.insert(line).second;
      EXPECT_FALSE(again) << page.filename() << ": " << line;
    }
  }
}

}  // namespace
}  // namespace hcasim
