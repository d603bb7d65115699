// The mutation score of each unit's RTL, with as many faults as the build holds (HCASIM_MUTANTS), and the file of faults
// without a visible effect.
#include "testbenches/coverification/lockstep/mutation.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "rtl/context_cache_mutants.h"
#include "rtl/doorbell_mutants.h"
#include "rtl/key_check_mutants.h"
#include "rtl/page_walker_design.h"
#include "rtl/page_walker_mutants.h"
#include "testbenches/program/places/places.h"

namespace hcasim::lockstep {
namespace {

rtl::design_factory mutants_made_by(const std::string& unit) {
  static const std::map<std::string, rtl::design_factory> all{{"context_cache", rtl::make_context_cache_mutants},
                                                              {"doorbell", rtl::make_doorbell_mutants},
                                                              {"key_check", rtl::make_key_check_mutants},
                                                              {"page_walker", rtl::make_page_walker_mutants}};
  return all.at(unit);
}

// Returns the score reached over the faults of this build; docs/mutation.md lists the rest.
double reached(const std::string& unit) {
  static const std::map<std::string, double> all{
      {"context_cache", 0.95}, {"doorbell", 0.98}, {"key_check", 0.95}, {"page_walker", 0.94}};
  return all.at(unit);
}

class mutation_of : public ::testing::TestWithParam<std::string> {};

TEST_P(mutation_of, lockstep_kills_what_is_not_equivalent) {
  const std::string& unit = GetParam();
  std::vector<mutant> all = mutants_of(mutants_made_by(unit));
  EXPECT_GE(all.size(), 30U);
  EXPECT_LE(all.back().number, mutants_made_by(unit)(0)->mutants());
  read_equivalents(std::string(places::source) + "/models/adapter/" + unit + "/rtl/equivalents.txt", all);
  mutation_options o;
  o.requests = 6'000;
  o.jobs = 2;
  o.design = mutants_made_by(unit);
  const std::vector<judged> verdicts = judge_mutants(unit, all, o);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const mutant& m = all[i];
    const std::string what =
        std::to_string(m.number) + " " + m.file + ":" + std::to_string(m.line) + " " + m.right + " -> " + m.wrong;
    EXPECT_NE(verdicts[i].fate, fate::no_equivalent) << what << ": " << verdicts[i].reason;
    if (verdicts[i].fate == fate::survived) std::printf("survived: %s\n", what.c_str());
  }
  std::printf("%s: score %.3f of %zu\n", unit.c_str(), score(verdicts), all.size());
  EXPECT_GE(score(verdicts), reached(unit));
}

INSTANTIATE_TEST_SUITE_P(units, mutation_of, ::testing::ValuesIn(rtl_names()), [](const auto& i) { return i.param; });

TEST(mutation, a_design_without_faults_is_refused) {
  EXPECT_THROW(mutants_of(rtl::make_page_walker_design), std::invalid_argument);
}

// A fault is killed for its own sake: the same stream passes without the fault.
TEST(mutation, a_verdict_names_what_killed) {
  std::vector<mutant> all = mutants_of(rtl::make_page_walker_mutants);
  all.resize(1);
  mutation_options o;
  o.requests = 2000;
  o.design = rtl::make_page_walker_mutants;
  const std::vector<judged> first = judge_mutants("page_walker", all, o);
  ASSERT_EQ(first.size(), 1U);
  all[0].number = 0;  // no fault: nothing may kill it
  EXPECT_EQ(judge_mutants("page_walker", all, o)[0].fate, fate::survived);
  all[0].reason = "nothing is wrong";
  EXPECT_EQ(judge_mutants("page_walker", all, o)[0].fate, fate::equivalent);
}

TEST(mutation, scores) {
  const auto of = [](std::initializer_list<fate> fates) {
    std::vector<judged> verdicts;
    for (const fate f : fates) verdicts.emplace_back().fate = f;
    return score(verdicts);
  };
  EXPECT_EQ(of({}), 1);
  EXPECT_EQ(of({fate::killed, fate::survived, fate::killed_by_storm, fate::equivalent}), 1.0 / 3);
}

TEST(mutation, equivalents_are_read_with_their_places) {
  const std::string file = ::testing::TempDir() + "equivalents.txt";
  const auto read = [&](const char* text, std::vector<mutant>& all) {
    std::ofstream(file) << text;
    return read_equivalents(file, all);
  };
  const std::vector<mutant> some{{1, "a.sv", 3, "operator", "a && b", "a || b", "x <= a && b;", ""},
                                 {2, "a.sv", 3, "operand", "a && b", "(a) && 1'b1", "x <= a && b;", ""},
                                 {3, "a.sv", 9, "operator", "a && b", "a || b", "y <= a && b;", ""}};
  std::vector<mutant> all = some;
  EXPECT_TRUE(read("# why\n@ a.sv\n: y <= a&&b;\n- a &&  b\n+ a || b\n! combinational\n= never both\n", all).empty());
  EXPECT_EQ(all[0].reason + all[1].reason, "");
  EXPECT_EQ(all[2].reason, "never both");
  all = some;
  EXPECT_TRUE(read("@ a.sv\n: x <= a && b;\n- a && b\n+ *\n= any of them\n", all).empty());
  EXPECT_EQ(all[0].reason + "," + all[1].reason + "," + all[2].reason, "any of them,any of them,");
  all = some;
  EXPECT_EQ(read("@ b.sv\n- a && b\n+ a || b\n= no\n", all).size(), 1U);
  EXPECT_THROW(read("@ a.sv\nwhat is this\n", all), std::runtime_error);
  std::filesystem::remove(file);
  EXPECT_THROW(read_equivalents(file, all), std::runtime_error);
}

}  // namespace
}  // namespace hcasim::lockstep
