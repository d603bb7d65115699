// Contexts and tables, read from host memory.
#include <algorithm>

#include "models/machine/iommu/iommu.h"
#include "tlm/access.h"

namespace hcasim {

process iommu::load_context(requester& r, ps t) {
  co_await queue_.until(t);
  iommu_context c{};
  ++contexts_read_;
  const std::uint32_t generation = r.generation;
  const bool reached = tables_.access(false, contexts_ + r.id * sizeof c, &c, sizeof c, t);
  co_await later{queue_, t};
  if (r.generation == generation) {  // otherwise invalidated meanwhile
    r.root = c.root & IOMMU_PTE_ADDRESS;
    r.state = !reached || !(c.flags & IOMMU_CONTEXT_PRESENT) ? context_state::absent
              : (c.flags & IOMMU_CONTEXT_PASS)               ? context_state::pass
                                                             : context_state::translated;
    r.ats = r.state == context_state::translated && (c.flags & IOMMU_CONTEXT_ATS);
    r.pages = r.ats && (c.flags & IOMMU_CONTEXT_PAGES);
  }
  const std::vector<access*> waiting = std::exchange(r.no_context, {});
  for (access* a : waiting) look_up(*a, t);
}

void iommu::join_walk(access& a, ps t) {
  const std::uint64_t page = a.address & ~std::uint64_t{0xfff};
  for (walk* w : active_) {
    if (w->from != a.from || w->address != page || w->poisoned) continue;
    ++merged_;
    w->waiting.push_back(&a);
    return;
  }
  ++walks_begun_;
  walk& w = walks_.get();
  w.from = a.from;
  w.address = page;
  w.poisoned = false;
  w.waiting.clear();
  w.waiting.push_back(&a);
  active_.push_back(&w);
  if (walking_ < config_.walkers && without_walker_.empty()) {
    begin(w, t);
  } else {
    without_walker_.push(w);
  }
}

void iommu::begin(walk& w, ps t) {
  ++walking_;
  w.begin = std::max(t, now());
  run(w);
}

process iommu::run(walk& w) {
  ps t = w.begin;
  co_await queue_.until(t);
  walkers_busy_.add(1, now());
  walkers_probe_.set(walkers_busy_.value(), now());
  page_cache::entry leaf;
  std::uint64_t node = w.from->root;
  unsigned level = IOMMU_LEVELS - 1;
  unsigned rights = IOMMU_PTE_READ | IOMMU_PTE_WRITE;
  for (unsigned l = 0; l < nodes_.size(); ++l) {  // the lowest node that is known
    const page_cache::entry* known = nodes_[l].find(w.from->id, w.address);
    if (!known) continue;
    node = known->value;
    rights = known->rights;
    level = l;
    break;
  }
  for (;; --level) {
    const unsigned shift = 12 + IOMMU_PTE_BITS * level;
    std::uint64_t entry = 0;
    ++reads_[level];
    level_probe_.set(level + 1, t);
    const bool reached = tables_.access(false, node + (w.address >> shift) % 512 * 8, &entry, sizeof entry, t);
    co_await later{queue_, t};
    rights &= static_cast<unsigned>(entry);
    const bool page = level == 0 || (entry & IOMMU_PTE_LARGE);
    if (!reached || (page && level == IOMMU_LEVELS - 1)) {
      finish(w, IOMMU_FAULT_TABLE, leaf, t);
      co_return;
    }
    if (!(entry & (IOMMU_PTE_READ | IOMMU_PTE_WRITE))) {
      finish(w, IOMMU_FAULT_NOT_MAPPED, leaf, t);
      co_return;
    }
    node = entry & IOMMU_PTE_ADDRESS;
    if (page) {
      leaf.shift = static_cast<std::uint8_t>(shift);
      leaf.value = node - offset_in_page(node, shift);
      leaf.rights = static_cast<std::uint8_t>(rights);
      finish(w, IOMMU_FAULT_NONE, leaf, t);
      co_return;
    }
    if (!w.poisoned && !nodes_.empty()) nodes_[level - 1].put(w.from->id, w.address, shift, node, rights);
  }
}

// All waiting accesses are answered from the entry read, not from the cache, where it may be gone already.
void iommu::finish(walk& w, iommu_fault fault, const page_cache::entry& leaf, ps t) {
  std::erase(active_, &w);
  --walking_;
  walkers_busy_.add(-1, t);
  walkers_probe_.set(walkers_busy_.value(), t);
  level_probe_.set(0, t);
  walk_time_.add(t - w.begin);
  if (fault == IOMMU_FAULT_NONE && !w.poisoned) {
    evictions_ += tlb_.put(w.from->id, w.address, leaf.shift, leaf.value, leaf.rights);
  }
  for (access* a : w.waiting) {
    if (a->type == pcie_address_type::translation_request) {
      const bool absent = fault == IOMMU_FAULT_NOT_MAPPED;
      a->fault = absent ? IOMMU_FAULT_NONE : fault;
      a->physical = absent ? 0 : ats_entry(leaf.value, leaf.shift, leaf.rights);
      known(*a, t);
      continue;
    }
    a->fault = fault;
    if (fault == IOMMU_FAULT_NONE && !(leaf.rights & right_to(a->payload->is_write()))) {
      a->fault = a->payload->is_write() ? IOMMU_FAULT_NOT_WRITABLE : IOMMU_FAULT_NOT_MAPPED;
    }
    a->physical = leaf.at(a->address);
    known(*a, t);
  }
  w.waiting.clear();
  walks_.put(w);
  while (walking_ < config_.walkers && !without_walker_.empty()) begin(without_walker_.pop(), t);
}

}  // namespace hcasim
