// Memory of queues in the process's address space: pinned buffers, and doorbell records.
#pragma once

#include <memory>
#include <vector>

#include "models/driver/objects/page_list.h"

namespace hcasim {
class cpu;
}

namespace hcasim::driver {

struct process;

// A queue's buffer: page-aligned, pinned, its frames known. Finding and pinning its pages, and giving them back, take the time
// that they take for a region.
class queue_buffer {
 public:
  queue_buffer() = default;
  queue_buffer(const queue_buffer&) = delete;
  queue_buffer& operator=(const queue_buffer&) = delete;
  ~queue_buffer() { give_back(); }

  // 0, or ENOMEM.
  int allocate(cpu& c, process& p, std::uint64_t bytes, page_policy policy);
  void release(cpu& c);
  void swap(queue_buffer& other);

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
  void give_back();

  std::uint64_t first_ = 0;  // frames_[0]
  process* process_ = nullptr;
  std::uint64_t va_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<virtual_memory::frame_run> runs_;
  std::vector<std::uint64_t> frames_;  // one address per 4 KiB
};

// Doorbell records, one to a cache line.
class record_pool {
 public:
  explicit record_pool(process& p) : process_(p) {}

  // The physical address of a zeroed record; 0 = out of memory.
  std::uint64_t get(cpu& c);
  void put(std::uint64_t record) { free_.push_back(record); }
  // Returns the address by which the adapter knows a record.
  [[nodiscard]] std::uint64_t address(std::uint64_t record) const;

 private:
  static constexpr std::uint64_t record_bytes = 64;
  process& process_;
  std::vector<std::unique_ptr<queue_buffer>> pages_;
  std::vector<std::uint64_t> free_;
};

}  // namespace hcasim::driver
