// Lists of waiting requests: every unit notes the requests it holds. A chain leads from a request to the place it waits for.
//
// A place is a unit or a part of one: "node1.hca.responder", "node1.hca.responder QP 7". A request that waits for a unit waits
// for all of its parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim {

struct waiting_note {
  std::string kind;                    // "work request", "DMA read"
  std::string text;                    // the request: "WRITE of 64 B, QP 7"
  ps since{0};                         // never = no request, but the reason why others wait
  std::string at;                      // the place where it stands
  std::vector<std::string> waits_for;  // places; of several, the first with a request; empty = not known
};

class waiting_list {
 public:
  // Takes the names of adapters by LID, and the prefix of all names, which is left out of the notes.
  explicit waiting_list(std::vector<std::string> adapters = {}, std::string prefix = {})
      : adapters_(std::move(adapters)), prefix_(std::move(prefix)) {}

  void add(waiting_note n);
  [[nodiscard]] const std::vector<waiting_note>& notes() const { return notes_; }
  [[nodiscard]] bool empty() const { return notes_.empty(); }
  // Returns a unit of the adapter at the other end: "node1.hca.responder".
  [[nodiscard]] std::string far(std::uint16_t lid, const char* unit) const;

 private:
  [[nodiscard]] std::string without_prefix(std::string place) const;

  std::vector<std::string> adapters_;
  std::string prefix_;
  std::vector<waiting_note> notes_;
};

struct waiting_chain {
  std::vector<const waiting_note*> links;  // each waits for the next
  std::optional<std::size_t> circle;       // the last one waits for this one
  std::string end;                         // without a circle: the last place, where no request stands; empty = not known
};

// Returns the oldest note of each kind, oldest first.
std::vector<const waiting_note*> oldest_of_each_kind(const std::vector<waiting_note>& notes);
waiting_chain chain_from(const std::vector<waiting_note>& notes, const waiting_note& first);

// Returns the oldest of each kind and the chain from the oldest work request, or from the oldest of all; empty = nothing waits.
std::string waiting_report(const std::vector<waiting_note>& notes, ps now);

// Returns a number for the text of a note, in hexadecimal.
std::string hex_text(std::uint64_t v);

}  // namespace hcasim
