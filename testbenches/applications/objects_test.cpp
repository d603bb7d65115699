// Programs that write to their own part of the objects, and give attributes that do not apply: the answers are those of a real
// library and kernel.
#include "testbenches/applications/testing/run_programs.h"

namespace hcasim::applications {
namespace {

class objects : public ::testing::TestWithParam<const char*> {
 protected:
  std::string program_ = std::filesystem::path(places::program).parent_path() / "hcasim_objects";
};

TEST_P(objects, are_as_a_real_library_has_them) {
  if (const std::string why = obstacle(program_); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  EXPECT_EQ(exec(folder / "a", fmt::format("-- {} {}", program_, GetParam())).status, 0)
      << file_content(folder / "a/program0.txt");
}

INSTANTIATE_TEST_SUITE_P(all, objects,
                         ::testing::Values("window", "extended", "type_1", "fields", "address", "handles", "attributes",
                                           "masks"),
                         [](const auto& i) { return std::string(i.param); });

}  // namespace
}  // namespace hcasim::applications
