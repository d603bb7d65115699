// The save file of a run, opened in GTKWave on a screen of its own: the picture must show waves.
#include <unistd.h>

#include <map>

#include <gtest/gtest.h>

#include "testbenches/runner/program/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class gtkwave : public ::testing::Test {
 protected:
  gtkwave() {
    fs::create_directories(folder_);
    fs::current_path(folder_);
  }
  ~gtkwave() override {
    fs::current_path("/");
    fs::remove_all(folder_);
  }
  static bool there(const std::string& program) { return run_program("command -v", program).status == 0; }
  // Why it cannot be looked at; empty: it can.
  static std::string missing() {
    for (const char* program : {"gtkwave", "Xvfb", "xvfb-run", "xwd", "xwininfo"}) {
      if (!there(program)) return fmt::format("{} is missing: ./dev setup installs what scripts/packages.txt lists", program);
    }
    return "";
  }

  // Pixels of each colour (red, green, blue) where GTKWave draws waves.
  static std::map<std::uint32_t, int> picture(const std::string& arguments) {
    std::ofstream("look") << "gtkwave " << arguments
                          << " >gtkwave.log 2>&1 &\n"
                             "viewer=$!\n"
                             "for i in $(seq 80); do\n"
                             "  sleep 0.25\n"
                             "  xwininfo -root -tree 2>/dev/null | grep -q 'GTKWave - ' && break\n"
                             "done\n"
                             "sleep 2\n"
                             "xwd -root -silent -out picture.xwd\n"
                             "kill $viewer\n";
    fs::remove("picture.xwd");
    const outcome o = run_program("xvfb-run", "-a -s '-screen 0 1600x900x24' sh ./look");
    const std::string data = file_content("picture.xwd");
    EXPECT_GT(data.size(), 1'000'000U) << o.text << file_content("gtkwave.log");
    std::map<std::uint32_t, int> colours;
    if (data.size() < 100) return colours;
    // XWD: big-endian words; of them header size, width, bytes in a line, number of colours.
    const auto word = [&](std::size_t n) {
      std::uint32_t v = 0;
      for (std::size_t i = 0; i < 4; ++i) v = v << 8 | static_cast<unsigned char>(data[4 * n + i]);
      return static_cast<std::size_t>(v);
    };
    const std::size_t pixels = word(0) + 12 * word(19);
    EXPECT_EQ(word(4), 1600U);
    EXPECT_EQ(word(12), 6400U) << "four bytes a pixel";
    for (std::size_t y = 150; y < 880; ++y) {
      for (std::size_t x = 650; x < 1590; ++x) {
        const std::size_t at = pixels + y * word(12) + 4 * x;
        const auto byte = [&](std::size_t i) {
          return static_cast<std::uint32_t>(static_cast<unsigned char>(data.at(at + i)));
        };
        ++colours[byte(2) << 16 | byte(1) << 8 | byte(0)];
      }
    }
    return colours;
  }
  // What is neither the black background nor grey (window, rulers).
  static int drawn(const std::map<std::uint32_t, int>& colours) {
    int n = 0;
    for (const auto& [c, pixels] : colours) {
      if ((c >> 16) != ((c >> 8) & 0xff) || (c & 0xff) != ((c >> 8) & 0xff)) n += pixels;
    }
    return n;
  }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("hcasim_gtkwave_{}", ::getpid());
};

TEST_F(gtkwave, draws_the_waves_of_a_run) {
  if (const std::string reason = missing(); !reason.empty()) GTEST_SKIP() << reason;
  int pixels[2] = {};
  for (const char* format : {"vcd", "fst"}) {
    const outcome o = run_program(HCASIM_PROGRAM, fmt::format("run ping -o {0} --waves {0}", format));
    ASSERT_EQ(o.status, 0) << o.text;
    const auto colours = picture(fmt::format("{}/waves.gtkw", format));
    const int n = drawn(colours);
    std::printf("%s: %d coloured pixels of %zu colours\n", format, n, colours.size());
    EXPECT_GT(n, 10'000) << format;
    for (const std::uint32_t strobe_or_value : {0x00ff00U, 0xffff00U}) {
      EXPECT_TRUE(colours.contains(strobe_or_value)) << fmt::format("{}: no line in {:06x}", format, strobe_or_value);
    }
    pixels[format[0] == 'f'] = n;
  }
  EXPECT_NEAR(pixels[1], pixels[0], 0.02 * pixels[0]) << "both formats look the same";
  // The same window without signals shows no waves: the counts above mean something.
  std::istringstream save(file_content("vcd/waves.gtkw"));
  std::ofstream empty("vcd/empty.gtkw");
  for (std::string line; std::getline(save, line);) {
    if (line.starts_with("[") && !line.starts_with("[color]")) empty << line << "\n";
    if (line.starts_with("*")) empty << line << "\n";
  }
  empty.close();
  const int none = drawn(picture("vcd/empty.gtkw"));
  std::printf("no signals: %d coloured pixels\n", none);
  EXPECT_LT(none, pixels[0] / 4);
}

}  // namespace
}  // namespace hcasim
