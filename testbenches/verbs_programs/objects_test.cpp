// A program may write to the public structs of objects, or set attributes that do not apply. The answers are those of a real
// library and kernel.
#include "testbenches/verbs_programs/testing/run_programs.h"

namespace hcasim::applications {
namespace {

struct use {
  const char* what;
  const char* options = "";
};
void PrintTo(const use& u, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest's
  *out << u.what;
}

class objects : public ::testing::TestWithParam<use> {
 protected:
  std::string program_ = std::filesystem::path(places::program).parent_path() / "hcasim_objects";
};

TEST_P(objects, are_as_a_real_library_has_them) {
  if (const std::string why = obstacle(program_); !why.empty()) GTEST_SKIP() << why;
  const scratch folder;
  EXPECT_EQ(exec(folder / "a", fmt::format("-- {} {}", program_, GetParam().what), GetParam().options).status, 0)
      << file_content(folder / "a/program0.txt");
}

INSTANTIATE_TEST_SUITE_P(
    all, objects,
    ::testing::Values(use{"window"}, use{"extended"}, use{"type_1"}, use{"fields"}, use{"address"}, use{"handles"},
                      use{"attributes"}, use{"masks"}, use{"null"}, use{"shown_key"}, use{"depth"}, use{"overrun"},
                      use{"parent_domains"}, use{"too_much"}, use{"late_events"}, use{"protected"}, use{"protected_on_demand"},
                      use{"busy_threads"}, use{"data_path"}, use{"name", "--param device_name=mlx5_0"},
                      use{"roce", "--set node*.hca.port.link_layer=ethernet"},
                      use{"vendor", "--set node*.driver.vendor_id=713 --set node*.driver.vendor_part_id=4119"}),
    [](const auto& i) { return std::string(i.param.what); });

}  // namespace
}  // namespace hcasim::applications
