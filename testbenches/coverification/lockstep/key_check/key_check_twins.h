// Pairs for key_check that differ in one bit of a compared number. A pair is an access and a key's context, a window and its
// region, two places of a tree or list, or two key indices. Each bit of each number has an object, and its turn.
//
// These objects come in addition to the drawn ones, and never change.
#pragma once

#include <cstdint>
#include <deque>

#include "testbenches/coverification/lockstep/key_check/key_check_objects.h"
#include "testbenches/coverification/lockstep/key_check/key_check_stimulus.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {

// A context with its lines, and an access whose verdict changes if one bit differs.
struct key_twin {
  std::uint32_t number = 0;
  key_object object;
  key_fields ask;
};
// Returns the number of all objects, drawn ones and twins.
std::uint32_t key_objects();
key_twin make_key_twin(std::uint32_t number);

class key_twins {
 public:
  explicit key_twins(std::uint64_t requests) : requests_(requests) {}  // of the stream
  // Appends the items of the next pair.
  void next(std::deque<item>& to, random_stream& r);
  // Appends an access, and drains until its key's epoch differs in one bit from that of its reference.
  void next_of_epochs(std::deque<item>& to, random_stream& r);

 private:
  void next_of_indices(std::deque<item>& to, random_stream& r);

  const std::uint64_t requests_;
  std::uint32_t turn_ = 0;
  std::uint32_t index_turn_ = 0;
  std::uint32_t epoch_turn_ = 0;
};

}  // namespace hcasim::lockstep
