// The tables of the responder's answers and of the requester's reactions, as their pages show them: every cell asked of the
// rules.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/adapter/requester/response_rules.h"
#include "models/adapter/responder/arrival_rules.h"

namespace hcasim::testing {
namespace answers_page {

inline std::string name_of(std::uint8_t opcode) {
  const wire::shape& s = wire::shape_of(opcode);
  const std::string place = s.first ? (s.last ? " ONLY" : " FIRST") : s.last ? " LAST" : " MIDDLE";
  switch (kind_of(opcode)) {
    case request_kind::send:
      return "SEND" + place;
    case request_kind::write:
      return "WRITE" + place;
    case request_kind::read:
      return "READ";
    default:
      return "atomic";
  }
}

struct column {
  std::string name;
  psn_class psn;
  std::vector<std::uint8_t> inbound;
};

// Returns one row for all packets with the same answers.
inline std::string table(std::uint8_t transport, const std::vector<column>& columns) {
  std::vector<std::pair<std::string, std::string>> rows;  // cells, packets
  std::vector<std::string> named;
  for (unsigned op = 0; op < 256; ++op) {
    const auto opcode = static_cast<std::uint8_t>(op);
    const wire::shape& s = wire::shape_of(opcode);
    if (!s.known || s.response || !of_transport(opcode, transport)) continue;
    std::string cells;
    for (const column& c : columns) {
      std::string cell;
      for (const std::uint8_t inbound : c.inbound) {
        const request_answer a = answer_to({.started = true,
                                            .from_peer = true,
                                            .state = HCA_QP_RTS,
                                            .transport = transport,
                                            .opcode = opcode,
                                            .inbound = inbound,
                                            .psn = c.psn});
        const std::string text(request_answer_names[static_cast<std::size_t>(a)]);
        if (cell.find(text) == std::string::npos) cell += (cell.empty() ? "" : " / ") + text;
      }
      cells += " " + cell + " |";
    }
    std::string name = name_of(opcode);
    std::size_t at = 0;
    while (at < rows.size() && rows[at].first != cells) ++at;
    if (at == rows.size()) rows.emplace_back(cells, "");
    std::string& packets = rows[at].second;
    if ((", " + packets + ",").find(", " + name + ",") == std::string::npos) packets += (packets.empty() ? "" : ", ") + name;
  }
  std::string text = "| packet |";
  for (const column& c : columns) text += " " + c.name + " |";
  text += "\n|---|";
  for (std::size_t i = 0; i < columns.size(); ++i) text += "---|";
  text += "\n";
  for (const auto& [cells, packets] : rows) text += "| " + packets + " |" + cells + "\n";
  return text + "\n";
}

inline std::string states() {
  static constexpr const char* names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  std::string heard;
  std::string deaf;
  for (std::uint8_t s = HCA_QP_RESET; s <= HCA_QP_ERR; ++s) {
    std::string& list = receives(s) ? heard : deaf;
    list += (list.empty() ? "" : ", ") + std::string(names[s]);
  }
  return "A QP accepts requests in " + heard + ", and drops requests in " + deaf +
         ". A QP that was never started drops all requests, and any QP drops requests of another transport.\n\n";
}

}  // namespace answers_page

inline std::string answers_markdown() {
  using namespace answers_page;
  const std::vector<std::uint8_t> any{HCA_INBOUND_NONE, wire::send_first, wire::write_first};
  const std::vector<std::uint8_t> no_message{HCA_INBOUND_NONE};
  const std::vector<std::uint8_t> in_send{wire::send_first};
  const std::vector<std::uint8_t> in_write{wire::write_first};
  std::string text = "\n### Answers to requests\n\n" + states();
  const std::vector<column> reliable{{"expected, none", psn_class::expected, no_message},
                                     {"expected, in a SEND", psn_class::expected, in_send},
                                     {"expected, in a WRITE", psn_class::expected, in_write},
                                     {"behind, kept", psn_class::executed, any},
                                     {"behind", psn_class::older, any},
                                     {"ahead", psn_class::ahead, any},
                                     {"ahead, NAK out", psn_class::noticed, any}};
  const std::string connected = table(HCA_TRANSPORT_RC, reliable);
  const bool alike = table(HCA_TRANSPORT_XRC_TGT, reliable) == connected;
  text += std::string(alike ? "RC, and XRC at its target" : "RC") +
          ". The columns give the PSN and, at the expected PSN, the message under way:\n\n" + connected;
  if (!alike) text += "XRC at its target:\n\n" + table(HCA_TRANSPORT_XRC_TGT, reliable);
  text += "UC:\n\n";
  text += table(HCA_TRANSPORT_UC, {{"expected, none", psn_class::expected, no_message},
                                   {"expected, in a SEND", psn_class::expected, in_send},
                                   {"expected, in a WRITE", psn_class::expected, in_write},
                                   {"behind", psn_class::older, any},
                                   {"ahead", psn_class::ahead, any}});
  text += "UD:\n\n";
  return text + table(HCA_TRANSPORT_UD, {{"any PSN", psn_class::older, any}});
}

inline std::string reactions_markdown() {
  static constexpr const char* kinds[] = {"acknowledge", "RNR NAK", "sequence NAK", "other NAK", "READ or atomic response"};
  static constexpr const char* places[] = {"behind", "a SEND's or WRITE's",       "due",
                                           "past",   "past, a SEND's or WRITE's", "not sent"};
  std::string text = "\n### Reactions to responses\n\n| response |";
  for (const char* place : places) text += std::string(" ") + place + " |";
  text += "\n|---|---|---|---|---|---|---|\n";
  for (unsigned kind = 0; kind < std::size(kinds); ++kind) {
    text += std::string("| ") + kinds[kind] + " |";
    for (unsigned place = 0; place < std::size(places); ++place) {
      response_arrival a{.waits = true,
                         .from_peer = true,
                         .what = static_cast<response_class>(kind),
                         .place = static_cast<response_place>(place)};
      const response_action now = reaction_to(a);
      a.landing = true;
      const response_action landing = reaction_to(a);
      text += " " + std::string(response_action_names[static_cast<std::size_t>(now)]);
      if (landing != now) text += " (landing: " + std::string(response_action_names[static_cast<std::size_t>(landing)]) + ")";
      text += " |";
    }
    text += "\n";
  }
  return text;
}

}  // namespace hcasim::testing
