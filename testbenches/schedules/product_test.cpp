// The product of a schedule's ways: registration, rendezvous, translation, RTL, loss. The ranks check the bytes of each
// message.
#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/combinations.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

TEST(schedule_product, every_pair_of_ways_carries_all_messages) {
  const std::vector<testing::axis> axes{
      {"--registration each", "--registration cached", "--registration window"},
      {"--rendezvous read", "--rendezvous write"},
      {"", "--set node*.iommu.enabled=true", "--set node*.iommu.enabled=true --set node*.hca.atc.enabled=true"},
      {"", "--set node*.hca.key_check.implementation=rtl"},
      {"", "--set link.loss=0.01"}};
  const auto chosen = testing::combinations(axes, [](const testing::combination&) { return true; });
  EXPECT_GE(chosen.size(), 9U);
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("hcasim_schedules_{}", ::getpid());
  for (const testing::combination& c : chosen) {
    const std::string arguments = testing::text_of(axes, c);
    const outcome o =
        run_program(places::program, "run schedule --set nodes=4 --collective all_to_all --size '80 KiB' --eager '4 KiB' " +
                                         arguments + "--no-trace --force -o " + folder.string());
    EXPECT_EQ(o.status, 0) << arguments << o.text;
    EXPECT_EQ(o.text.rfind("schedule: passed", 0), 0U) << arguments << o.text;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hcasim
