// Waveforms of a whole system: FST has the content of VCD in a tenth of the bytes.
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/selftest/read_waves.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class waves : public test_in_own_folder {
 protected:
  static outcome hcasim(const std::string& arguments) { return run_program(places::program, arguments); }
};

TEST_F(waves, fst_is_small_and_holds_every_change) {
  ASSERT_EQ(hcasim("run message_rate -o vcd --messages 5000").status, 0);
  ASSERT_EQ(hcasim("run message_rate -o fst --messages 5000 --waves fst").status, 0);
  ASSERT_EQ(hcasim("run message_rate -o again --messages 5000 --waves fst").status, 0);
  EXPECT_LE(10 * fs::file_size("fst/waves.fst"), fs::file_size("vcd/waves.vcd"));
  EXPECT_TRUE(file_content("fst/waves.fst") == file_content("again/waves.fst"));
  EXPECT_EQ(file_content("fst/result.json"), file_content("vcd/result.json"));
  const parsed vcd = parse_vcd("vcd/waves.vcd");
  const parsed fst = parse_fst("fst/waves.fst");
  EXPECT_EQ(fst.end, vcd.end);
  EXPECT_GT(fst.by_id.size(), 100U);
  const auto expected = changes_by_name(vcd);
  const auto found = changes_by_name(fst);
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, list] : expected) EXPECT_TRUE(found.at(name) == list) << name;
}

// A tenth, wherever times and values repeat at all. `xz -9` brings random traffic to a fifth; the FST stays below both that and
// a sixth. A ping is over before anything repeats.
TEST_F(waves, fst_is_so_many_times_smaller_than_the_vcd) {
  struct {
    const char* run;
    std::uintmax_t times;
  } const cases[] = {{"iommu_window", 10}, {"on_demand --pages 32 --takes 20", 10},      {"rkey_reuse --length '4 MiB'", 10},
                     {"transports", 10},   {"peer_direct --part takings --times 30", 7}, {"random_traffic", 6},
                     {"key_storm", 7},     {"message_rate --messages 5000", 10},         {"ping", 5}};
  for (const auto& c : cases) {
    ASSERT_EQ(hcasim(fmt::format("run {} -o vcd --force", c.run)).status, 0) << c.run;
    ASSERT_EQ(hcasim(fmt::format("run {} -o fst --force --waves fst", c.run)).status, 0) << c.run;
    EXPECT_LE(c.times * fs::file_size("fst/waves.fst"), fs::file_size("vcd/waves.vcd")) << c.run;
  }
}

// The first three WRITEs warm the caches. The view and its markers stand at the one that counts.
TEST_F(waves, the_measured_operation_is_in_view) {
  ASSERT_EQ(hcasim("run ping -o out").status, 0);
  const auto result = nlohmann::json::parse(file_content("out/result.json"));
  const double begin = 1000 * result["measured"]["parts"][0]["begin_ns"].get<double>();
  const double end = 1000 * result["measured"]["parts"][0]["end_ns"].get<double>();
  const std::string view = file_content("out/waves.gtkw");
  const auto after = [&](const std::string& word) { return std::istringstream(view.substr(view.find(word) + word.size())); };
  double from = 0;
  after("[timestart] ") >> from;
  EXPECT_GE(from, begin - 500e3);
  EXPECT_LT(from, end);
  std::istringstream markers = after("*-");
  double place = 0;
  markers >> place >> place;  // the zoom, and the marker without a name
  std::vector<double> places;
  for (int i = 0; i < 6 && markers >> place; ++i) places.push_back(place);
  ASSERT_EQ(places.size(), 6U);
  for (const double p : places) {
    EXPECT_GE(p, begin);
    EXPECT_LE(p, end);
  }
  EXPECT_EQ(std::set<double>(places.begin(), places.end()).size(), 5U) << "the MRC is looked up when the check begins";
}

}  // namespace
}  // namespace hcasim
