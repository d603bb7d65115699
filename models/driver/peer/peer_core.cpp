// From a range that a client has to DMA addresses, and back [F.2, F.3, G1, G6, G8, G9].
#include "models/driver/peer/peer_core.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "firmware/abi/registers.h"
#include "models/driver/device/device.h"
#include "models/driver/objects/page_list.h"
#include "models/driver/peer/client_record.h"

namespace hcasim::driver::peer {
namespace {

constexpr std::uint64_t largest_modern_ticket = 0xffff'fffe;  // the last number says "no invalidation"
constexpr std::uint64_t no_ticket = 0xffff'ffff;
constexpr std::uint64_t largest_page = 1ULL << 40;

// The adapter takes addresses there for its own memory or registers.
bool is_the_adapters(const sg_entry& e, const device& d) {
  const auto touches = [&](std::uint64_t first, std::uint64_t last) {
    return e.dma_address <= last && e.dma_address + (e.length - 1) >= first;
  };
  return touches(HCA_DM_BASE, 2 * HCA_DM_BASE - 1) || touches(d.bar(), d.bar() + (HCA_BAR_SIZE - 1));
}

// Returns the part of the client's pages that the adapter needs: from the host page of the first byte to that of the last.
sg_table trimmed(const umem& u) {
  sg_table t = u.sg;
  const std::uint64_t front = align_down(u.addr, host_page) - align_down(u.addr, u.page);
  const std::uint64_t back = align_up(u.addr + u.length, u.page) - align_up(u.addr + u.length, host_page);
  t.front().dma_address += front;
  t.front().length -= front;
  t.back().length -= back;
  return t;
}

}  // namespace

std::uint64_t peer_core::new_ticket() {
  if (legacy()) return ++last_ticket_;
  do {
    last_ticket_ = last_ticket_ >= largest_modern_ticket ? 1 : last_ticket_ + 1;
  } while (by_ticket_.contains(last_ticket_));
  return last_ticket_;
}

int peer_core::ask(cpu& c, const client_record& candidate, const request& r, void** context) {
  const virtual_memory& mm = *r.process.memory;
  if (!candidate.v1) return candidate.client->acquire(c, mm, r.addr, r.length, context);
  return candidate.v1->acquire(c, mm, r.addr, r.length, r.process.peer_mem_private_data, r.process.peer_mem_name, context);
}

client_record* peer_core::search(cpu& c, umem& u, const request& r, int& error) {
  registry_.lock(c);
  client_record* found = nullptr;
  error = r.pin_error;
  for (std::size_t i = 0; i < clients_.size() && !found; ++i) {
    client_record& candidate = *clients_[i];
    const bool unusable = candidate.needs_invalidation && !config_.peer_invalidation;
    if (candidate.leaving || (unusable && !legacy())) continue;
    tell(c, step::before_acquire, u);
    void* context = nullptr;
    if (ask(c, candidate, r, &context) != 1) continue;
    tell(c, step::acquired, u);
    if (unusable) {
      if (candidate.client->release) candidate.client->release(c, context);
      error = EOPNOTSUPP;
      break;
    }
    found = &candidate;
    ++found->users;
    u.client_context = context;
  }
  registry_.unlock();
  return found;
}

umem* peer_core::get(cpu& c, const request& r, int& error) {
  auto owned = std::make_unique<umem>();
  umem& u = *owned;
  u.addr = r.addr;
  u.length = r.length;
  u.client = search(c, u, r, error);
  if (!u.client) return nullptr;
  umems_.emplace(&u, std::move(owned));
  u.ticket = no_ticket;
  if (u.client->needs_invalidation) {
    u.ticket = new_ticket();
    u.ticketed = true;
    by_ticket_.emplace(u.ticket, &u);
  }
  if (!legacy()) {
    u.mapping.lock(c);
    u.held = true;
  }
  error = map(c, u, r);
  if (error == 0) return &u;
  if (u.held) u.mapping.unlock();
  finish(c, u);
  return nullptr;
}

int peer_core::map(cpu& c, umem& u, const request& r) {
  const peer_memory_client& client = *u.client->client;
  void* const context = u.client_context;
  tell(c, step::before_get_pages, u);
  int error = client.get_pages(c, u.addr, u.length, r.writable, false, u.sg, context, u.ticket);
  if (error != 0) return error;
  tell(c, step::got_pages, u);
  int nmap = 0;
  tell(c, step::before_dma_map, u);
  error = client.dma_map(c, u.sg, context, dma_device_, 0, &nmap);
  if (error == 0) {
    const std::uint64_t page = client.get_page_size ? client.get_page_size(c, context) : host_page;
    u.page = std::has_single_bit(page) && page <= largest_page ? std::max(page, host_page) : 0;
    error = look_at(u, nmap);
    if (error != 0) client.dma_unmap(c, u.sg, context, dma_device_);
  }
  if (error != 0) {
    client.put_pages(c, u.sg, context);
    return error;
  }
  tell(c, step::mapped, u);
  u.dma_mapped = true;
  u.host = trimmed(u);
  u.pages = (align_up(u.addr + u.length, u.page) - align_down(u.addr, u.page)) / u.page;
  ++u.client->num_alloc_mrs;
  u.client->num_reg_pages += u.pages;
  u.client->num_reg_bytes += u.length;
  return 0;
}

// A client's word is not taken: exactly the pages that the range touches, each of them where DMA of others may go.
int peer_core::look_at(const umem& u, int nmap) const {
  if (u.page == 0 || u.sg.empty() || static_cast<std::size_t>(nmap) != u.sg.size()) return EINVAL;
  const std::uint64_t expected = align_up(u.addr + u.length, u.page) - align_down(u.addr, u.page);
  std::uint64_t total = 0;
  for (const sg_entry& e : u.sg) {
    const bool whole = e.length != 0 && e.length % u.page == 0 && e.dma_address % u.page == 0;
    if (!whole || e.dma_address + (e.length - 1) < e.dma_address || is_the_adapters(e, dma_device_)) return EINVAL;
    if (e.length > expected - total) return EINVAL;
    total += e.length;
  }
  return total == expected ? 0 : EINVAL;
}

int peer_core::activate_invalidation_notifier(cpu& c, umem& u, std::function<int(cpu&)> revoke) {
  tell(c, step::before_activate, u);
  if (u.peer_invalidated) return EAGAIN;
  u.revoke = std::move(revoke);
  u.activated = true;
  if (u.held) {
    u.held = false;
    u.mapping.unlock();
  }
  tell(c, step::activated, u);
  return 0;
}

int peer_core::invalidate(cpu& c, void* reg_handle, std::uint64_t ticket) {
  c.sync();
  client_record* const r = registered(reg_handle);
  if (!r) return EINVAL;
  ++r->num_free_callbacks;
  const auto it = by_ticket_.find(ticket);
  if (it == by_ticket_.end() || it->second->client != r) return 0;
  umem& u = *it->second;
  if (u.mapping.held_by(c)) return EDEADLK;
  if (legacy() && !u.activated) {  // [G7]
    u.peer_invalidated = true;
    return 0;
  }
  ++u.callbacks;
  u.mapping.lock(c);
  const int error = revoke_now(c, u);
  u.mapping.unlock();
  if (--u.callbacks == 0) u.idle.wake();
  return error;
}

int peer_core::revoke_now(cpu& c, umem& u) {
  if (!u.dma_mapped || u.invalidated) return 0;
  if (u.revoke) {
    if (const int error = u.revoke(c)) return error;
  }
  if (u.client->unmaps) {  // [G4]
    u.invalidated = true;
    ++u.client->num_dealloc_mrs;
  } else {
    unmap(c, u);
  }
  return 0;
}

// The pages are counted first: the client may clear its table.
void peer_core::unmap(cpu& c, umem& u) {
  if (!u.dma_mapped) return;
  u.dma_mapped = false;
  const peer_memory_client& client = *u.client->client;
  tell(c, step::before_dma_unmap, u);
  client.dma_unmap(c, u.sg, u.client_context, dma_device_);
  tell(c, step::before_put_pages, u);
  client.put_pages(c, u.sg, u.client_context);
  if (!u.invalidated) ++u.client->num_dealloc_mrs;
  u.client->num_dereg_pages += u.pages;
  u.client->num_dereg_bytes += u.length;
}

void peer_core::put(cpu& c, umem& u) {
  tell(c, step::before_stop, u);
  if (!u.held) u.mapping.lock(c);
  u.held = false;
  u.revoke = nullptr;
  unmap(c, u);
  u.mapping.unlock();
  tell(c, step::stopped, u);
  finish(c, u);
}

void peer_core::finish(cpu& c, umem& u) {
  if (u.ticketed) by_ticket_.erase(u.ticket);
  u.idle.sleep_until(c, [&u] { return u.callbacks == 0; });
  tell(c, step::before_release, u);
  client_record& r = *u.client;
  if (r.client->release) r.client->release(c, u.client_context);
  tell(c, step::released, u);
  umems_.erase(&u);
  if (--r.users == 0) r.idle.wake();
}

}  // namespace hcasim::driver::peer
