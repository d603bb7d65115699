// Pages that one process lends the adapter, for on-demand regions [E9]: nothing is pinned, and the adapter has a page only
// while it may use it. A page fault of the adapter puts its page in; before the operating system takes pages away, they are
// taken from the adapter. A page stands meanwhile in the adapter's table or in the IOMMU's: adapter_pages or iommu_pages.
//
// A thread that puts pages in or takes them away holds the process's lock, from the look at its page table to the adapter's
// answer; the operating system holds it until its own change is made. So the adapter never has a page that the process has not.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "models/driver/device/device.h"
#include "models/driver/objects/objects.h"

namespace hcasim::driver {

class lent_pages : public page_user {
 public:
  // Returns the kind that the device is set to (driver.on_demand).
  static std::shared_ptr<lent_pages> make(process& owner);
  lent_pages(const lent_pages&) = delete;
  lent_pages& operator=(const lent_pages&) = delete;
  ~lent_pages() override = default;
  // The process has closed the device; its memory may not outlive a device that is dead.
  void leave() { owner_.memory->remove_user(this); }

  // Rights that no such region can have, and regions without bounds: 0 or an errno value.
  [[nodiscard]] virtual int check(std::uint32_t rights, bool implicit) const = 0;
  // Whether the adapter's own table has every page, so that windows can be bound.
  [[nodiscard]] virtual bool complete() const = 0;
  // The adapter's part of a registration and of its end. Afterwards the lock is held.
  virtual command_result give(cpu& c, memory_region& mr, hca_region region) = 0;
  virtual command_result withdraw(cpu& c, memory_region& mr) = 0;
  // A region that the adapter has, and has no more: with the lock held.
  void add(memory_region& mr) { regions_.push_back(&mr); }
  void remove(memory_region& mr) { std::erase(regions_, &mr); }
  void take_back_all(cpu& c, memory_region& mr);  // and what `give` has reserved

  void lock(cpu& c);
  void unlock();
  // With the lock held: puts in what is mapped (and, for `write`, writable) from the page of `va` on, up to `pages` pages. How
  // many these were.
  std::uint64_t fill(cpu& c, memory_region& mr, std::uint64_t va, std::uint64_t pages, bool write);

  void begin_invalidate(cpu& c, std::uint64_t first, std::uint64_t last) override;
  void end_invalidate(cpu& c, std::uint64_t first, std::uint64_t last) override;

 protected:
  explicit lent_pages(process& owner) : owner_(owner) { owner.memory->add_user(this); }

  struct page {
    std::uint64_t address;   // in the process
    std::uint64_t physical;  // 0 = not to be had
    bool writable;
  };
  // The page that has the VA, to be lent for reading or for writing.
  [[nodiscard]] page look(const memory_region& mr, std::uint64_t va, bool write) const;

  process& owner_;

 private:
  using page_list = std::map<std::uint64_t, std::uint64_t>;

  virtual std::uint64_t put(cpu& c, memory_region& mr, std::uint64_t first, std::uint64_t pages, bool write) = 0;
  // Whether the adapter's own table has none of them any more.
  virtual bool zap(cpu& c, memory_region& mr, const hca_pages& pages) = 0;
  virtual void unmap(cpu& c, const std::vector<dma_map::range>& pages) = 0;
  virtual void release(memory_region& /*mr*/) {}

  void take(cpu& c, memory_region& mr, std::uint64_t first, std::uint64_t last);
  void take_back(cpu& c, memory_region& mr, page_list::iterator begin, page_list::iterator end);

  std::vector<memory_region*> regions_;
  bool locked_ = false;
  wait_queue unlocked_;
};

// An implicit region: every VA that a process has.
inline constexpr std::uint64_t every_va = std::uint64_t{1} << 48;

inline std::uint64_t last_va(const memory_region& mr) {
  return mr.iova + std::min(mr.length, every_va) - 1;
}
// Converts a VA of the region to an address of the process, and the other way round.
inline std::uint64_t address_of(const memory_region& mr, std::uint64_t va) {
  return mr.addr + (va - mr.iova);
}
inline std::uint64_t va_of(const memory_region& mr, std::uint64_t address) {
  return mr.iova + (address - mr.addr);
}

}  // namespace hcasim::driver
