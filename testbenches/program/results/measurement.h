// The measured parts of a run, and each statistic's content over them. A testbench may have several parts (ways of doing the
// same), each with a name; parts of one name are one part. The rest before, between and after them (boot, warm-up, tear-down)
// is the set-up. Without any part the whole run is measured.
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
    ps time{0};                 // sum of the parts' times, less than end - begin with several parts
    std::vector<tally> values;  // in the order of entries()
  };
  struct entry {
    const unit* of;
    statistic_reader reader;
  };

  // Begins a part. begin and end throw std::logic_error on a part inside another, or an end without a begin.
  void begin(const std::string& name, ps t);
  void end(ps t);
  // Ends the measurement with the run; call once.
  void finish(ps t);

  // Collects all statistics of all units, in the order of the hierarchy, when all units exist; begin, end and finish call it.
  const std::vector<entry>& collect();
  [[nodiscard]] const std::vector<entry>& entries() const { return entries_; }
  // Keeps counts for a caller that samples independently of the parts. take_row returns the entry's counts since its last call,
  // whatever parts began and ended meanwhile.
  void keep_rows() { rows_.resize(collect().size()); }
  tally take_row(std::size_t i, ps t);

  // Returns when the part that runs began; `never` = none runs.
  [[nodiscard]] ps running_since() const { return running_ ? since_ : never; }
  // Returns whether the run has parts. After finish(), values are in the order of entries().
  [[nodiscard]] bool marked() const { return !parts_.empty(); }
  [[nodiscard]] const part& measured() const { return measured_; }  // all parts together
  [[nodiscard]] const part& set_up() const { return set_up_; }
  [[nodiscard]] part whole() const;  // both
  // Returns the parts. After finish(), one part alone is without values, which measured() has.
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
