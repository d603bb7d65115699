// Index arithmetic of a send queue: a ring of 64 B blocks, a power of two of them, indices modulo 2^16. A WQE does not wrap
// around the ring's end: a NOP fills what is left. Space is free again when the completion of a WQE at or behind it has been
// polled.
#pragma once

#include <cstdint>
#include <vector>

#include "firmware/abi/wqe.h"
#include "tlm/operation.h"

namespace hcasim::driver {

struct send_entry {
  std::uint64_t wr_id = 0;
  std::uint32_t sequence = 0;  // counts requests, not NOPs
  std::uint16_t index = 0;
  std::uint8_t blocks = 0;
  std::uint8_t opcode = HCA_WQE_NOP;
};

class send_ring {
 public:
  static constexpr std::uint32_t max_blocks = 1 << 15;

  // For `requests` WQEs of up to `longest` blocks each; the ring's size, or 0 if it would be too large.
  static std::uint32_t size_for(std::uint32_t requests, unsigned longest) {
    const std::uint64_t wanted = std::uint64_t{requests} * longest + longest - 1;
    std::uint32_t size = 1;
    while (size < wanted && size <= max_blocks) size *= 2;
    return size <= max_blocks ? size : 0;
  }

  void resize(std::uint32_t blocks, std::uint32_t requests) {
    entries_.assign(blocks, {});
    requests_ = requests;
    reset();
  }
  void reset() {
    head_ = tail_ = 0;
    posted_ = done_ = 0;
    last_ = new_operation_queue();
  }

  struct place {
    bool full = false;
    std::uint16_t index = 0;  // of the WQE
    unsigned nop_blocks = 0;  // in front of it
  };
  // Returns the place of a WQE of so many blocks.
  [[nodiscard]] place find(unsigned blocks) const {
    const std::uint32_t left = size() - (tail_ & (size() - 1));
    const unsigned nop = blocks > left ? left : 0;
    if (posted_ - done_ >= requests_ || used() + nop + blocks > size()) return {true, 0, 0};
    return {false, static_cast<std::uint16_t>(tail_ + nop), nop};
  }
  void push(const place& at, unsigned blocks, std::uint64_t wr_id, hca_wqe_opcode opcode) {
    if (at.nop_blocks) {
      entries_[tail_ & (size() - 1)] = {0, posted_ - 1, tail_, static_cast<std::uint8_t>(at.nop_blocks), HCA_WQE_NOP};
    }
    entries_[at.index & (size() - 1)] = {wr_id, posted_, at.index, static_cast<std::uint8_t>(blocks),
                                         static_cast<std::uint8_t>(opcode)};
    ++posted_;
    last_ = operation_at(last_, at.index);
    tail_ = static_cast<std::uint16_t>(at.index + blocks);
  }
  // The WQE at `index` and all before it are done. nullptr = no WQE that is outstanding begins there. The adapter does not know
  // how long one is that it could not read, and goes on with the next block.
  const send_entry* complete(std::uint16_t index) {
    const send_entry& e = entries_[index & (size() - 1)];
    if (e.index != index || static_cast<std::uint16_t>(index - head_) >= used()) return nullptr;
    head_ = static_cast<std::uint16_t>(index + e.blocks);
    done_ = e.sequence + 1;
    return &e;
  }

  // The oldest request that is not done; it is then. nullptr = there is none.
  const send_entry* take_oldest() {
    while (outstanding() != 0) {
      const send_entry* const e = complete(head_);
      if (e->opcode != HCA_WQE_NOP) return e;
    }
    return nullptr;
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  [[nodiscard]] std::uint16_t tail() const { return tail_; }
  // The number of the request that was posted last.
  [[nodiscard]] std::uint64_t last_operation() const { return last_; }
  [[nodiscard]] std::uint32_t outstanding() const { return posted_ - done_; }
  [[nodiscard]] std::uint32_t used() const { return static_cast<std::uint16_t>(tail_ - head_); }

 private:
  std::vector<send_entry> entries_;
  std::uint32_t requests_ = 0;  // most outstanding
  std::uint32_t posted_ = 0;
  std::uint32_t done_ = 0;
  std::uint64_t last_ = 0;
  std::uint16_t head_ = 0;
  std::uint16_t tail_ = 0;
};

}  // namespace hcasim::driver
