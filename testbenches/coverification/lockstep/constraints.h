// Constraints on the random streams: which values the fields of items may have, and how often.
//
//   kind = check*8, drain      only checks and drains, eight times as many checks as the stream has of itself
//   rights = 2; remote = 1     of what has these fields, only remote writes
//   gap = 0..3, 100            between two items, drawn anew
//
// Terms stand on lines or between semicolons; # begins a comment. A field from which nothing else follows (gap, hold) is drawn
// anew. Of the others, items that fit are kept in their order, and more are drawn until there are enough: addresses, keys and
// indices go on to fit each other.
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
  // `text`, or with @ before it the name of a file that has it. Throws std::invalid_argument that names the term: a field or a
  // kind that the unit has not, a range or weight that is none.
  constraints(const std::string& unit, const std::string& text);
  [[nodiscard]] bool empty() const { return terms_.empty(); }
  // A random stream of o.requests items of this kind; without constraints any stream. Throws std::invalid_argument that names
  // the term which too few items fit.
  [[nodiscard]] item_stream generate(const options& o) const;
  // Whether an item has only values that are allowed.
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

}  // namespace hcasim::lockstep
