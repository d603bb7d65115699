// A parallel program as its messages: the sends, receives and calculations of each rank, and the order between them. Plain C++.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim::schedules {

// An error of the user: the file and line, the fault and the mend.
class schedule_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class action : std::uint8_t { send, receive, calculate };

struct operation {
  action what = action::calculate;
  std::uint16_t cpu = 0;    // thread of the rank
  std::uint32_t peer = 0;   // rank; sends and receives
  std::uint32_t tag = 0;    // sends and receives
  std::uint32_t line = 0;   // in the file; 0 = built in
  std::uint64_t bytes = 0;  // sends and receives
  ps time{0};               // of a calculation; a send begins no earlier than so long after the schedule
};

// `after` begins when `before` is done, or has begun.
struct dependency {
  std::uint32_t after;
  std::uint32_t before;
  bool begun = false;
};

struct rank_schedule {
  std::vector<operation> operations;
  std::vector<dependency> dependencies;

  std::uint32_t add(const operation& o) {
    operations.push_back(o);
    return static_cast<std::uint32_t>(operations.size() - 1);
  }
  void require(std::uint32_t after, std::uint32_t before) { dependencies.push_back({after, before, false}); }
};

struct schedule {
  std::vector<rank_schedule> ranks;
  std::string file;  // "" = built in
};

// The order of a rank's operations: `followers(i)` are held back by operation i.
class order {
 public:
  explicit order(const rank_schedule& r);

  struct follower {
    std::uint32_t operation;
    bool begun;
  };
  struct range {
    const follower* first;
    const follower* last;
    [[nodiscard]] const follower* begin() const { return first; }
    [[nodiscard]] const follower* end() const { return last; }
  };
  [[nodiscard]] range followers(std::uint32_t i) const { return {&followers_[0] + first_[i], &followers_[0] + first_[i + 1]}; }
  // Returns how many operations hold back each one.
  [[nodiscard]] const std::vector<std::uint32_t>& waits() const { return waits_; }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<follower> followers_;
  std::vector<std::uint32_t> waits_;
};

// Refuses a schedule that cannot end. Its ranks have dependencies in a circle, or sends and receives of one tag that do not
// match in number or size. Throws schedule_error with the line.
void check(const schedule& s);

// Returns "l.7 (line 40)", the place of an operation in messages.
std::string place_of(const schedule& s, std::uint32_t rank, std::uint32_t operation);

}  // namespace hcasim::schedules
