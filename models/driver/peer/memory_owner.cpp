#include "models/driver/peer/memory_owner.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "models/driver/device/access.h"

namespace hcasim::driver::peer {
namespace {

// VAs of peer memory lie apart from those of host memory, and those of several devices apart from each other.
constexpr std::uint64_t first_va(std::uint64_t bar) {
  return 0x6000'0000'0000 + (bar >> 44 & 0xf) * 0x0100'0000'0000;
}
constexpr std::uint64_t va_alignment = 2_MiB;

}  // namespace

// One registration's hold on an allocation: the client context.
struct pin {
  std::shared_ptr<void> allocation_alive;
  std::vector<pin*>* list = nullptr;
  const std::vector<page_pool::run>* runs = nullptr;
  const bool* dying = nullptr;
  std::uint64_t first = 0;  // of its pages, in the allocation
  std::uint64_t bytes = 0;
  std::uint64_t ticket = 0;
  bool pinned = false;
};

memory_owner::memory_owner(host& machine, std::uint64_t bar, const std::string& name, const owner_options& options)
    : machine_(machine), bar_(bar), name_(name), options_(options), next_va_(first_va(bar)) {
  make_client();
}

memory_owner::~memory_owner() = default;

int memory_owner::open(cpu& c) {
  const std::uint64_t registers = bar_ + PEER_BAR_REGISTERS;
  if (read_register<std::uint32_t>(c, registers + PEER_REG_ID) != PEER_DEVICE_ID) return ENODEV;
  const auto shift = read_register<std::uint32_t>(c, registers + PEER_REG_PAGE_SHIFT);
  pool_.emplace(read_register<std::uint64_t>(c, registers + PEER_REG_MEMORY), std::uint64_t{1} << shift);
  fence_ = machine_.reserve_physical(64, 64);
  return fence_ ? 0 : ENODEV;
}

bool memory_owner::join(peer_core& core) {
  handle_ = core.ib_register_peer_memory_client(&client_, options_.invalidates ? &invalidate_ : nullptr);
  core_ = handle_ ? &core : nullptr;
  return handle_ != nullptr;
}

void memory_owner::leave(cpu& c) {
  if (!core_) return;
  core_->ib_unregister_peer_memory_client(c, handle_);
  core_ = nullptr;
  handle_ = nullptr;
}

// ---- memory

std::uint64_t memory_owner::allocate(cpu& c, const virtual_memory& mm, std::uint64_t bytes, placement how) {
  c.system_call();
  c.spend(options_.allocate_call);
  c.sync();
  if (!pool_) return 0;
  auto a = std::make_shared<allocation>();
  a->runs = pool_->take(bytes, how);
  if (a->runs.empty()) return 0;
  a->va = next_va_;
  a->bytes = align_up(bytes, pool_->page());
  a->mm = &mm;
  next_va_ += align_up(a->bytes, va_alignment) + va_alignment;
  by_va_.emplace(a->va, a);
  return a->va;
}

const memory_owner::allocation* memory_owner::find(std::uint64_t va) const {
  auto it = by_va_.upper_bound(va);
  if (it == by_va_.begin()) return nullptr;
  const allocation& a = *std::prev(it)->second;
  return va - a.va < a.bytes ? &a : nullptr;
}

std::optional<page_pool::run> memory_owner::place(std::uint64_t va) const {
  const allocation* const a = find(va);
  if (!a) return std::nullopt;
  std::uint64_t left = va - a->va;
  for (const page_pool::run& r : a->runs) {
    if (left < r.bytes) return page_pool::run{r.offset + left, r.bytes - left};
    left -= r.bytes;
  }
  return std::nullopt;
}

int memory_owner::free(cpu& c, std::uint64_t va) {
  c.system_call();
  c.spend(options_.allocate_call);
  c.sync();
  const auto it = by_va_.find(va);
  if (it == by_va_.end() || it->second->dying) return EINVAL;
  const std::shared_ptr<allocation> a = it->second;
  if (!options_.invalidates && std::any_of(a->pins.begin(), a->pins.end(), [](const pin* p) { return p->pinned; }))
    return EBUSY;
  a->dying = true;
  // A registration may end, and another one fail, while this one is invalidated: look again from the start.
  for (;;) {
    const auto next = std::find_if(a->pins.begin(), a->pins.end(), [](const pin* p) { return p->pinned; });
    if (next == a->pins.end()) break;
    pin* const p = *next;
    const std::uint64_t ticket = p->ticket;
    const ps begin = c.time();
    const int error = invalidate_(c, handle_, ticket);
    c.sync();
    callback_time_.add(c.time() - begin);
    if (error != 0) {
      a->dying = false;
      return error;
    }
    const auto same = std::find_if(a->pins.begin(), a->pins.end(), [ticket](const pin* q) { return q->ticket == ticket; });
    if (same == a->pins.end() || !(*same)->pinned) continue;
    if (options_.unmaps) {
      put_pages(**same);
    } else {
      // Legacy: its registration is not over yet, and will fail.
      unpinned_.sleep_until(c, [&] {
        return std::none_of(a->pins.begin(), a->pins.end(),
                            [ticket](const pin* q) { return q->ticket == ticket && q->pinned; });
      });
    }
  }
  by_va_.erase(va);
  pool_->give(a->runs);
  return 0;
}

// ---- copies

std::uint32_t memory_owner::start_copy(cpu& c, bool to_host, std::uint64_t va, std::uint64_t physical, std::uint64_t bytes) {
  c.spend(options_.copy_call);
  std::vector<page_pool::run> pieces;
  for (std::uint64_t done = 0; done < bytes;) {
    auto piece = place(va + done);
    if (!piece) return 0;
    piece->bytes = std::min(piece->bytes, bytes - done);
    pieces.push_back(*piece);
    done += piece->bytes;
  }
  if (pieces.empty()) return 0;
  ++copies_started_;
  if (fence_watch_ == 0) fence_watch_ = c.watch(fence_, sizeof(std::uint32_t)) + 1;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool last = i + 1 == pieces.size();
    const peer_copy d{pieces[i].offset,
                      physical,
                      pieces[i].bytes,
                      last ? fence_ : 0,
                      copies_started_,
                      to_host ? static_cast<std::uint32_t>(PEER_COPY_TO_HOST) : 0U,
                      {}};
    c.combined_write(bar_ + PEER_BAR_REGISTERS + PEER_REG_COPY, std::as_bytes(std::span(&d, 1)));
    physical += pieces[i].bytes;
  }
  return copies_started_;
}

bool memory_owner::wait_copy(cpu& c, std::uint32_t number) {
  for (;;) {
    const auto word = load<std::uint32_t>(c, fence_);
    copies_ended_ = word & ~PEER_COPY_FAILED;
    if (copies_ended_ >= number) return (word & PEER_COPY_FAILED) == 0;
    c.wait_write(fence_watch_ - 1);
  }
}

// ---- the client's callbacks

void memory_owner::make_client() {
  std::strncpy(client_.name, name_.c_str(), IB_PEER_MEMORY_NAME_MAX - 1);
  std::strncpy(client_.version, options_.version.c_str(), IB_PEER_MEMORY_VER_MAX - 1);
  if (options_.unmaps) {
    client_.version[IB_PEER_MEMORY_VER_MAX - 1] = 1;
    client_.flags = PEER_MEM_INVALIDATE_UNMAPS;
  }
  client_.acquire = [this](cpu& c, const virtual_memory& mm, std::uint64_t addr, std::uint64_t size, void** context) {
    said(c, "acquire");
    return acquire(mm, addr, size, context);
  };
  client_.get_pages = [this](cpu& c, std::uint64_t, std::uint64_t, bool, bool, sg_table&, void* context, std::uint64_t ticket) {
    said(c, "get_pages");
    return get_pages(c, *static_cast<pin*>(context), ticket);
  };
  client_.dma_map = [this](cpu& c, sg_table& sg, void* context, const device&, int, int* nmap) {
    said(c, "dma_map");
    return dma_map(*static_cast<pin*>(context), sg, nmap);
  };
  client_.dma_unmap = [this](cpu& c, sg_table& sg, void*, const device&) {
    said(c, "dma_unmap");
    sg.clear();
    return 0;
  };
  client_.put_pages = [this](cpu& c, sg_table&, void* context) {
    said(c, "put_pages");
    put_pages(*static_cast<pin*>(context));
  };
  client_.get_page_size = [this](cpu&, void*) { return pool_->page(); };
  client_.release = [this](cpu& c, void* context) {
    said(c, "release");
    release(*static_cast<pin*>(context));
  };
}

int memory_owner::acquire(const virtual_memory& mm, std::uint64_t addr, std::uint64_t size, void** context) {
  const allocation* const a = find(addr);
  if (!a || a->mm != &mm || a->dying || size > a->bytes - (addr - a->va)) return 0;
  const std::shared_ptr<allocation> alive = by_va_.at(a->va);
  auto p = std::make_unique<pin>();
  p->allocation_alive = alive;
  p->list = &alive->pins;
  p->runs = &alive->runs;
  p->dying = &alive->dying;
  p->first = align_down(addr - a->va, pool_->page());
  p->bytes = align_up(addr - a->va + size, pool_->page()) - p->first;
  alive->pins.push_back(p.get());
  *context = p.get();
  contexts_.push_back(std::move(p));
  return 1;
}

int memory_owner::get_pages(cpu& c, pin& p, std::uint64_t ticket) {
  c.spend(options_.page_cost * static_cast<std::int64_t>(p.bytes / pool_->page()));
  c.sync();
  if (*p.dying) return EFAULT;
  p.ticket = ticket;
  p.pinned = true;
  ++pinned_;
  return 0;
}

int memory_owner::dma_map(pin& p, sg_table& sg, int* nmap) const {
  sg.clear();
  std::uint64_t skip = p.first;
  std::uint64_t left = p.bytes;
  for (const page_pool::run& r : *p.runs) {
    if (left == 0) break;
    if (skip >= r.bytes) {
      skip -= r.bytes;
      continue;
    }
    const std::uint64_t n = std::min(left, r.bytes - skip);
    sg.push_back({bar_ + r.offset + skip, n});
    skip = 0;
    left -= n;
  }
  *nmap = static_cast<int>(sg.size());
  return 0;
}

// Called again by the core after the client did it itself: nothing to do.
void memory_owner::put_pages(pin& p) {
  if (!p.pinned) return;
  p.pinned = false;
  --pinned_;
  unpinned_.wake();
}

void memory_owner::release(pin& p) {
  std::erase(*p.list, &p);
  std::erase_if(contexts_, [&p](const auto& q) { return q.get() == &p; });
}

}  // namespace hcasim::driver::peer
