// The memory that the adapter may touch, when an IOMMU stands between it and memory: the driver's end of firmware/abi/iommu.h.
// Without an IOMMU every DMA address is the physical one, and nothing here costs anything.
//
// Two kinds of mappings. `share` is for memory that the driver and the adapter use for long (rings, mailboxes, ICM, queues):
// known by its physical address, made and unmade without costs; an unmade one is forgotten by the IOTLB with the next `unmap`,
// and its addresses are not used before. `map` is for memory of processes: scattered frames become one run of addresses, and
// `unmap` returns when no DMA to them is under way. Addresses that were reserved get their pages one by one (`put`, `take`).
//
// An adapter that caches translations (ATS) is told as well, and waited for. One that does not answer in time loses the right
// to use what it has translated, before anything is given to others.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "firmware/abi/iommu.h"
#include "models/driver/device/driver_statistics.h"
#include "models/driver/device/wait_queue.h"
#include "models/machine/host/host.h"
#include "tlm/ats.h"

namespace hcasim::driver {

class dma_map {
 public:
  struct range {
    std::uint64_t address;
    std::uint64_t bytes;
  };

  // Further abilities of the adapter: cache translations, ask for pages (`vector`: the interrupt that tells of those).
  struct ats {
    bool translations = false;
    bool pages = false;
    std::uint32_t vector = 0;
    std::uint32_t log_queue = 7;  // of page requests
  };
  using page_handler = std::function<void(const iommu_page_request&)>;

  // `registers`: of the IOMMU; 0 = there is none.
  dma_map(host& machine, std::uint64_t registers, std::uint16_t requester, ats capabilities, driver_statistics& stats)
      : machine_(machine), registers_(registers), requester_(requester), ats_(capabilities), stats_(stats) {}

  // 0, ENODEV: no IOMMU where one should be, or ENOMEM.
  int open(cpu& c);
  // The adapter is cut off from memory: it uses no translation until `renew`, and answers no invalidation.
  void suspend() { ats_.translations = ats_.pages = false; }
  // The adapter has been reset: it knows no translations, and may use what it can do again. Its answers must reach the IOMMU.
  int renew(cpu& c);
  // Takes page requests from now on, in a thread of its own.
  void serve_pages(cpu& c, page_handler h);
  void answer_page(cpu& c, std::uint32_t group, ats_response code);
  [[nodiscard]] bool takes_page_requests() const { return ats_.pages && translated(); }
  [[nodiscard]] bool translated() const { return registers_ != 0; }

  // Contiguous memory for both, in whole pages when it is mapped; its physical address, or 0. `must`: host.h.
  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment, bool must = false);
  // False = no addresses are left, or no memory for tables.
  bool share(std::uint64_t physical, std::uint64_t bytes, bool must = false);
  void unshare(std::uint64_t physical);
  // The DMA address of memory that was shared.
  [[nodiscard]] std::uint64_t address(std::uint64_t physical) const;

  // Whole pages. The first DMA address; 0 = there are none left, or no memory for tables.
  std::uint64_t map(cpu& c, std::span<const virtual_memory::frame_run> frames, bool writable);
  void unmap(cpu& c, std::span<const range> ranges);

  // Addresses without pages; 0 = there are none left.
  std::uint64_t reserve(std::uint64_t bytes) { return take_addresses(bytes); }
  void release(const range& r) { give_back(r); }
  // False = no memory for tables.
  bool put(cpu& c, std::uint64_t address, std::uint64_t physical, bool writable);
  // Pages that were put; returns when no DMA to them is under way.
  void take(cpu& c, std::span<const range> pages);

 private:
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t first_address = std::uint64_t{1} << 40;
  static constexpr std::uint64_t end_address = std::uint64_t{1} << 47;
  static constexpr unsigned queue_log = 7;

  struct block {  // addresses that were given out together
    std::uint64_t bytes;
    std::uint64_t live;
  };
  struct shared {
    std::uint64_t bytes;
    std::uint64_t address;
  };

  [[nodiscard]] std::uint32_t rights() const;
  std::uint64_t take_addresses(std::uint64_t bytes);
  void give_back(const range& r);
  // `c` null: without costs.
  void write(cpu* c, std::uint64_t physical, std::span<const std::uint64_t> entries);
  // 0 = no memory for a table.
  std::uint64_t node_for(cpu* c, std::uint64_t address, unsigned level, bool must);
  void retire(std::uint64_t node, unsigned level);
  // False, and nothing is entered: no memory for tables.
  bool enter(cpu* c, std::uint64_t address, std::uint64_t physical, std::uint64_t bytes, std::uint64_t rights, bool must);
  void clear(cpu* c, std::uint64_t address, std::uint64_t bytes);
  void put_command(cpu& c, const iommu_command& what);
  void ring(cpu& c);
  void put_invalidation(cpu& c, const range& r);
  bool wait_for_commands(cpu& c);
  void take_pages(cpu& c);
  void forget(cpu& c, std::span<const range> ranges);

  host& machine_;
  std::uint64_t registers_;
  std::uint16_t requester_;
  ats ats_;
  const ats offered_ = ats_;
  driver_statistics& stats_;
  std::uint64_t contexts_ = 0;
  page_handler on_page_;
  std::uint64_t page_queue_ = 0;
  std::uint32_t page_head_ = 0;
  std::uint64_t root_ = 0;
  std::uint64_t queue_ = 0;
  std::uint64_t status_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t token_ = 0;
  std::vector<std::uint64_t> free_nodes_;  // empty tables that a large page has replaced
  bool busy_ = false;
  wait_queue free_;
  std::uint64_t next_address_ = first_address;
  std::array<std::vector<std::uint64_t>, 48> free_addresses_;  // by log2 of the size
  std::map<std::uint64_t, block> blocks_;                      // by first address
  std::map<std::uint64_t, shared> shared_;                     // by physical address
  std::vector<range> stale_;                                   // unshared, but the IOTLB does not know
};

}  // namespace hcasim::driver
