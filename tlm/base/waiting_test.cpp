// Chains of waiting requests. No kernel.
#include "tlm/base/waiting.h"

#include <gtest/gtest.h>

namespace hcasim {
namespace {

waiting_note note(const char* kind, std::int64_t since, const char* at, std::vector<std::string> waits_for) {
  return {kind, "one", ps(since), at, std::move(waits_for)};
}
std::vector<std::string> places_of(const waiting_chain& c) {
  std::vector<std::string> out;
  for (const waiting_note* n : c.links) out.push_back(n->at);
  return out;
}
using places = std::vector<std::string>;

TEST(waiting, nothing_waits) {
  EXPECT_TRUE(oldest_of_each_kind({}).empty());
  EXPECT_EQ(waiting_report({}, 5_us), "");
}

TEST(waiting, a_chain_ends_where_nothing_stands) {
  const std::vector<waiting_note> notes{note("a", 1, "first", {"second"}), note("b", 2, "second", {"third"})};
  const waiting_chain c = chain_from(notes, notes[0]);
  EXPECT_EQ(places_of(c), (places{"first", "second"}));
  EXPECT_FALSE(c.circle);
  EXPECT_EQ(c.end, "third");
}

TEST(waiting, a_chain_ends_at_an_unknown_place) {
  const std::vector<waiting_note> notes{note("a", 1, "first", {})};
  const waiting_chain c = chain_from(notes, notes[0]);
  EXPECT_EQ(c.links.size(), 1U);
  EXPECT_FALSE(c.circle);
  EXPECT_EQ(c.end, "");
}

TEST(waiting, a_circle_is_closed_where_it_began_or_later) {
  const std::vector<waiting_note> notes{note("a", 1, "tail", {"x"}), note("b", 2, "x", {"y"}), note("c", 3, "y", {"x"})};
  const waiting_chain whole = chain_from(notes, notes[1]);
  EXPECT_EQ(places_of(whole), (places{"x", "y"}));
  EXPECT_EQ(whole.circle, 0U);
  const waiting_chain later = chain_from(notes, notes[0]);
  EXPECT_EQ(places_of(later), (places{"tail", "x", "y"}));
  EXPECT_EQ(later.circle, 1U);
  const std::vector<waiting_note> alone{note("a", 1, "x", {"x"})};
  EXPECT_EQ(places_of(chain_from(alone, alone[0])), (places{"x"}));
  EXPECT_EQ(chain_from(alone, alone[0]).circle, 0U);
}

TEST(waiting, a_note_without_a_request_is_not_reported) {
  std::vector<waiting_note> notes{{"receive", "none", never, "queue", {}}};
  EXPECT_EQ(waiting_report(notes, 5_us), "");
  notes.push_back(note("a", 1, "first", {"queue"}));
  EXPECT_EQ(places_of(chain_from(notes, notes[1])), (places{"first", "queue"}));
  EXPECT_EQ(oldest_of_each_kind(notes).size(), 1U);
}

// At a place with several requests the oldest is followed; of several places, the first with a request.
TEST(waiting, a_tree_is_followed_along_its_oldest_branch) {
  const std::vector<waiting_note> notes{note("a", 1, "root", {"empty", "unit", "other"}),
                                        note("b", 9, "unit QP 1", {"young"}),
                                        note("b", 3, "unit QP 2", {"old"}),
                                        note("c", 2, "other", {}),
                                        note("d", 4, "old", {}),
                                        note("d", 0, "unit2", {})};
  EXPECT_EQ(places_of(chain_from(notes, notes[0])), (places{"root", "unit QP 2", "old"}));
  EXPECT_EQ(places_of(chain_from(notes, notes[1])), (places{"unit QP 1"}));
}

TEST(waiting, names_lose_their_prefix_and_adapters_are_named) {
  waiting_list l({"", "system.node0.hca", "system.node1.hca"}, "system.");
  l.add(note("a", 1, "system.node0.hca.requester", {l.far(2, "responder") + " QP 7"}));
  EXPECT_EQ(l.notes()[0].at, "node0.hca.requester");
  EXPECT_EQ(l.notes()[0].waits_for[0], "node1.hca.responder QP 7");
  EXPECT_EQ(l.far(9, "responder"), "the port with LID 9.responder");
}

TEST(waiting, the_report_begins_with_the_work_request) {
  const std::vector<waiting_note> notes{note("DMA read", 0, "dma", {"memory"}),
                                        note("work request", 1'000'000, "requester", {"dma"}),
                                        note("work request", 2'000'000, "requester", {"dma"})};
  EXPECT_EQ(waiting_report(notes, 11_us),
            "the oldest of what waits\n"
            "  DMA read      for 11 us  one, at dma\n"
            "  work request  for 10 us  one, at requester; there are 2\n"
            "what waits for what\n"
            "  1  work request (one) at requester, which waits for\n"
            "  2  DMA read (one) at dma, which waits for memory, where nothing stands\n");
  EXPECT_NE(waiting_report({note("a", 0, "x", {"y"}), note("b", 0, "y", {"x"})}, 1_us).find("which waits for 1: a circle"),
            std::string::npos);
}

}  // namespace
}  // namespace hcasim
