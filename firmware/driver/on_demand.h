// On-demand regions [E9]: nothing is pinned, and the adapter has a page only while it may use it. A page fault of the adapter
// puts its page into the region's table; before the operating system takes pages away, they are taken from the adapter.
//
// With driver.on_demand = iommu the adapter's table is complete, its addresses are reserved ones of the IOMMU, and the pages
// come and go there [E10]: the adapter's translation cache asks for them, and an invalidation waits for it instead of for the
// key.
//
// Whoever puts pages in or takes them away holds the process's lock, from the look at its page table to the adapter's answer;
// the operating system holds it until its own change is made. So the adapter never has a page that the process has not.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "firmware/abi/iommu.h"
#include "firmware/driver/objects.h"
#include "tlm/ats.h"

namespace hcasim::driver {

// Pages that one process lends the adapter.
class lent_pages final : public page_user {
 public:
  explicit lent_pages(process& owner) : owner_(owner) { owner.memory->add_user(this); }
  // The process has closed the device; its memory may not outlive a device that is dead.
  void leave() { owner_.memory->remove_user(this); }
  lent_pages(const lent_pages&) = delete;
  lent_pages& operator=(const lent_pages&) = delete;

  void add(memory_region& mr) { regions_.push_back(&mr); }
  void remove(memory_region& mr) { std::erase(regions_, &mr); }
  // The adapter has no use for these pages any more.
  using page_list = std::map<std::uint64_t, std::uint64_t>;
  void take_back(cpu& c, memory_region& mr, page_list::iterator begin, page_list::iterator end);
  void lock(cpu& c);
  void unlock();
  // With the lock held: puts in what is mapped (and, for `write`, writable) from the page of `va` on, up to `pages` pages. How
  // many these were.
  std::uint64_t fill(cpu& c, memory_region& mr, std::uint64_t va, std::uint64_t pages, bool write);

  void begin_invalidate(cpu& c, std::uint64_t first, std::uint64_t last) override;
  void end_invalidate(cpu& c, std::uint64_t first, std::uint64_t last) override;

 private:
  std::uint64_t fill_iommu(cpu& c, memory_region& mr, std::uint64_t first, std::uint64_t pages, bool write);
  void zap(cpu& c, memory_region& mr, std::uint64_t first, std::uint64_t last);
  std::uint64_t lend(cpu& c, std::uint64_t physical, bool writable);

  process& owner_;
  std::vector<memory_region*> regions_;
  bool locked_ = false;
  wait_queue unlocked_;
};

// The software thread that serves a device's page faults and the prefetches that nobody waits for.
class pager {
 public:
  pager(host& machine, device& d) : machine_(machine), device_(&d) {}

  void add(memory_region& mr);
  void remove(memory_region& mr);
  // From the handler of the event queue. `va` in the region's VAs.
  void fault(std::uint32_t key_index, std::uint64_t va, std::uint64_t length, bool write) {
    post({key_index, va, length, write, false});
  }
  // From the handler of the IOMMU's page requests.
  void page_request(const iommu_page_request& r) {
    job j{0, r.address, 0, (r.flags & ats_page_write) != 0, false};
    j.by_iommu = true;
    j.group = r.group;
    post(j);
  }
  void prefetch(const memory_region& mr, std::uint64_t va, std::uint64_t length, bool write) {
    post({hca_key_index(mr.lkey), va, length, write, true});
  }

 private:
  struct job {
    std::uint32_t index = 0;
    std::uint64_t va = 0;
    std::uint64_t length = 0;
    bool write = false;
    bool prefetch = false;
    bool by_iommu = false;
    std::uint32_t group = 0;
  };
  void post(const job& j);
  void run(cpu& c);
  void serve(cpu& c, const job& j);
  void serve_page_request(cpu& c, const job& j);

  host& machine_;
  device* device_;
  number_table<memory_region> regions_;               // by key index
  std::map<std::uint64_t, memory_region*> by_iommu_;  // by first DMA address
  std::deque<job> jobs_;
  wait_queue posted_;
  bool running_ = false;
};

// The verbs' part, after the checks that all registrations take. nullptr and errno; 0 or an errno value.
verbs::ibv_mr* register_on_demand(cpu& c, protection_domain& pd, const memory_region& wanted);
int deregister_on_demand(cpu& c, memory_region& mr);

}  // namespace hcasim::driver
