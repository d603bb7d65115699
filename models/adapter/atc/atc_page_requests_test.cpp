// Pages that are not there: requests, their credits, their answers.
#include <gtest/gtest.h>

#include <memory>

#include "models/adapter/atc/atc_bench.h"

namespace hcasim {
namespace {

using testing::atc_bench;
using testing::atc_link;
using testing::run_for;
using testing::run_until_idle;
using testing::without_pages;
using kind = atc_link::event::kind;

TEST(atc, a_page_that_is_granted_is_used) {
  atc_bench b;
  auto& write = b.engine.send(true, 0x5040, 1_us);
  run_for(3_us);
  const auto asked = b.link.messages(pcie_message::page_request);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].address, 0x5000U);
  EXPECT_EQ(asked[0].code, ats_page_read | ats_page_write | ats_page_last);
  EXPECT_EQ(asked[0].sent, 1_us + 2_ns + 400_ns) << "as soon as the answer is known";
  EXPECT_FALSE(write.done());
  b.link.map(0x5000, 0x77000);
  const ps granted = now();
  b.link.respond(asked[0].tag, ats_response::success);
  run_until_idle();
  EXPECT_TRUE(write.ok());
  EXPECT_EQ(write.answered, granted + 400_ns + 200_ns);
  EXPECT_EQ(b.value("page_retries"), 0);
}

TEST(atc, a_page_that_is_refused_fails_its_bursts_and_no_others) {
  atc_bench b;
  b.link.map(0x6000, 0x78000);
  auto& one = b.engine.send(false, 0x5040, 1_us);
  auto& two = b.engine.send(false, 0x5080, 1_us);
  auto& other = b.engine.send(false, 0x6000, 1_us);
  run_for(3_us);
  b.link.respond(b.link.messages(pcie_message::page_request).at(0).tag, ats_response::invalid_request);
  run_until_idle();
  EXPECT_FALSE(one.ok());
  EXPECT_FALSE(two.ok());
  EXPECT_TRUE(other.ok());
  EXPECT_EQ(b.value("pages_refused"), 1);
  auto& later = b.engine.send(false, 0x5040, now() + 1_us);
  run_for(3_us);
  EXPECT_EQ(b.value("page_requests"), 2) << "it may be there by now";
  b.link.map(0x5000, 0x77000);
  b.link.respond(b.link.messages(pcie_message::page_request).at(1).tag, ats_response::success);
  run_until_idle();
  EXPECT_TRUE(later.ok());
}

// It has no other answer: bus mastering is off, or the IOMMU grants the function no page requests.
TEST(atc, a_page_request_that_does_not_leave_is_refused) {
  atc_bench b;
  b.link.refuses_messages = true;
  auto& read = b.engine.send(false, 0x5040, 1_us);
  run_until_idle();
  EXPECT_TRUE(read.done());
  EXPECT_FALSE(read.ok());
  EXPECT_EQ(b.value("pages_refused"), 1);
  EXPECT_TRUE(b.dut.idle());
  b.link.refuses_messages = false;
  auto& again = b.engine.send(false, 0x5040, now() + 1_us);
  run_for(3_us);
  b.link.map(0x5000, 0x77000);
  b.link.respond(b.link.messages(pcie_message::page_request).back().tag, ats_response::success);
  run_until_idle();
  EXPECT_TRUE(again.ok());
}

// Bursts wait in the cache for a page, and others are on the link, when the simulation ends.
void destroy_under_way(bool engine_first) {
  const clock_domain clock{frequency{1e9}};
  auto dut = std::make_unique<atc>("atc", atc_config{}, clock, 7);
  auto engine = std::make_unique<testing::atc_engine>("engine_model");
  atc_link link("link_model");
  engine->out.bind(dut->engine);
  dut->pcie.bind(link.up);
  link.down.bind(dut->down);
  dut->bar.bind(link.bar);
  link.map(0x6000, 0x78000);
  for (const std::uint64_t address : {0x5040U, 0x6040U}) engine->send(false, address, 1_us);
  run_for(1_us + 500_ns);
  EXPECT_FALSE(dut->idle());
  if (engine_first) {
    engine = nullptr;
    dut = nullptr;
  } else {
    dut = nullptr;
    engine = nullptr;
  }
}

TEST(atc, a_burst_may_be_destroyed_before_the_cache_that_holds_it) {
  destroy_under_way(true);
}
TEST(atc, a_burst_may_be_destroyed_after_the_cache_that_held_it) {
  destroy_under_way(false);
}

TEST(atc, a_failure_ends_page_requests_for_good) {
  atc_config c;
  c.page_requests = 2;
  atc_bench b(c);
  auto& one = b.engine.send(false, 0x5000, 1_us);
  auto& two = b.engine.send(false, 0x6000, 1_us);
  auto& three = b.engine.send(false, 0x7000, 1_us);
  run_for(3_us);
  const auto asked = b.link.messages(pcie_message::page_request);
  ASSERT_EQ(asked.size(), 2U) << "there are two credits";
  EXPECT_EQ(b.value("credit_waits"), 1);
  b.link.respond(asked[0].tag, ats_response::failure);
  run_for(1_us);
  EXPECT_TRUE(one.done() && !one.ok());
  EXPECT_TRUE(three.done() && !three.ok()) << "what waited for a credit fails too";
  EXPECT_FALSE(two.done()) << "this one has an answer coming";
  b.link.map(0x6000, 0x78000);
  b.link.respond(asked[1].tag, ats_response::success);
  run_until_idle();
  EXPECT_TRUE(two.ok());
  auto& later = b.engine.send(false, 0x9000, now() + 1_us);
  run_until_idle();
  EXPECT_FALSE(later.ok());
  EXPECT_EQ(b.link.messages(pcie_message::page_request).size(), 2U);
  EXPECT_EQ(b.value("stops"), 1);
}

TEST(atc, credits_bound_the_page_requests) {
  atc_config c;
  c.page_requests = 3;
  atc_bench b(c);
  for (std::uint64_t p = 1; p <= 8; ++p) b.engine.send(false, p << 12, 1_us);
  run_for(5_us);
  for (std::size_t answered = 0; answered < 8; ++answered) {
    const auto asked = b.link.messages(pcie_message::page_request);
    ASSERT_EQ(asked.size(), std::min<std::size_t>(answered + 3, 8));
    b.link.map(asked[answered].address, 0x70000 + asked[answered].address);
    b.link.respond(asked[answered].tag, ats_response::success);
    run_for(5_us);
  }
  for (const auto& x : b.engine.bursts) EXPECT_TRUE(x.ok());
  EXPECT_EQ(b.value("credit_waits"), 5);
  EXPECT_TRUE(b.dut.idle());
}

// Granted, but not there - as after an overflow of the queue: it asks again, later, and not for ever.
TEST(atc, a_page_that_was_granted_and_is_not_there_is_asked_for_again) {
  atc_config c;
  c.page_retries = 3;
  c.page_retry_delay = 2_us;
  atc_bench b(c);
  auto& x = b.engine.send(false, 0x5000, 1_us);
  for (std::size_t i = 0; i < 4; ++i) {
    run_for(4_us);
    const auto asked = b.link.messages(pcie_message::page_request);
    ASSERT_EQ(asked.size(), i + 1);
    if (i > 0) {
      EXPECT_GE(asked[i].sent, asked[i - 1].sent + 2_us);
    }
    b.link.respond(asked[i].tag, ats_response::success);
  }
  run_until_idle();
  EXPECT_TRUE(x.done());
  EXPECT_FALSE(x.ok());
  EXPECT_EQ(b.value("page_retries"), 3);
  b.link.respond(0, ats_response::success);   // not asked for
  b.link.respond(99, ats_response::success);  // no such group
  EXPECT_TRUE(b.dut.idle());
}

// A write that waits for its page does not hold up an invalidation, nor is it met by one.
TEST(atc, an_invalidation_passes_a_write_that_waits_for_its_page) {
  atc_bench b;
  auto& write = b.engine.send(true, 0x5000, 1_us);
  run_for(3_us);
  b.link.invalidate(ats_entry(0x5000, 12), 9);
  run_for(1_us);
  EXPECT_EQ(b.link.messages(pcie_message::invalidate_done).size(), 1U);
  b.link.map(0x5000, 0x77000);
  b.link.respond(b.link.messages(pcie_message::page_request).at(0).tag, ats_response::success);
  run_until_idle();
  EXPECT_TRUE(write.ok());
}

}  // namespace
}  // namespace hcasim
