#include "firmware/control/fake_hal.h"

#include <algorithm>

void hal::read(std::uint64_t address, void* to, std::size_t bytes) const {
  auto* out = static_cast<std::byte*>(to);
  while (bytes != 0) {
    const std::uint64_t offset = address % 4096;
    const std::size_t n = std::min<std::size_t>(bytes, 4096 - offset);
    const auto it = pages_.find(address / 4096);
    if (it == pages_.end()) {
      std::memset(out, 0, n);
    } else {
      std::memcpy(out, it->second->data() + offset, n);
    }
    address += n;
    out += n;
    bytes -= n;
  }
}

void hal::write(std::uint64_t address, const void* from, std::size_t bytes) {
  const auto* in = static_cast<const std::byte*>(from);
  while (bytes != 0) {
    const std::uint64_t offset = address % 4096;
    const std::size_t n = std::min<std::size_t>(bytes, 4096 - offset);
    auto& p = pages_[address / 4096];
    if (!p) p = std::make_unique<page>();
    std::memcpy(p->data() + offset, in, n);
    address += n;
    in += n;
    bytes -= n;
  }
}

void hal::note(call c) {
  if (logging) log.push_back(c);
  if (observer) observer(c);
}

bool hal::any_taken() const {
  return std::any_of(taken.begin(), taken.end(), [](const auto& t) { return t.second != 0; });
}

void hal::check_taken(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t base = area_base[HAL_CACHE_QPC];
  const std::uint64_t size = area_entries[HAL_CACHE_QPC] * sizeof(hca_qpc);
  if (size == 0 || address + bytes <= base || address >= base + size) return;
  if (taken[static_cast<std::uint32_t>((address - base) / sizeof(hca_qpc))] == 0) ++untaken;
}

int hal::dma(bool write_access, std::uint64_t address, std::uint64_t bytes) {
  const std::int64_t n = dma_calls++;
  note({write_access ? op::write : op::read, address, bytes});
  if (fail_at >= 0 && (n == fail_at || (fail_on && n > fail_at))) return -1;
  if (address + bytes < address) return -1;
  return hole_bytes != 0 && address < hole + hole_bytes && hole < address + bytes ? -1 : 0;
}

extern "C" {

int hal_dma_read(struct hal* h, uint64_t address, void* to, uint32_t bytes) {
  if (h->dma(false, address, bytes) != 0) return -1;
  h->read(address, to, bytes);
  return 0;
}

int hal_dma_write(struct hal* h, uint64_t address, const void* from, uint32_t bytes) {
  h->check_taken(address, bytes);
  if (h->dma(true, address, bytes) != 0) return -1;
  h->write(address, from, bytes);
  return 0;
}

void hal_dma_fence(struct hal* h) {
  h->note({hal::op::fence});
}

void hal_cache_drop(struct hal* h, enum hal_cache cache, uint32_t index) {
  if (cache == HAL_CACHE_CQC && h->taken_cqs[index] != 0) ++h->untaken;  // a drop would wait for the give
  h->note({hal::op::drop, cache, index});
}

void hal_qpc_take(struct hal* h, uint32_t qpn) {
  ++h->taken[qpn];
  h->note({hal::op::take, qpn});
}

void hal_qpc_give(struct hal* h, uint32_t qpn) {
  --h->taken[qpn];
  h->note({hal::op::give, qpn});
}

void hal_cqc_take(struct hal* h, uint32_t cqn) {
  ++h->taken_cqs[cqn];
  h->note({hal::op::take_cq, cqn});
}

void hal_cqc_give(struct hal* h, uint32_t cqn) {
  --h->taken_cqs[cqn];
  h->note({hal::op::give_cq, cqn});
}

void hal_translation_drop(struct hal* h, uint32_t tag, uint64_t first, uint64_t last) {
  h->note({hal::op::translation_drop, tag, first, last});
}

void hal_key_drain(struct hal* h, uint32_t index) {
  if (h->any_taken()) ++h->untaken;
  h->note({hal::op::drain, index});
}

void hal_key_lock(struct hal* h, uint32_t index) {
  ++h->locks[index];
  h->note({hal::op::lock, index});
}

void hal_key_unlock(struct hal* h, uint32_t index) {
  --h->locks[index];
  h->note({hal::op::unlock, index});
}

void hal_window_close(struct hal* h, uint32_t index) {
  h->note({hal::op::close, index});
}

// The window's entry in memory is changed at once, as the data path would.
void hal_window_unbind(struct hal* h, uint32_t index, uint32_t region) {
  if (h->unbind) h->unbind(index, region);
  h->note({hal::op::unbind, index, region});
}

void hal_set_area(struct hal* h, enum hal_cache cache, uint64_t base, uint64_t entries) {
  h->area_base.at(cache) = base;
  h->area_entries.at(cache) = entries;
  h->note({hal::op::area, cache, base, entries});
}

void hal_set_map(struct hal* h, uint64_t base) {
  h->map_base = base;
}

void hal_set_tables(struct hal* h, uint64_t base, uint64_t bytes) {
  h->table_base = base;
  h->table_bytes = bytes;
}

void hal_qp_control(struct hal* h, uint32_t qpn, enum hal_qp_op op) {
  if (h->any_taken()) ++h->untaken;
  h->note({hal::op::qp, qpn, static_cast<std::uint64_t>(op)});
}

void hal_qp_start(struct hal* h, uint32_t qpn, uint32_t uar, bool shared) {
  h->pages_of_bells[qpn] = uar;
  if (h->any_taken()) ++h->untaken;
  h->note({hal::op::start, qpn, uar, shared ? 1U : 0U});
}

void hal_cq_page(struct hal* h, uint32_t cqn, uint32_t uar) {
  h->pages_of_cqs[cqn] = uar;
}

void hal_group(struct hal* h, uint32_t hash, uint32_t first) {
  h->groups[hash] = first;
  if (h->any_taken()) ++h->untaken;
  h->note({hal::op::group, hash, first});
}

void hal_group_lid(struct hal* h, uint32_t port, uint32_t lid, bool joins) {
  h->lids[port << 16 | lid] += joins ? 1 : -1;
  h->note({hal::op::lid, port << 16 | lid, joins ? 1U : 0U});
}

void hal_set_eq(struct hal* h, uint32_t eqn, const struct hca_eqc* eqc) {
  if (eqc != nullptr) {
    h->eqs[eqn] = *eqc;
  } else {
    h->eqs.erase(eqn);
  }
  h->note({hal::op::eq, eqn, eqc != nullptr ? 1U : 0U});
}

void hal_event(struct hal* h, uint32_t type, uint32_t number) {
  h->events.emplace_back(type, number);
  h->note({hal::op::event, type, number});
}

void hal_pages(struct hal* h, uint32_t index, uint64_t first, uint64_t last, enum hal_pages outcome) {
  h->pages.push_back(outcome);
  h->note({hal::op::pages, index, first, last});
}

void hal_work(struct hal* h, enum hal_work kind, uint32_t items) {
  h->work.at(kind) += items;
}
}
