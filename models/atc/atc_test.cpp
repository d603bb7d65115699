// The translation cache alone: exact times, rights, order, invalidations at every step, page requests.
#include <gtest/gtest.h>

#include <random>

#include "models/atc/atc_bench.h"

namespace hcasim {
namespace {

using testing::atc_bench;
using testing::atc_link;
using testing::run_for;
using testing::run_until_idle;
using kind = atc_link::event::kind;

atc_config without_pages() {
  atc_config c;
  c.page_requests = 0;
  return c;
}

// ---- time, with 1 ns a cycle: a hit takes 2 cycles; a miss the round trip of a question, and goes on when it is answered

TEST(atc, exact_times_of_a_hit_and_of_a_miss) {
  atc_bench b;
  b.link.map(0x5000, 0x77000);
  const ps begin = 1_us;
  auto& cold = b.engine.send(true, 0x5010, begin);
  auto& warm = b.engine.send(false, 0x5020, begin + 1_us);
  auto& next = b.engine.send(false, 0x5040, begin + 1_us);
  run_until_idle();
  ASSERT_EQ(b.link.log.size(), 4U);
  const auto& question = b.link.log[0];
  EXPECT_EQ(question.what, kind::question);
  EXPECT_EQ(question.address, 0x5000U);
  EXPECT_EQ(question.sent, begin + 2_ns);
  EXPECT_EQ(question.requester, 7U);
  EXPECT_EQ(question.code, 0U) << "it means to write";
  EXPECT_EQ(b.link.log[1].sent, begin + 2_ns + 400_ns);
  EXPECT_EQ(b.link.log[1].address, 0x77010U);
  EXPECT_EQ(b.link.log[1].type, pcie_address_type::translated);
  EXPECT_EQ(cold.answered, begin + 2_ns + 400_ns + 200_ns);
  EXPECT_EQ(cold.get_address(), 0x5010U) << "the engine has its own address back";
  EXPECT_EQ(cold.extension.address_type, pcie_address_type::untranslated);
  EXPECT_EQ(b.link.log[2].sent, begin + 1_us + 2_ns);
  EXPECT_EQ(b.link.log[3].sent, begin + 1_us + 3_ns) << "one look-up a cycle";
  EXPECT_EQ(warm.answered, begin + 1_us + 2_ns + 500_ns);
  EXPECT_EQ(next.answered, begin + 1_us + 3_ns + 500_ns);
  EXPECT_EQ(b.value("misses"), 1);
  EXPECT_EQ(b.value("hits"), 2);
  EXPECT_TRUE(b.dut.idle());
}

// A look-up takes its latency, and the next one begins meanwhile.
TEST(atc, look_ups_are_pipelined) {
  atc_config c;
  c.hit_latency = 32;
  atc_bench b(c);
  b.link.map(0x5000, 0x77000);
  b.link.map(0x6000, 0x78000);
  b.engine.send(false, 0x5000, 1_us);
  auto& first = b.engine.send(true, 0x5040, 2_us);
  auto& second = b.engine.send(false, 0x6000, 2_us + 1_ns);
  auto& third = b.engine.send(true, 0x5080, 2_us + 2_ns);
  run_until_idle();
  EXPECT_EQ(first.free_again, 2_us + 1_ns);
  EXPECT_EQ(second.free_again, 2_us + 2_ns) << "a miss";
  EXPECT_EQ(third.free_again, 2_us + 3_ns);
  const auto writes = b.link.of(kind::write);
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(writes[0].sent, 2_us + 32_ns);
  EXPECT_EQ(writes[1].sent, 2_us + 34_ns);
}

// The answer that a write waits for comes while an earlier write is still in its look-up.
TEST(atc, a_write_does_not_pass_one_that_hits) {
  atc_config c;
  c.hit_latency = 8;
  atc_bench b(c);
  b.link.map(0x5000, 0x77000);
  b.link.map(0x6000, 0x78000);
  b.engine.send(true, 0x5000, 1_us);
  const ps begin = 2_us;
  b.engine.send(true, 0x6000, begin, 64, true);
  const ps answer = begin + 8_ns + 400_ns;
  b.engine.send(true, 0x5040, answer - 3_ns);
  b.engine.send(true, 0x6040, answer - 1_ns);
  run_until_idle();
  const auto writes = b.link.of(kind::write);
  ASSERT_EQ(writes.size(), 4U);
  EXPECT_EQ(writes[1].address, 0x77040U);
  EXPECT_EQ(writes[1].sent, answer + 5_ns);
  EXPECT_EQ(writes[3].address, 0x78040U);
  EXPECT_EQ(writes[3].sent, answer + 7_ns);
}

TEST(atc, a_large_page_is_asked_for_once) {
  atc_bench b;
  for (std::uint64_t p = 0; p < 512; ++p) b.link.table[0x40000000 + p * 4096] = ats_entry(0x80000000, 21, 3);
  for (std::uint64_t p = 0; p < 512; p += 37) b.engine.send(false, 0x40000000 + p * 4096 + 8, 1_us + ps(2'000'000) * p);
  run_until_idle();
  EXPECT_EQ(b.value("misses"), 1);
  EXPECT_EQ(b.link.of(kind::read).back().address, 0x80000000U + 37 * 13 * 4096 + 8);
}

TEST(atc, questions_are_shared_and_limited) {
  atc_config c;
  c.requests = 2;
  atc_bench b(c);
  for (std::uint64_t p = 1; p <= 4; ++p) b.link.map(p << 12, 0x70000 + (p << 12));
  for (std::uint64_t p = 1; p <= 4; ++p) {
    b.engine.send(false, p << 12, 1_us);
    b.engine.send(false, (p << 12) + 64, 1_us);
  }
  run_until_idle();
  EXPECT_EQ(b.value("misses"), 4);
  EXPECT_EQ(b.value("merged"), 4);
  EXPECT_EQ(b.value("slot_waits"), 2);
  const auto questions = b.link.of(kind::question);
  ASSERT_EQ(questions.size(), 4U);
  EXPECT_EQ(questions[2].sent, questions[0].sent + 400_ns);
  EXPECT_EQ(questions[3].sent, questions[1].sent + 400_ns);
}

// ---- rights

TEST(atc, rights_are_those_of_the_answer) {
  atc_bench b(without_pages());
  b.link.map(0x5000, 0x77000, ats_read);
  b.link.map(0x6000, 0x78000, ats_write);
  auto& read = b.engine.send(false, 0x5000, 1_us);
  auto& write = b.engine.send(true, 0x5000, 3_us);
  auto& again = b.engine.send(false, 0x5000, 5_us);
  auto& absent = b.engine.send(false, 0x9000, 6_us);
  auto& written = b.engine.send(true, 0x6000, 8_us);
  auto& unread = b.engine.send(false, 0x6000, 10_us);
  run_until_idle();
  EXPECT_TRUE(read.ok());
  EXPECT_FALSE(write.ok());
  EXPECT_EQ(write.answered, 3_us + 2_ns + 400_ns);
  EXPECT_TRUE(again.ok());
  EXPECT_FALSE(absent.ok());
  EXPECT_TRUE(written.ok());
  EXPECT_FALSE(unread.ok());
  EXPECT_EQ(b.link.of(kind::write).size(), 1U) << "what was refused was never sent";
  EXPECT_EQ(b.link.of(kind::read).size(), 2U);
  const auto questions = b.link.of(kind::question);
  ASSERT_EQ(questions.size(), 5U);
  EXPECT_EQ(questions[0].code, ats_no_write);
  EXPECT_EQ(questions[1].code, 0) << "it is asked again: the right may have been given meanwhile";
  EXPECT_EQ(b.value("refused"), 3);
}

TEST(atc, an_answer_without_a_translation_fails_its_bursts) {
  atc_bench b;
  b.link.refuses_questions = true;
  auto& one = b.engine.send(true, 0x5000, 1_us);
  auto& two = b.engine.send(false, 0x5000, 1_us);
  run_until_idle();
  EXPECT_FALSE(one.ok());
  EXPECT_FALSE(two.ok());
  EXPECT_EQ(b.link.of(kind::message).size(), 0U) << "no page is asked for";
  EXPECT_TRUE(b.dut.idle());
}

// ---- order

TEST(atc, writes_and_interrupts_stay_in_order_and_reads_behind_them) {
  atc_bench b;
  for (std::uint64_t p = 5; p < 9; ++p) b.link.map(p << 12, 0x70000 + (p << 12));
  b.engine.send(true, 0x6000, 1_us);
  run_for(3_us);
  const ps begin = now() + 1_us;
  b.engine.send(true, 0x5000, begin);                 // a miss
  b.engine.send(true, 0x6000, begin + 5_ns);          // a hit
  b.engine.send(true, msi_window, begin + 10_ns, 4);  // tells of them
  b.engine.send(false, 0x6000, begin + 15_ns);        // a hit, behind the writes
  run_until_idle();
  std::vector<std::uint64_t> order;
  for (const auto& e : b.link.log) {
    if (e.sent >= begin && e.what != kind::question) order.push_back(e.address);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{0x75000, 0x76000, msi_window, 0x76000}));
  EXPECT_EQ(b.value("order_waits"), 3);
  EXPECT_EQ(b.link.of(kind::write).back().type, pcie_address_type::untranslated);
}

TEST(atc, a_read_that_waits_holds_nobody_up) {
  atc_bench b;
  b.link.map(0x5000, 0x75000);
  b.link.map(0x6000, 0x76000);
  b.engine.send(false, 0x6000, 1_us);
  run_for(3_us);
  const ps begin = now() + 1_us;
  b.engine.send(false, 0x5000, begin);
  b.engine.send(true, 0x6000, begin + 5_ns);
  b.engine.send(false, 0x6000, begin + 10_ns);
  run_until_idle();
  EXPECT_EQ(b.link.log.back().address, 0x75000U);
  EXPECT_EQ(b.link.log.back().sent, begin + 2_ns + 400_ns);
  EXPECT_EQ(b.link.of(kind::write).back().sent, begin + 7_ns);
}

TEST(atc, other_devices_go_as_they_are) {
  atc_bench b;
  auto& peer = b.engine.send(true, 0xffff'c000'0000'0000, 1_us);
  run_until_idle();
  EXPECT_TRUE(peer.ok());
  EXPECT_EQ(b.link.log.at(0).type, pcie_address_type::untranslated);
  EXPECT_EQ(b.link.log.at(0).sent, 1_us + 2_ns);
  EXPECT_EQ(b.value("plain"), 1);
}

// ---- invalidation

// One write and one read of a page, and the page moves from A to B. At every step of both: when the device says that it is
// done, nothing moves at A any more, and what comes later is at B.
void invalidate_at_every_step(bool warm) {
  atc_bench b;
  constexpr std::uint64_t place_a = 0x100000;
  constexpr std::uint64_t place_b = 0x200000;
  for (int step = 0; step < 70; ++step) {
    const std::uint64_t page = 0x1000000 + static_cast<std::uint64_t>(step) * 0x10000;
    b.link.map(page, place_a);
    if (warm) {
      b.engine.send(true, page, now() + 10_ns);
      run_until_idle();
    }
    b.link.log.clear();
    const ps begin = now() + 1_us;
    auto& write = b.engine.send(true, page + 64, begin);
    auto& read = b.engine.send(false, page + 128, begin);
    b.engine.at(begin + 20_ns * step, [&] {
      b.link.map(page, place_b);
      b.link.invalidate(ats_entry(page, 12), static_cast<std::uint16_t>(step % 32));
    });
    run_until_idle();
    auto& later = b.engine.send(false, page + 192, now() + 1_us);
    run_until_idle();
    const auto done = b.link.messages(pcie_message::invalidate_done);
    ASSERT_EQ(done.size(), 1U) << step;
    EXPECT_EQ(done[0].tag, step % 32);
    EXPECT_TRUE(write.ok() && read.ok() && later.ok());
    for (const auto& e : b.link.log) {
      if ((e.what != kind::read && e.what != kind::write) || e.address >= place_b) continue;
      EXPECT_LE(e.at, done[0].at) << "step " << step << ": moved at the old place after the completion";
      if (e.what == kind::read) {
        EXPECT_LE(e.sent + 500_ns, done[0].sent) << "step " << step << ": a read was under way";
      }
    }
    EXPECT_GE(b.link.of(kind::read).back().address, place_b);
    ASSERT_TRUE(b.dut.idle());
  }
  EXPECT_GT(b.value("drained"), 5);
  EXPECT_GT(b.value("dropped_entries"), 5);
  EXPECT_EQ(b.value("stale_answers") > 5, !warm);
}

TEST(atc, an_invalidation_at_every_step_of_a_miss) {
  invalidate_at_every_step(false);
}

TEST(atc, an_invalidation_at_every_step_of_a_hit) {
  invalidate_at_every_step(true);
}

// What waits in order with a translation that goes is translated anew before it leaves.
TEST(atc, a_burst_that_has_not_left_loses_its_translation) {
  atc_bench b;
  b.link.map(0x5000, 0x75000);
  b.link.map(0x6000, 0x76000);
  b.engine.send(true, 0x6000, 1_us);
  run_for(3_us);
  const ps begin = now() + 1_us;
  b.engine.send(true, 0x5000, begin);
  auto& behind = b.engine.send(true, 0x6000, begin + 5_ns);
  b.engine.at(begin + 100_ns, [&] {
    b.link.map(0x6000, 0x99000);
    b.link.invalidate(ats_entry(0x6000, 12), 3);
  });
  run_until_idle();
  EXPECT_EQ(b.value("retranslated"), 1);
  EXPECT_TRUE(behind.ok());
  EXPECT_EQ(b.link.of(kind::write).back().address, 0x99000U);
}

TEST(atc, invalidations_name_ranges) {
  atc_bench b;
  for (std::uint64_t p = 0; p < 64; ++p) {
    b.link.map(0x400000 + p * 4096, 0x900000 + p * 4096);
    b.engine.send(false, 0x400000 + p * 4096, 1_us + 1_us * static_cast<int>(p));
  }
  run_until_idle();
  b.link.invalidate(ats_entry(0x404000, 14), 1);  // four pages
  run_until_idle();
  EXPECT_EQ(b.value("dropped_entries"), 4);
  b.link.invalidate(ats_entry(0, 48), 2);
  run_until_idle();
  EXPECT_EQ(b.value("dropped_entries"), 64);
  EXPECT_EQ(b.link.messages(pcie_message::invalidate_done).size(), 2U);
}

TEST(atc, a_relaxed_write_is_waited_for) {
  atc_bench b;
  b.link.map(0x5000, 0x75000);
  b.engine.send(false, 0x5000, 1_us);
  run_for(3_us);
  const ps begin = now() + 1_us;
  b.link.write_latency = 3_us;
  b.engine.send(true, 0x5000, begin, 64, true);
  b.engine.at(begin + 50_ns, [&] { b.link.invalidate(ats_entry(0x5000, 12), 1); });
  run_until_idle();
  EXPECT_GE(b.link.messages(pcie_message::invalidate_done).at(0).sent, begin + 2_ns + 3_us);
}

// Random bursts, pages that move, appear and go; with a cache of two entries and two questions at once. No burst moves at a
// place that an invalidation, completed before, has taken away.
TEST(atc, random_traffic_never_uses_what_was_taken_away) {
  atc_config c;
  c.entries = c.ways = 2;
  c.requests = 2;
  c.page_requests = 0;
  atc_bench b(c);
  std::mt19937 random(5);
  struct place {
    std::uint64_t page;
    std::uint16_t tag;
    ps asked;
    std::uint64_t frame;
  };
  std::vector<place> taken;
  std::uint64_t frame = 0x100000;
  for (std::uint64_t p = 1; p <= 4; ++p) b.link.map(p << 12, frame += 0x1000);
  std::uint16_t tag = 0;
  for (int round = 0; round < 400; ++round) {
    const ps begin = now() + 100_ns;
    for (int i = 0; i < 4; ++i) {
      const bool write = random() % 2 == 0;
      const std::uint64_t address = ((1 + random() % 4) << 12) + random() % 60 * 64;
      b.engine.send(write, address, begin + ps(random() % 900'000));
    }
    const std::uint64_t page = (1 + random() % 4) << 12;
    b.engine.at(begin + ps(random() % 900'000), [&, page] {
      const auto it = b.link.table.find(page);
      if (it != b.link.table.end()) taken.push_back({page, tag, now(), ats_base(it->second)});
      if (it == b.link.table.end() || random() % 4 != 0) {
        b.link.map(page, frame += 0x1000);
      } else {
        b.link.table.erase(page);
      }
      b.link.invalidate(ats_entry(page, 12), tag);
      tag = static_cast<std::uint16_t>((tag + 1) % 32);
    });
    run_for(1'500_ns);
  }
  run_for(3_us);
  const auto done = b.link.messages(pcie_message::invalidate_done);
  ASSERT_EQ(done.size(), 400U);
  ASSERT_GT(taken.size(), 250U);
  std::uint64_t looked_at = 0;
  for (const place& x : taken) {
    ps completed = never;
    for (const auto& d : done) {
      if (d.tag == x.tag && d.at >= x.asked) completed = std::min(completed, d.at);
    }
    for (const auto& e : b.link.log) {
      if ((e.what != kind::read && e.what != kind::write) || (e.address & ~0xfffULL) != x.frame) continue;
      ++looked_at;
      ASSERT_LE(e.at, completed);
    }
  }
  EXPECT_GT(looked_at, 300U);
  for (const auto& x : b.engine.bursts) ASSERT_TRUE(x.done());
  EXPECT_TRUE(b.dut.idle());
  EXPECT_GT(b.value("stale_answers"), 5);
  EXPECT_GT(b.value("refused"), 5);
}

// ---- page requests

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
  b.link.respond(0, ats_response::success);   // nobody has asked
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

TEST(atc, register_accesses_pass) {
  atc_bench b;
  b.link.write_register(0x1238);
  run_until_idle();
  EXPECT_EQ(b.link.registers, (std::vector<std::uint64_t>{0x1238}));
}

}  // namespace
}  // namespace hcasim
