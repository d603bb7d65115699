// Runs that RTL in a shared object ends: each fails, and the message names unit, time and cycle.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class broken_off : public ::testing::Test {
 protected:
  ~broken_off() override { fs::remove_all(folder_); }

  outcome run(const std::string& how, const std::string& object = HCASIM_OWN_UNITS "/libending_port.so") const {
    return run_program(("HCASIM_TEST_ENDING=" + how + " " + places::program).c_str(),
                       fmt::format("run rkey_reuse --length '64 KiB' --no-trace --force -o {} "
                                   "--set 'node1.hca.completion.implementation={}'",
                                   folder_.string(), object));
  }
  [[nodiscard]] bool result() const { return fs::exists(folder_ / "result.json"); }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("hcasim_broken_off_{}", ::getpid());
};

bool names_place(const std::string& text, const std::string& what) {
  const std::regex place("node1\\.hca\\.completion\\.writer \\(ending_port_design\\), [0-9.]+ ns, cycle [1-9][0-9]*: " + what);
  return std::regex_search(text, place);
}

TEST_F(broken_off, a_run_that_goes_on_passes) {
  const outcome o = run("none");
  EXPECT_EQ(o.status, 0) << o.text;
}

TEST_F(broken_off, a_system_task_of_the_rtl_fails_the_run_with_a_result) {
  for (const auto& [how, what] : {std::pair("finish", "\\$finish at 'ending_port.sv:[0-9]+'"),
                                  std::pair("stop", "\\$stop at 'ending_port.sv:[0-9]+'"), std::pair("fatal", ".*no way")}) {
    const outcome o = run(how);
    EXPECT_EQ(o.status, 1) << how << ": " << o.text;
    EXPECT_TRUE(names_place(o.text, what)) << o.text;
    ASSERT_TRUE(result()) << o.text;
    const auto document = nlohmann::json::parse(file_content(folder_ / "result.json"));
    EXPECT_FALSE(document["passed"]);
    EXPECT_TRUE(names_place(document["failures"].dump(), what)) << document["failures"];
    fs::remove_all(folder_);
  }
}

TEST_F(broken_off, exit_of_the_rtl_fails_the_run) {
  const outcome o = run("exit");
  EXPECT_EQ(o.status, 1) << o.text;
  EXPECT_TRUE(names_place(o.text, "the process was ended by exit\\(\\), before the run was over")) << o.text;
  EXPECT_FALSE(result());
}

TEST_F(broken_off, abort_of_the_rtl_names_the_place) {
  const outcome o = run("abort");
  EXPECT_EQ(o.status, 128 + 6) << o.text;
  EXPECT_TRUE(names_place(o.text, "the process was ended by SIGABRT")) << o.text;
  EXPECT_FALSE(result());
}

TEST_F(broken_off, by_a_shared_object_that_exits_as_it_is_loaded) {
  const outcome o = run("load");
  EXPECT_EQ(o.status, 1) << o.text;
  EXPECT_NE(o.text.find("libending_port.so: the process was ended by exit()"), std::string::npos) << o.text;
}

// The loader would map pages beyond the end of such a file.
TEST_F(broken_off, by_a_shared_object_that_is_cut_off) {
  const fs::path cut = fs::temp_directory_path() / fmt::format("hcasim_cut_off_{}.so", ::getpid());
  const auto whole = fs::file_size(HCASIM_OWN_UNITS "/libending_port.so");
  for (const double part : {0.9, 0.5, 0.1}) {
    fs::copy_file(HCASIM_OWN_UNITS "/libending_port.so", cut, fs::copy_options::overwrite_existing);
    fs::resize_file(cut, static_cast<std::uintmax_t>(static_cast<double>(whole) * part));
    const outcome o = run("none", cut.string());
    EXPECT_EQ(o.status, 2) << o.text;
    EXPECT_NE(o.text.find("node1.hca.completion.implementation: " + cut.string() +
                          " is not a shared object that can be loaded: it is cut off: it has "),
              std::string::npos)
        << o.text;
  }
  fs::remove(cut);
}

}  // namespace
}  // namespace hcasim
