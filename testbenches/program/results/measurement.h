// Which part of a run the figures are of, and what every statistic gathered in it. A testbench may have several such parts
// (ways of doing the same), each with a name; those of one name are one part. What lies before, between and after them (boot,
// warm-up, tear-down) is the set-up. Without any part it is the whole run.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tlm/base/unit.h"

namespace hcasim {

class measurement {
 public:
  struct part {
    std::string name;
    ps begin{0};
    ps end{0};
    ps time{0};                 // of several parts together less than from begin to end
    std::vector<tally> values;  // in the order of entries()
  };
  struct entry {
    const unit* of;
    statistic_reader reader;
  };

  // Throw std::logic_error when one begins inside another, or ends without having begun.
  void begin(const std::string& name, ps t);
  void end(ps t);
  // The run is over; to be called once.
  void finish(ps t);

  // All statistics of all units, in the order of the hierarchy. To be called when all units are there; begin, end and finish
  // do.
  const std::vector<entry>& collect();
  [[nodiscard]] const std::vector<entry>& entries() const { return entries_; }
  // For a caller that samples beside the parts: from keep_rows() on, the counts of the entry since the last call for it,
  // whatever parts began and ended meanwhile.
  void keep_rows() { rows_.resize(collect().size()); }
  tally take_row(std::size_t i, ps t);

  // After finish(); values are in the order of entries().
  [[nodiscard]] bool marked() const { return !parts_.empty(); }
  [[nodiscard]] const part& measured() const { return measured_; }  // all parts together
  [[nodiscard]] const part& set_up() const { return set_up_; }
  [[nodiscard]] part whole() const;  // both
  [[nodiscard]] const std::deque<part>& parts() const { return parts_; }

 private:
  void read(std::size_t i, ps t);
  void close(part& p, ps t);

  std::vector<entry> entries_;
  std::vector<tally> open_;  // since the last part began or ended
  std::vector<tally> rows_;  // since take_row(); empty unless they are kept
  ps since_{0};
  part* running_ = nullptr;  // null = set-up
  std::deque<part> parts_;
  part measured_;
  part set_up_;
};

}  // namespace hcasim
