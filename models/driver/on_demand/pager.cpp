#include "models/driver/on_demand/pager.h"

#include <algorithm>

#include "models/driver/objects/page_list.h"
#include "models/driver/on_demand/lent_pages.h"
#include "models/driver/peer/attachment.h"

namespace hcasim::driver {

void pager::add(memory_region& mr) {
  regions_.set(hca_key_index(mr.key), &mr);
  if (mr.pinned_dma != 0) at_dma_[mr.pinned_dma] = &mr;
}

void pager::remove(memory_region& mr) {
  if (regions_.find(hca_key_index(mr.key)) == &mr) regions_.set(hca_key_index(mr.key), nullptr);
  if (mr.pinned_dma != 0) at_dma_.erase(mr.pinned_dma);
}

void pager::forget() {
  regions_ = {};
  std::erase_if(jobs_, [](const job& j) { return !j.group; });
}

void pager::post(const job& j) {
  jobs_.push_back(j);
  posted_.wake();
  if (!std::exchange(has_thread_, true)) machine_.run("pager", [this](cpu& c) { run(c); });
}

void pager::run(cpu& c) {
  for (;;) {
    posted_.sleep_until(c, [this] { return !jobs_.empty(); });
    c.spend(machine_.config().wake_up_cost);
    while (!jobs_.empty()) {
      const job j = jobs_.front();
      jobs_.pop_front();
      if (j.group) {
        serve_page_request(c, j);
      } else {
        serve(c, j);
      }
    }
  }
}

memory_region* pager::at_dma(std::uint64_t address) const {
  const auto it = at_dma_.upper_bound(address);
  if (it == at_dma_.begin()) return nullptr;
  memory_region* const mr = std::prev(it)->second;
  return address - mr->pinned_dma < pages_of(mr->addr, mr->length) * host_page ? mr : nullptr;
}

// The adapter waits for the answer whatever it is. A region that is gone, a page that is not mapped: refused.
void pager::serve_page_request(cpu& c, const job& j) {
  memory_region* mr = at_dma(j.va);
  device& d = *device_;
  if (!mr) return d.dma().answer_page(c, *j.group, ats_response::invalid_request);
  const ps begin = c.time();
  const std::shared_ptr<lent_pages> pages = of(mr->context).lent;  // the process may end before the lock is there
  pages->lock(c);
  mr = at_dma(j.va);
  std::uint64_t filled = 0;
  if (mr && mr->lent_by == pages.get()) {
    driver_statistics& stats = of(mr->context).stats;
    c.spend(d.config().page_fault);
    ++stats.page_faults;
    const std::uint64_t va = std::max(mr->iova, align_down(mr->iova, host_page) + (j.va - mr->pinned_dma));
    filled = pages->fill(c, *mr, va, d.config().fault_pages, j.write);
    if (filled == 0) ++stats.page_faults_refused;
    stats.page_fault_time.add(c.time() - begin);
  }
  pages->unlock();
  d.dma().answer_page(c, *j.group, filled != 0 ? ats_response::success : ats_response::invalid_request);
}

void pager::serve(cpu& c, const job& j) {
  memory_region* mr = regions_.find(j.index);
  if (!mr) return;
  process& p = of(mr->context);
  if (mr->kind == region_kind::dma_buf) return peer::dma_buf_fault(p, *mr);
  const ps begin = c.time();
  const std::shared_ptr<lent_pages> lent = p.lent;  // the process may end before the lock is there
  lent_pages& pages = *lent;
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
  if (filled == 0 && !j.prefetch && !p.lost) {
    ++p.stats.page_faults_refused;
    const hca_pages range{align_down(j.va, host_page), 1};
    // Reads of a page that is only not to be written have answers of their own.
    const std::uint64_t at = address_of(*mr, j.va);
    const bool read_only = j.write && p.memory->touch(at) != 0 && !p.memory->writable(at);
    (void)insist(c, &p,
                 {.code = HCA_CMD_REFUSE_FAULT, .object = mr->key, .modifier = read_only ? 1U : 0U, .in = in_bytes(range)});
  }
  p.stats.page_fault_time.add(c.time() - begin);
  pages.unlock();
}

}  // namespace hcasim::driver
