// Memory of queues in the process's address space: pinned buffers, and doorbell records.
#pragma once

#include <memory>
#include <vector>

#include "models/driver/page_list.h"

namespace hcasim {
class cpu;
}

namespace hcasim::driver {

class dma_map;
struct driver_statistics;

// A queue's buffer: page-aligned, pinned, its frames known.
class queue_buffer {
 public:
  queue_buffer() = default;
  queue_buffer(const queue_buffer&) = delete;
  queue_buffer& operator=(const queue_buffer&) = delete;
  ~queue_buffer() { release(); }

  // 0, or ENOMEM.
  int allocate(virtual_memory& memory, std::uint64_t bytes, page_policy policy, dma_map& dma, driver_statistics& stats);
  void release();

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t physical(std::uint64_t offset) const {
    if (offset < host_page) return first_ + offset;  // most queues are no longer; the list would miss the host's cache
    return frames_[offset >> host_page_shift] + (offset & (host_page - 1));
  }
  [[nodiscard]] const std::vector<virtual_memory::frame_run>& runs() const { return runs_; }
  // DMA addresses of its pages of 2^shift bytes, and of a byte.
  [[nodiscard]] std::vector<std::uint64_t> pages(unsigned shift) const;
  [[nodiscard]] std::uint64_t address(std::uint64_t offset) const;

 private:
  std::uint64_t first_ = 0;  // frames_[0]
  virtual_memory* memory_ = nullptr;
  dma_map* dma_ = nullptr;
  driver_statistics* stats_ = nullptr;
  std::uint64_t va_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<virtual_memory::frame_run> runs_;
  std::vector<std::uint64_t> frames_;  // one address per 4 KiB
};

// Doorbell records, one to a cache line.
class record_pool {
 public:
  record_pool(virtual_memory& memory, dma_map& dma, driver_statistics& stats) : memory_(memory), dma_(dma), stats_(stats) {}

  // The physical address of a zeroed record; 0: out of memory.
  std::uint64_t get(cpu& c);
  void put(std::uint64_t record) { free_.push_back(record); }
  // What the adapter knows it by.
  [[nodiscard]] std::uint64_t address(std::uint64_t record) const;

 private:
  static constexpr std::uint64_t record_bytes = 64;
  virtual_memory& memory_;
  dma_map& dma_;
  driver_statistics& stats_;
  std::vector<std::unique_ptr<queue_buffer>> pages_;
  std::vector<std::uint64_t> free_;
};

}  // namespace hcasim::driver
