// Page faults of an adapter's on-demand regions [E9, E10]: the adapter's own, and the requests of its translation cache when
// the pages stand in the IOMMU's table (driver.on_demand = iommu).
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "firmware/abi/iommu.h"
#include "models/driver/objects/objects.h"
#include "tlm/ats.h"

namespace hcasim::driver {

// The software thread that serves a device's page faults, page requests and asynchronous prefetches. It starts with the first
// job, whichever kind that is: page requests come from adapters without any on-demand region, too.
class pager {
 public:
  pager(host& machine, device& d) : machine_(machine), device_(&d) {}

  void add(memory_region& mr);
  void remove(memory_region& mr);
  // The adapter has no regions any more; what it had asked for needs no answer.
  void forget();
  // From the handler of the event queue. `va` in the region's VAs.
  void fault(std::uint32_t key_index, std::uint64_t va, std::uint64_t length, bool write) {
    post({.index = key_index, .va = va, .length = length, .write = write});
  }
  // From the handler of the IOMMU's page requests.
  void page_request(const iommu_page_request& r) {
    post({.va = r.address, .write = (r.flags & ats_page_write) != 0, .group = r.group});
  }
  void prefetch(const memory_region& mr, std::uint64_t va, std::uint64_t length, bool write) {
    post({.index = hca_key_index(mr.key), .va = va, .length = length, .write = write, .prefetch = true});
  }

 private:
  struct job {
    std::uint32_t index = 0;
    std::uint64_t va = 0;
    std::uint64_t length = 0;
    bool write = false;
    bool prefetch = false;
    std::optional<std::uint32_t> group{};  // a page request of the IOMMU's: `va` is a DMA address
  };
  void post(const job& j);
  void run(cpu& c);
  void serve(cpu& c, const job& j);
  void serve_page_request(cpu& c, const job& j);
  [[nodiscard]] memory_region* at_dma(std::uint64_t address) const;

  host& machine_;
  device* device_;
  number_table<memory_region> regions_;             // by key index
  std::map<std::uint64_t, memory_region*> at_dma_;  // those with reserved DMA addresses, by the first
  std::deque<job> jobs_;
  wait_queue posted_;
  bool has_thread_ = false;
};

}  // namespace hcasim::driver
