// Constraints on the random streams: the values that the fields of items may have, with weights.
//
//   kind = check*8, drain      only checks and drains, with eight times the stream's own share of checks
//   rights = 2; remote = 1     only remote writes, among items that have these fields
//   gap = 0..3, 100            between two items, drawn anew
//
// Terms stand on lines or between semicolons; # begins a comment. A field on which no other depends (gap, hold) is drawn anew.
// For other fields, more items are drawn until enough of them fit, and those are kept in their order. So addresses, keys and
// indices still fit each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "testbenches/coverification/lockstep/item_fields.h"
#include "testbenches/coverification/lockstep/lockstep.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {

class constraints {
 public:
  // Reads `text`, or with a leading @ the named file. Throws std::invalid_argument with the term: the unit has no such field or
  // kind, or a range or weight is none.
  constraints(const std::string& unit, const std::string& text);
  [[nodiscard]] bool empty() const { return terms_.empty(); }
  // Returns a random stream of o.requests items that fit; without constraints any stream. Throws std::invalid_argument with the
  // term that too few items fit.
  [[nodiscard]] item_stream generate(const options& o) const;
  // Tells whether all values of an item are allowed.
  [[nodiscard]] bool allow(const item& i) const;

 private:
  struct range {
    std::uint64_t low;
    std::uint64_t high;
    double weight;
  };
  struct term {
    std::string text;
    item_field field;
    std::vector<range> ranges;
    double heaviest = 0;
  };
  struct tally {
    std::uint64_t rejected = 0;
    std::uint64_t fit = 0;
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t most = 0;
  };
  void add(const std::string& text);
  [[nodiscard]] range range_of(const std::string& text, const term& of) const;
  [[nodiscard]] std::uint64_t value_of(const std::string& text, const term& of) const;
  [[nodiscard]] static const range* holds(const term& t, std::uint64_t value);
  bool take(item& i, random_stream& random, std::vector<tally>& tallies) const;
  [[nodiscard]] std::string why_few(const std::vector<tally>& tallies, std::size_t kept, std::size_t drawn) const;

  std::string unit_;
  std::vector<term> terms_;
};

// Returns the constraint of a stream in which events outweigh requests; empty = the unit has no events.
std::string mostly_events(const std::string& unit);
// Returns the stream of the options, of events or not.
item_stream draw(const std::string& unit, const options& o);

}  // namespace hcasim::lockstep
