#include "firmware/driver/on_demand.h"

#include <algorithm>
#include <limits>

#include "firmware/driver/device.h"
#include "firmware/driver/page_list.h"
#include "firmware/driver/peer/attachment.h"
#include "firmware/driver/registration_rules.h"

namespace hcasim::driver {

namespace {

constexpr std::uint64_t whole = std::uint64_t{1} << 48;  // an implicit region: every VA that a process has

std::uint64_t last_va(const memory_region& mr) {
  return mr.iova + std::min(mr.length, whole) - 1;
}

// Where a VA of the region lies in the process, and the other way round.
std::uint64_t address_of(const memory_region& mr, std::uint64_t va) {
  return mr.addr + (va - mr.iova);
}
std::uint64_t va_of(const memory_region& mr, std::uint64_t address) {
  return mr.iova + (address - mr.addr);
}

}  // namespace

void lent_pages::lock(cpu& c) {
  unlocked_.sleep_until(c, [this] { return !locked_; });
  locked_ = true;
}

void lent_pages::unlock() {
  locked_ = false;
  unlocked_.wake();
}

std::uint64_t lent_pages::fill(cpu& c, memory_region& mr, std::uint64_t va, std::uint64_t pages, bool write) {
  const std::uint64_t first = align_down(va, host_page);
  pages = std::min(pages, (last_va(mr) - first) / host_page + 1);
  if (mr.by_iommu) return fill_iommu(c, mr, first, pages, write);
  std::uint64_t done = 0;
  std::vector<hca_pte> entries;
  while (done < pages) {
    const std::uint64_t from = first + done * host_page;
    const std::uint64_t most = std::min<std::uint64_t>(pages - done, HCA_FILL_PAGES);
    entries.clear();
    while (entries.size() < most) {
      const std::uint64_t address = align_down(address_of(mr, from), host_page) + entries.size() * host_page;
      const std::uint64_t physical = owner_.memory->translate(address);
      const bool writable = owner_.memory->writable(address);
      if (physical == 0 || (write && !writable)) break;
      const auto [page, fresh] = mr.lent.try_emplace(address, 0);
      if (fresh) page->second = lend(c, physical, writable);
      entries.push_back(page->second | HCA_PTE_PRESENT | (writable ? 0U : std::uint64_t{HCA_PTE_READ_ONLY}));
    }
    if (entries.empty()) break;
    c.pin_pages(entries.size());
    const hca_pages range{from, entries.size()};
    const command_result r =
        run(c, &owner_,
            {.code = HCA_CMD_FILL_PAGES, .object = mr.lkey, .in = in_bytes(range), .list = std::as_bytes(std::span(entries))});
    if (r.error) break;
    owner_.stats.pages_lent += entries.size();
    done += entries.size();
    if (entries.size() < most) break;
  }
  return done;
}

std::uint64_t lent_pages::fill_iommu(cpu& c, memory_region& mr, std::uint64_t first, std::uint64_t pages, bool write) {
  const std::uint64_t begin = align_down(mr.addr, host_page);
  std::uint64_t done = 0;
  for (; done < pages; ++done) {
    const std::uint64_t address = align_down(address_of(mr, first), host_page) + done * host_page;
    const std::uint64_t physical = owner_.memory->translate(address);
    const bool writable = owner_.memory->writable(address);
    if (physical == 0 || (write && !writable)) break;
    const auto [page, fresh] = mr.lent.try_emplace(address, mr.pinned_dma + (address - begin));
    if (fresh) {
      c.pin_pages(1);
      ++owner_.stats.pages_lent;
      ++owner_.stats.dma_maps;
    }
    owner_.device->dma().put(c, page->second, physical, writable);
  }
  c.sync();  // whoever gets the lock next finds the entries made
  return done;
}

// The adapter may have pages of [first, last] only where `lent` says so.
void lent_pages::zap(cpu& c, memory_region& mr, std::uint64_t first, std::uint64_t last) {
  const auto begin = mr.lent.lower_bound(align_down(first, host_page));
  const auto end = mr.lent.upper_bound(last);
  if (begin == end || owner_.device->dead()) return;
  const std::uint64_t low = begin->first;
  const std::uint64_t high = std::prev(end)->first;
  const hca_pages range{align_down(va_of(mr, low), host_page), (high - low) / host_page + 1};
  ++owner_.stats.zaps;
  if (mr.by_iommu) return take_back(c, mr, begin, end);
  const command_result r = run(c, &owner_, {.code = HCA_CMD_ZAP_PAGES, .object = mr.lkey, .in = in_bytes(range)});
  if (r.error) return;
  take_back(c, mr, begin, end);
}

// The adapter has these pages no more.
void lent_pages::take_back(cpu& c, memory_region& mr, page_list::iterator begin, page_list::iterator end) {
  owner_.stats.pages_returned += static_cast<std::uint64_t>(std::distance(begin, end));
  if (owner_.device->dma().translated() && begin != end) {
    std::vector<dma_map::range> pages;
    for (auto it = begin; it != end; ++it) pages.push_back({it->second, host_page});
    if (mr.by_iommu) {
      owner_.device->dma().take(c, pages);
    } else {
      owner_.device->dma().unmap(c, pages);
    }
  }
  mr.lent.erase(begin, end);
}

// The page's DMA address.
std::uint64_t lent_pages::lend(cpu& c, std::uint64_t physical, bool writable) {
  dma_map& dma = owner_.device->dma();
  if (!dma.translated()) return physical;
  const virtual_memory::frame_run frame{physical, host_page};
  return dma.map(c, std::span(&frame, 1), writable);
}

void lent_pages::begin_invalidate(cpu& c, std::uint64_t first, std::uint64_t last) {
  lock(c);
  for (memory_region* mr : regions_) zap(c, *mr, first, last);
}

void lent_pages::end_invalidate(cpu&, std::uint64_t, std::uint64_t) {
  unlock();
}

void pager::add(memory_region& mr) {
  regions_.set(hca_key_index(mr.lkey), &mr);
  if (mr.by_iommu) by_iommu_[mr.pinned_dma] = &mr;
  if (running_) return;
  running_ = true;
  machine_.run("pager", [this](cpu& c) { run(c); });
}

void pager::remove(memory_region& mr) {
  regions_.set(hca_key_index(mr.lkey), nullptr);
  if (mr.by_iommu) by_iommu_.erase(mr.pinned_dma);
}

void pager::post(const job& j) {
  jobs_.push_back(j);
  posted_.wake();
}

void pager::run(cpu& c) {
  for (;;) {
    if (jobs_.empty()) {
      posted_.sleep_until(c, [this] { return !jobs_.empty(); });
      c.spend(machine_.config().wake_up_cost);
    }
    const job j = jobs_.front();
    jobs_.pop_front();
    if (j.by_iommu) {
      serve_page_request(c, j);
    } else {
      serve(c, j);
    }
  }
}

// The adapter waits for the answer whatever it is. A region that is gone, a page that is not mapped: refused.
void pager::serve_page_request(cpu& c, const job& j) {
  const auto find = [&]() -> memory_region* {
    auto it = by_iommu_.upper_bound(j.va);
    if (it == by_iommu_.begin()) return nullptr;
    memory_region* mr = std::prev(it)->second;
    const std::uint64_t bytes = pages_of(mr->addr, mr->length) * host_page;
    return j.va - mr->pinned_dma < bytes ? mr : nullptr;
  };
  memory_region* mr = find();
  device& d = *device_;
  if (!mr) return d.dma().answer_page(c, j.group, ats_response::invalid_request);
  process& p = of(mr->context);
  const ps begin = c.time();
  lent_pages& pages = *p.lent;
  pages.lock(c);
  mr = find();
  std::uint64_t filled = 0;
  if (mr && mr->lent_by == &pages) {
    c.spend(d.config().page_fault);
    ++p.stats.page_faults;
    const std::uint64_t va = std::max(mr->iova, align_down(mr->iova, host_page) + (j.va - mr->pinned_dma));
    filled = pages.fill(c, *mr, va, d.config().fault_pages, j.write);
    if (filled == 0) ++p.stats.page_faults_refused;
    p.stats.page_fault_time.add(c.time() - begin);
  }
  pages.unlock();
  d.dma().answer_page(c, j.group, filled != 0 ? ats_response::success : ats_response::invalid_request);
}

void pager::serve(cpu& c, const job& j) {
  memory_region* mr = regions_.find(j.index);
  if (!mr) return;
  process& p = of(mr->context);
  if (mr->kind == region_kind::dma_buf) return peer::dma_buf_fault(p, *mr);
  const ps begin = c.time();
  lent_pages& pages = *p.lent;
  pages.lock(c);
  mr = regions_.find(j.index);  // it may have gone, and who waited for it has been told
  if (!mr || mr->lent_by != &pages || j.va < mr->iova || j.va > last_va(*mr)) {
    pages.unlock();
    return;
  }
  c.spend(p.device->config().page_fault);
  const std::uint64_t wanted = pages_of(j.va, std::max<std::uint64_t>(j.length, 1));
  const std::uint64_t n = std::max<std::uint64_t>(wanted, j.prefetch ? 1 : p.device->config().fault_pages);
  const std::uint64_t filled = pages.fill(c, *mr, j.va, j.prefetch ? n : std::min<std::uint64_t>(n, HCA_FILL_PAGES), j.write);
  if (!j.prefetch) ++p.stats.page_faults;
  if (filled == 0 && !j.prefetch && !p.device->dead()) {
    ++p.stats.page_faults_refused;
    const hca_pages range{align_down(j.va, host_page), 1};
    const bool mapped = p.memory->translate(address_of(*mr, j.va)) != 0;
    (void)driver::run(c, &p,
                      {.code = HCA_CMD_REFUSE_FAULT, .object = mr->lkey, .modifier = mapped ? 1U : 0U, .in = in_bytes(range)});
  }
  p.stats.page_fault_time.add(c.time() - begin);
  pages.unlock();
}

namespace {

// 0 or an errno value.
int check(const memory_region& wanted, bool implicit, bool by_iommu) {
  const std::uint32_t rights = wanted.access & ~std::uint32_t{HCA_ACCESS_ON_DEMAND};
  if (const int error = check_access(rights)) return error;
  if (rights & HCA_ACCESS_ZERO_BASED) return EOPNOTSUPP;
  if (!by_iommu && (rights & HCA_ACCESS_MW_BIND)) return EOPNOTSUPP;
  if (implicit) return by_iommu ? EOPNOTSUPP : 0;
  if (wanted.length == 0 || wanted.length > whole || range_wraps(wanted.addr, wanted.length)) return EINVAL;
  return wanted.iova + wanted.length < wanted.iova || !congruent(wanted.addr, wanted.iova) ? EINVAL : 0;
}

// The adapter's part. No lock is held for it: a command may have to wait for a write of another region that waits for its page.
command_result give_region(cpu& c, process& p, memory_region& mr, std::uint32_t pd, bool implicit) {
  hca_region region{};
  region.va = mr.iova;
  region.length = implicit ? whole : mr.length;
  region.access = mr.access;
  region.pd = pd;
  region.qpn = HCA_QPN_ANY;
  region.first_offset = mr.addr & (host_page - 1);
  if (!mr.by_iommu) return run(c, &p, {.code = HCA_CMD_REGISTER, .in = in_bytes(region)});
  const std::uint64_t bytes = pages_of(mr.addr, mr.length) * host_page;
  mr.pinned_dma = p.device->dma().reserve(bytes);
  command_result r;
  r.error = ENOMEM;
  if (mr.pinned_dma == 0) return r;
  const virtual_memory::frame_run run_of_addresses{mr.pinned_dma, bytes};
  std::vector<hca_chunk> chunks;
  append_chunks(std::span(&run_of_addresses, 1), align_down(p.device->config().max_segment, host_page), chunks);
  region.access &= ~std::uint32_t{HCA_ACCESS_ON_DEMAND};
  region.chunks = static_cast<std::uint32_t>(chunks.size());
  r = run(c, &p, {.code = HCA_CMD_REGISTER, .in = in_bytes(region), .list = std::as_bytes(std::span(chunks))});
  if (r.error) p.device->dma().release({mr.pinned_dma, bytes});
  return r;
}

}  // namespace

verbs::ibv_mr* register_on_demand(cpu& c, protection_domain& pd, const memory_region& wanted) {
  process& p = of(pd.context);
  const bool implicit = wanted.addr == 0 && wanted.length == std::numeric_limits<std::uint64_t>::max();
  auto mr = std::make_unique<memory_region>(wanted);
  mr->by_iommu = p.device->on_demand_by_iommu();
  int error = check(wanted, implicit, mr->by_iommu);
  mr->kind = region_kind::on_demand;
  mr->access = known_access(wanted.access);
  if (implicit) mr->iova = 0;
  if (!error) {
    if (!p.lent) p.lent = std::make_shared<lent_pages>(p);
    if (!mr->by_iommu) p.lent->lock(c);
    const command_result r = give_region(c, p, *mr, pd.number, implicit);
    if (mr->by_iommu) p.lent->lock(c);
    error = r.error;
    if (!error) {
      mr->context = pd.context;
      mr->pd = &pd;
      mr->lkey = r.value;
      mr->rkey = shown_rkey(r.value, mr->access, p.device->config().rkey_zero_without_remote_rights);
      mr->lent_by = p.lent.get();
      mr->handle = p.mrs.add(mr.get());
      ++pd.users;
      p.lent->add(*mr);
      p.device->pages().add(*mr);
    }
    p.lent->unlock();
  }
  if (error) return refuse(error);
  return mr.release();
}

int deregister_on_demand(cpu& c, memory_region& mr) {
  process& p = of(mr.context);
  // Accesses under way may still wait for pages of the IOMMU's, which are served under the lock.
  if (!mr.by_iommu) p.lent->lock(c);
  const command_result r = run(c, &p, {.code = HCA_CMD_DEREGISTER, .object = mr.lkey});
  if (mr.by_iommu) p.lent->lock(c);
  if (!r.error) {
    p.lent->remove(mr);
    p.device->pages().remove(mr);
    p.lent->take_back(c, mr, mr.lent.begin(), mr.lent.end());
    if (mr.by_iommu) p.device->dma().release({mr.pinned_dma, pages_of(mr.addr, mr.length) * host_page});
  }
  p.lent->unlock();
  return r.error;
}

}  // namespace hcasim::driver

namespace hcasim::verbs {

using namespace driver;

int ibv_advise_mr(cpu& c, ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, const ibv_sge* sg_list, int num_sge) {
  process& p = of(pd->context);
  p.device->enter_kernel(c);
  const bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
  if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT || (flags & ~std::uint32_t{IBV_ADVISE_MR_FLAG_FLUSH})) return EOPNOTSUPP;
  const auto find = [&](std::uint32_t lkey) -> memory_region* {
    for (memory_region* mr : p.mrs.slots()) {
      if (mr && mr->lkey == lkey) return mr;
    }
    return nullptr;
  };
  for (int i = 0; i < num_sge; ++i) {
    const ibv_sge& s = sg_list[i];
    const memory_region* mr = find(s.lkey);
    if (!mr) return ENOENT;
    if (mr->kind != region_kind::on_demand || mr->pd != pd) return EINVAL;
    if (write && !(mr->access & HCA_ACCESS_LOCAL_WRITE)) return EPERM;
    if (s.addr < mr->iova || s.addr + s.length < s.addr || (s.length != 0 && s.addr + s.length - 1 > last_va(*mr)))
      return EFAULT;
  }
  for (int i = 0; i < num_sge; ++i) {
    const ibv_sge& s = sg_list[i];
    if (s.length == 0) continue;
    p.stats.prefetches += 1;
    if (!(flags & IBV_ADVISE_MR_FLAG_FLUSH)) {
      if (const memory_region* mr = find(s.lkey)) p.device->pages().prefetch(*mr, s.addr, s.length, write);
      continue;
    }
    p.lent->lock(c);
    memory_region* mr = find(s.lkey);
    const std::uint64_t pages = pages_of(s.addr, s.length);
    const std::uint64_t filled = mr ? p.lent->fill(c, *mr, s.addr, pages, write) : 0;
    p.lent->unlock();
    if (filled != pages) return p.device->dead() ? EIO : EFAULT;
  }
  return 0;
}

}  // namespace hcasim::verbs
