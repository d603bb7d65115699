// The pages of units show the states of their tables; HCASIM_UPDATE_DOCS=1 writes them.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "models/adapter/context_cache/line_rules.h"
#include "models/adapter/requester/send_qp_rules.h"
#include "models/adapter/responder/receive_qp_rules.h"
#include "models/adapter/responder/shared_queue_rules.h"
#include "models/adapter/send_queue/scheduled_qp_rules.h"
#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/answers_page.h"
#include "testbenches/program/testing/run_program.h"
#include "tlm/testing/state_exploration.h"

namespace hcasim {
namespace {

void expect_on_page(const std::string& unit, const std::string& right) {
  const std::filesystem::path page = std::filesystem::path(places::source) / "docs/units" / (unit + ".md");
  const std::string mark = "<!-- from the table of states -->\n";
  std::string text = file_content(page);
  const std::size_t at = text.find(mark);
  ASSERT_NE(at, std::string::npos);
  if (std::getenv("HCASIM_UPDATE_DOCS")) {
    text = text.substr(0, at + mark.size()) + right;
    std::ofstream(page) << text;
  }
  EXPECT_EQ(text.substr(at + mark.size()), right) << "run this test with HCASIM_UPDATE_DOCS=1";
}

TEST(states, requester) {
  expect_on_page("requester", testing::states_markdown(send_qp_table) + testing::reactions_markdown());
}

TEST(states, responder) {
  expect_on_page("responder", testing::states_markdown(receive_qp_table) + "\n" + testing::states_markdown(shared_queue_table) +
                                  testing::answers_markdown());
}

TEST(states, send_queue) {
  expect_on_page("send_queue", testing::states_markdown(scheduled_qp_table));
}

TEST(states, context_cache) {
  expect_on_page("context_cache", testing::states_markdown(line_table));
}

}  // namespace
}  // namespace hcasim
