// The cells of the lines: what a lookup finds when bits have gone wrong (tlm/cells.h).
#pragma once

#include "models/adapter/context_cache/line_drops.h"
#include "models/adapter/context_cache/write_buffers.h"
#include "tlm/cells.h"

namespace hcasim {

class line_cells {
 public:
  struct parts {
    cache_lines& lines;
    entry_transfers& icm;
    write_buffers& writes;
    line_drops& drops;
  };

  line_cells(const cell_protection& protection, const parts& with) : cells_(protection), parts_(with) {}

  // Reads a line. True = a bit of the entry is wrong, and the entry cannot be lent.
  [[nodiscard]] bool spoiled(std::size_t slot) { return cells_.due() && read(slot); }
  // Returns whether a dirty entry has gone, and with it its index.
  [[nodiscard]] bool lost_one() const { return lost_one_; }
  void clear() { lost_one_ = false; }

  [[nodiscard]] cells& faults() { return cells_; }
  [[nodiscard]] const cells& faults() const { return cells_; }

 private:
  bool read(std::size_t slot);
  bool keeps_its_tag(std::size_t slot);

  cells cells_;
  const parts parts_;
  bool lost_one_ = false;
};

}  // namespace hcasim
