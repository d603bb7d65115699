// The requester's action for a response, by its kind and by the place of its PSN among the packets that are sent and not
// answered [D.2]. A response that is placed is judged further: its length, its opcode, and the keys of its memory.
#pragma once

#include <array>
#include <string_view>

#include "models/adapter/requester/requester_rules.h"

namespace hcasim {

enum class response_class : std::uint8_t { acknowledge, rnr_nak, sequence_nak, fatal_nak, data };

// message: of a SEND or a WRITE, and no READ or atomic before it waits for a response. due: the response that the oldest READ
// or atomic waits for. past: of a READ or an atomic, when one before it is missing. past_message: of a SEND or a WRITE, when
// one is.
enum class response_place : std::uint8_t { behind, message, due, past, past_message, unsent };

enum class response_action : std::uint8_t {
  discard,
  complete,   // what it acknowledges
  rest,       // the RNR NAK's time, then go back
  go_back,    // to the PSN it names
  fail,       // the request it names
  place,      // the bytes of a READ or an atomic
  ask_again,  // a response was lost: go back to its request, once until there is progress
};

struct response_arrival {
  bool waits = false;  // RC, with something sent; neither in error nor being stopped
  bool from_peer = false;
  bool landing = false;  // a response found no page: all from its request on is asked for again
  response_class what = response_class::acknowledge;
  response_place place = response_place::behind;
};

response_class class_of(const packet_header& h);
response_action reaction_to(const response_arrival& a);

inline constexpr std::array<std::string_view, 7> response_action_names = {"discard", "complete", "rest",     "go back",
                                                                          "fail",    "place",    "ask again"};

}  // namespace hcasim
