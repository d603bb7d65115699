// The save file of a run, opened in GTKWave on a screen of its own: the picture must show waves.
#include <map>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class gtkwave : public test_in_own_folder {
 protected:
  static bool there(const std::string& program) { return run_program("command -v", program).status == 0; }
  // Returns why GTKWave cannot be tested; empty = it can.
  static std::string missing() {
    for (const char* program : {"gtkwave", "Xvfb", "xvfb-run", "xwd", "xwininfo"}) {
      if (!there(program)) return fmt::format("{} is missing: ./dev setup installs what scripts/packages.txt lists", program);
    }
    return "";
  }

  using colours = std::map<std::uint32_t, int>;
  static constexpr std::size_t height = 900;

  // Opens all save files, one below the other on one screen: pixels of each colour (red, green, blue) where GTKWave draws
  // waves.
  static std::vector<colours> pictures(const std::vector<std::string>& save_files) {
    std::string script;
    std::size_t number = 0;
    for (const std::string& file : save_files) {
      std::string save = file_content(file);
      const std::string anywhere = "[pos] -1 -1";
      save.replace(save.find(anywhere), anywhere.size(), fmt::format("[pos] 0 {}", number++ * height));
      std::ofstream(file) << save;
      script += fmt::format("gtkwave {} >>gtkwave.log 2>&1 &\nviewers=\"$viewers $!\"\n", file);
    }
    script += fmt::format(
        "for i in $(seq 240); do\n"
        "  sleep 0.25\n"
        "  test $(xwininfo -root -tree 2>/dev/null | grep -c 'GTKWave - ') -ge {} && break\n"
        "done\n"
        "for i in $(seq 20); do\n"  // until nothing is drawn any more
        "  sleep 2\n"
        "  xwd -root -silent -out picture.xwd\n"
        "  cmp -s picture.xwd before.xwd && break\n"
        "  cp picture.xwd before.xwd\n"
        "done\n"
        "kill $viewers\n",
        number);
    std::ofstream("look") << script;
    fs::remove("picture.xwd");
    const outcome o = run_program("xvfb-run", fmt::format("-a -s '-screen 0 1600x{}x24' sh ./look", number * height));
    const std::string data = file_content("picture.xwd");
    EXPECT_GT(data.size(), 1'000'000U) << o.text << file_content("gtkwave.log");
    std::vector<colours> seen(number);
    if (data.size() < 100) return seen;
    // XWD: big-endian words; of them header size, width, bytes in a line, number of colours.
    const auto word = [&](std::size_t n) {
      std::uint32_t v = 0;
      for (std::size_t i = 0; i < 4; ++i) v = v << 8 | static_cast<unsigned char>(data[4 * n + i]);
      return static_cast<std::size_t>(v);
    };
    const std::size_t pixels = word(0) + 12 * word(19);
    EXPECT_EQ(word(4), 1600U);
    EXPECT_EQ(word(12), 6400U) << "four bytes a pixel";
    for (std::size_t y = 0; y < number * height; ++y) {
      if (y % height < 150 || y % height >= 880) continue;
      for (std::size_t x = 650; x < 1590; ++x) {
        const std::size_t at = pixels + y * word(12) + 4 * x;
        const auto byte = [&](std::size_t i) {
          return static_cast<std::uint32_t>(static_cast<unsigned char>(data.at(at + i)));
        };
        ++seen[y / height][byte(2) << 16 | byte(1) << 8 | byte(0)];
      }
    }
    return seen;
  }
  // Counts the points that are neither the black background nor grey (window, rulers).
  static int drawn(const colours& picture) {
    int n = 0;
    for (const auto& [c, pixels] : picture) {
      if ((c >> 16) != ((c >> 8) & 0xff) || (c & 0xff) != ((c >> 8) & 0xff)) n += pixels;
    }
    return n;
  }
};

TEST_F(gtkwave, draws_the_waves_of_a_run) {
  if (const std::string reason = missing(); !reason.empty()) GTEST_SKIP() << reason;
  for (const char* format : {"vcd", "fst"}) {
    const outcome o = run_program(places::program, fmt::format("run ping -o {0} --waves {0}", format));
    ASSERT_EQ(o.status, 0) << o.text;
  }
  // The same window without signals shows no waves: the counts mean something.
  std::istringstream save(file_content("vcd/waves.gtkw"));
  std::ofstream empty("vcd/empty.gtkw");
  for (std::string line; std::getline(save, line);) {
    if (line.starts_with("[") && !line.starts_with("[color]")) empty << line << "\n";
    if (line.starts_with("*")) empty << line << "\n";
  }
  empty.close();
  const auto seen = pictures({"vcd/waves.gtkw", "fst/waves.gtkw", "vcd/empty.gtkw"});
  for (std::size_t i : {0U, 1U}) {
    EXPECT_GT(drawn(seen[i]), 10'000) << i;
    for (const std::uint32_t strobe_or_value : {0x00ff00U, 0xffff00U}) {
      EXPECT_TRUE(seen[i].contains(strobe_or_value)) << fmt::format("{}: no line in {:06x}", i, strobe_or_value);
    }
  }
  EXPECT_NEAR(drawn(seen[1]), drawn(seen[0]), 0.02 * drawn(seen[0])) << "both formats look the same";
  std::printf("%d and %d coloured pixels, %d without signals\n", drawn(seen[0]), drawn(seen[1]), drawn(seen[2]));
  EXPECT_FALSE(seen[2].contains(0x00ff00U)) << "a strobe where there is no signal";
}

// Every testbench leaves a save file with groups, colours, names for values and markers, and its picture shows waves.
TEST_F(gtkwave, has_a_view_of_every_testbench) {
  if (const std::string reason = missing(); !reason.empty()) GTEST_SKIP() << reason;
  const std::string pingpong = "--set nodes=2 --program0.run ibv_rc_pingpong --program1.run 'ibv_rc_pingpong node0'";
  const std::map<std::string, std::string> shorter{{"message_rate", "--messages 3000"},
                                                   {"random_traffic", "--operations 300"},
                                                   {"applications", pingpong},
                                                   {"gateway", pingpong + " --listen " + own_listening_address()},
                                                   {"fault_campaign", "--faults 10"},
                                                   {"key_lifecycle", "--most_keys 64 --changes 20"},
                                                   {"key_storm", "--changes 500"},
                                                   {"hostile", "--forged 20000"},
                                                   {"lockstep", "--requests 100"},
                                                   {"recovery", "--failures 3"},
                                                   {"peer_direct", "--times 20 --largest '64 KiB' --bytes '512 KiB'"}};
  std::vector<std::string> names;
  for (const auto& bench : nlohmann::json::parse(run_program(places::program, "list --json").text))
    names.push_back(bench["name"]);
  ASSERT_GE(names.size(), 7U);
  std::vector<std::string> files;
  std::vector<std::string> seen_names;
  for (const std::string& name : names) {
    const auto options = shorter.find(name);
    const outcome o = run_program(
        places::program, fmt::format("run {0} -o {0} --waves fst {1}", name, options == shorter.end() ? "" : options->second));
    ASSERT_EQ(o.status, 0) << o.text;
    if (name == "lockstep") {  // its units run in processes of their own
      EXPECT_FALSE(fs::exists("lockstep/waves.fst"));
      continue;
    }
    seen_names.push_back(name);
    files.push_back(name + "/waves.gtkw");
    const std::string save = file_content(files.back());
    EXPECT_GE(std::distance(fs::directory_iterator(name + "/gtkwave"), fs::directory_iterator()), 3)
        << name << ": names of values";
    for (const char* part :
         {"-system.node0.hca.key_check\n", "[color] 4\n", "[color] 3\n", "[color] 7\n", "^1 ", "[markername] A"}) {
      const bool of_an_adapter = part[0] == '-' || std::string_view(part) == "[markername] A";
      if (of_an_adapter && save.find(".hca.") == std::string::npos) continue;
      EXPECT_NE(save.find(part), std::string::npos) << name << ": no " << part;
    }
  }
  const auto seen = pictures(files);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    std::printf("%s: %d coloured pixels of %zu colours\n", seen_names[i].c_str(), drawn(seen[i]), seen[i].size());
    EXPECT_GT(drawn(seen[i]), 5'000) << seen_names[i];
    EXPECT_TRUE(seen[i].contains(0x00ff00)) << seen_names[i] << ": no strobe";
  }
}

}  // namespace
}  // namespace hcasim
