#include "models/adapter/requester/response_rules.h"

#include <gtest/gtest.h>

namespace hcasim {
namespace {

using enum response_action;

template <class F>
void each_arrival(F f) {
  for (unsigned bits = 0; bits < 8; ++bits) {
    for (unsigned what = 0; what <= static_cast<unsigned>(response_class::data); ++what) {
      for (unsigned place = 0; place <= static_cast<unsigned>(response_place::unsent); ++place) {
        f(response_arrival{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, static_cast<response_class>(what),
                           static_cast<response_place>(place)});
      }
    }
  }
}

// Each law on its own.
TEST(response_rules, every_response_obeys_the_specification) {
  each_arrival([](const response_arrival& a) {
    const response_action r = reaction_to(a);
    const bool outstanding = a.place != response_place::behind && a.place != response_place::unsent;
    const bool hears = a.waits && a.from_peer && outstanding;
    if (!hears) {
      EXPECT_EQ(r, discard) << "no request waits for it";
      return;
    }
    const bool data = a.what == response_class::data;
    const bool lost = a.place == response_place::past || a.place == response_place::past_message;
    const bool at_fetch = a.place == response_place::due || lost;
    // Bytes go to a READ or an atomic that waits for exactly this response.
    EXPECT_EQ(r == place, data && a.place == response_place::due && !a.landing);
    // No later request is completed, refused or put off while a READ waits.
    EXPECT_TRUE(!(lost || (a.landing && at_fetch)) || r == discard || r == ask_again);
    EXPECT_EQ(r == complete, a.what == response_class::acknowledge && a.place == response_place::message);
    const bool names = !data && (a.place == response_place::message || (a.place == response_place::due && !a.landing));
    EXPECT_EQ(r == fail, names && a.what == response_class::fatal_nak);
    EXPECT_EQ(r == rnr_timer, names && a.what == response_class::rnr_nak);
    EXPECT_EQ(r == go_back, names && a.what == response_class::sequence_nak);
    // A READ that will be asked for again is not asked for a second time.
    EXPECT_FALSE(a.landing && r == ask_again);
  });
}

TEST(response_rules, classes) {
  packet_header h;
  for (unsigned syndrome = 0; syndrome < 256; ++syndrome) {
    h.opcode = wire::acknowledge;
    h.syndrome = static_cast<std::uint8_t>(syndrome);
    const response_class expected = syndrome < 0x20                  ? response_class::acknowledge
                                    : syndrome < 0x40                ? response_class::rnr_nak
                                    : syndrome == wire::nak_sequence ? response_class::sequence_nak
                                                                     : response_class::fatal_nak;
    EXPECT_EQ(class_of(h), expected) << syndrome;
    for (const std::uint8_t opcode :
         {wire::read_first, wire::read_middle, wire::read_last, wire::read_only, wire::atomic_acknowledge}) {
      h.opcode = opcode;
      EXPECT_EQ(class_of(h), response_class::data);
    }
  }
}

}  // namespace
}  // namespace hcasim
