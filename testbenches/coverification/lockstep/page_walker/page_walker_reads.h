// The reads of page tables of one side. While a line of entries is read for a walk, no other walk of the same map reads the
// line. A request that misses such a line joins its walk, unless the line was dropped meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "testbenches/coverification/lockstep/page_walker/page_walker_item.h"
#include "tlm/base/clock_domain.h"
#include "tlm/dma.h"

namespace hcasim::lockstep {

class line_reads {
 public:
  explicit line_reads(const item_stream& stream) : stream_(stream), asked_(stream.size(), ps(-1)) {}

  // Notes the offer of an item. `dropped` notes the offer and the answer of a drop of a map's entries.
  void asked(std::uint64_t number, ps t) { asked_[number] = t; }
  void dropped(std::uint32_t index, ps t) { drops_[index] = t; }
  // Notes the begin of a read for an item, whose number is `operation` - 1. Returns the fault of the read; empty = none.
  std::string begins(const dma_request& r);
  void ends(const dma_request& r);

 private:
  struct line {
    std::uint32_t index;
    std::uint64_t table;
    std::uint64_t number;
    bool operator==(const line&) const = default;
  };
  struct reading {
    const dma_request* request;
    std::uint64_t asker;  // number of the item
    line of;
  };
  const item_stream& stream_;
  std::vector<ps> asked_;
  std::vector<reading> reading_;
  std::unordered_map<std::uint32_t, ps> drops_;  // the last drop of each map; never iterated
};

}  // namespace hcasim::lockstep
