#include "testbenches/verbs_programs/simulator/printed.h"

#include <gtest/gtest.h>

#include <map>

namespace hcasim::applications {
namespace {

std::map<std::string, double> values(const std::string& text) {
  std::map<std::string, double> out;
  for (const printed_figure& f : printed_figures(text)) out[f.name] = f.value;
  return out;
}

TEST(printed, bandwidth) {
  const std::string text =
      " TX depth        : 128\n----\n #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 2          100             24.50              24.10\t\t   12.635000\n"
      " 65536      500              11760.65            11760.34\t\t   0.188165\n----\n";
  EXPECT_EQ(
      values(text),
      (std::map<std::string, double>{
          {"bytes", 65536}, {"iterations", 500}, {"bw_peak", 11760.65}, {"bw_average", 11760.34}, {"msgrate", 0.188165}}));
  EXPECT_EQ(printed_figures(text)[3].unit, "MB/sec");
  EXPECT_EQ(printed_figures(text)[0].unit, "1");
}

TEST(printed, latency) {
  const std::string text =
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% "
      "percentile[usec]   99.9% percentile[usec] \n"
      " 8       500          1.12           1.13         1.14     \t       1.15        \t0.00   \t\t1.16    \t\t1.17   \n";
  const auto v = values(text);
  EXPECT_EQ(v.size(), 9U);
  EXPECT_EQ(v.at("t_avg"), 1.15);
  EXPECT_EQ(v.at("99_percentile"), 1.16);
  EXPECT_EQ(v.at("99_9_percentile"), 1.17);
}

TEST(printed, other_output_gives_no_figures) {
  EXPECT_TRUE(printed_figures("").empty());
  EXPECT_TRUE(printed_figures("#bytes\n").empty());
  EXPECT_TRUE(printed_figures(" #bytes #iterations t_min[usec]\n 1 2\n 1 2 3 4\n 1 2 x\n").empty());
  EXPECT_TRUE(printed_figures("1 2 3\n #bytes #iterations t_min[usec]\n").empty());
  EXPECT_TRUE(printed_figures("#bytes " + std::string(1'000'000, 'a') + "\n1 2\n").empty());
  EXPECT_TRUE(printed_figures("#bytes ]a[ x\n1 2\n").empty());
}

}  // namespace
}  // namespace hcasim::applications
