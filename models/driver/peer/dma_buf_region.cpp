// Regions over dma-bufs: ibv_reg_dmabuf_mr [F.7, B3.7, B4.4].
#include "models/driver/device/device.h"
#include "models/driver/objects/page_list.h"
#include "models/driver/objects/registration_rules.h"
#include "models/driver/peer/attachment.h"
#include "models/driver/peer/dma_buf.h"

namespace hcasim::driver::peer {
namespace {

constexpr std::uint32_t allowed = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ |
                                  HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_RELAXED_ORDERING;

}  // namespace

// Every function is called with the reservation lock held.
struct dma_buf_attachment final : attachment, dma_buf::importer, std::enable_shared_from_this<dma_buf_attachment> {
  dma_buf_attachment(process& owner, std::shared_ptr<dma_buf> b, const hca_region& r)
      : p(owner),
        buffer(std::move(b)),
        region(r),
        mode(owner.device->config().dma_buf),
        faults(mode == dma_buf_mode::dynamic && owner.device->on_demand()) {}

  [[nodiscard]] bool may_move() const override { return mode == dma_buf_mode::dynamic; }
  [[nodiscard]] bool may_revoke() const override { return mode != dma_buf_mode::pinned; }

  // The chunks of the region, once the memory may be accessed.
  int map(cpu& c, std::vector<hca_chunk>& chunks) {
    if (const int error = buffer->map_attachment(c, sg)) return error;
    buffer->wait_for_fences(c);
    int error = enter_iommu(c);
    if (error == 0) error = cut(chunks);
    if (error != 0) {
      let_go(c);
      return error;
    }
    mapped = true;
    return 0;
  }
  void let_go(cpu& c) {
    if (!in_iommu.empty()) p.device->dma().unmap(c, std::exchange(in_iommu, {}));
    buffer->unmap_attachment(c, sg);
  }

  // Gives host memory behind an IOMMU addresses that the adapter may use; those of other devices are the bus's own.
  int enter_iommu(cpu& c) {
    dma_map& dma = p.device->dma();
    if (!dma.translated()) return 0;
    for (sg_entry& e : sg) {
      if (e.dma_address >> 48 != 0 || e.length == 0) continue;
      if (e.dma_address % host_page != 0 || e.length % host_page != 0) return EINVAL;
      const virtual_memory::frame_run frames{e.dma_address, e.length};
      const std::uint64_t address = dma.map(c, std::span(&frames, 1), (region.access & HCA_ACCESS_LOCAL_WRITE) != 0);
      if (address == 0) return ENOMEM;
      in_iommu.push_back({address, e.length});
      e.dma_address = address;
    }
    return 0;
  }

  // Host pages [offset, offset + length) of the buffer touches.
  int cut(std::vector<hca_chunk>& chunks) const {
    std::uint64_t skip = align_down(offset, host_page);
    std::uint64_t left = align_up(offset + region.length, host_page) - skip;
    std::vector<virtual_memory::frame_run> runs;
    for (const sg_entry& e : sg) {
      if (e.dma_address % host_page != 0 || e.length % host_page != 0 || e.dma_address + e.length < e.length) return EINVAL;
      if (skip >= e.length) {
        skip -= e.length;
        continue;
      }
      const std::uint64_t n = std::min(left, e.length - skip);
      if (n != 0) runs.push_back({e.dma_address + skip, n});
      skip = 0;
      left -= n;
    }
    if (left != 0) return EINVAL;
    append_chunks(runs, align_down(p.device->config().max_segment, host_page), chunks);
    return 0;
  }

  int take_away(cpu& c) {
    if (!mapped) return 0;
    if (const int error = faults ? zap(c) : revoke_key(c, p, *this)) return error;
    let_go(c);
    mapped = false;
    return 0;
  }

  int invalidate_mappings(cpu& c) override {
    if (!mapped) return 0;  // twice, or before it was mapped
    if (const int error = take_away(c)) return error;
    if (!faults) work(c.machine());  // otherwise the next access asks for it
    return 0;
  }
  void work(host& machine) {
    if (std::exchange(working, true)) return;
    machine.run("dma_buf_map", [self = shared_from_this()](cpu& worker) { self->come_back(worker); });
  }

  int revoke(cpu& c) override {
    const bool held = mapped;
    if (const int error = take_away(c)) return error;
    if (held && mode == dma_buf_mode::revocable) buffer->unpin_attachment(c);
    return 0;
  }

  // In a thread of its own, after a move or a page fault: waits for the exporter, and gives the key its memory again.
  void come_back(cpu& c) {
    const std::shared_ptr<dma_buf> alive = buffer;
    alive->reservation().lock(c);
    working = false;
    std::vector<hca_chunk> chunks;
    int error = gone || buffer->revoked() ? EINVAL : 0;
    if (error == 0 && !mapped) error = map(c, chunks);
    if (faults) {
      error == 0 ? fill(c) : refuse(c);
    } else if (error == 0 && !chunks.empty()) {
      restore(c, chunks);
    }
    alive->reservation().unlock();
  }

  // A command about the region's pages, if the key is still its own. Left undone, `must` costs the device.
  enum class urgency : std::uint8_t { may_fail, must };
  int about_pages(cpu& c, urgency how, const command& what) {
    changing.lock(c);
    command_result r;
    if (!gone) r = how == urgency::must ? insist(c, &p, what) : run(c, &p, what);
    changing.unlock();
    return r.error;
  }
  [[nodiscard]] hca_pages all_pages() const { return {align_down(region.va, host_page), pages_of(region.va, region.length)}; }
  int zap(cpu& c) {
    const hca_pages all = all_pages();
    return about_pages(c, urgency::must, {.code = HCA_CMD_ZAP_PAGES, .object = key, .in = in_bytes(all)});
  }
  void refuse(cpu& c) {
    const hca_pages all = all_pages();
    about_pages(c, urgency::must, {.code = HCA_CMD_REFUSE_FAULT, .object = key, .in = in_bytes(all)});
  }
  // Every page at once: a buffer comes back as a whole.
  void fill(cpu& c) {
    std::vector<hca_chunk> chunks;
    if (cut(chunks) != 0) return refuse(c);
    std::vector<hca_pte> entries;
    hca_pages range{align_down(region.va, host_page), 0};
    const auto send = [&] {
      range.count = entries.size();
      if (range.count == 0) return;
      about_pages(
          c, urgency::may_fail,
          {.code = HCA_CMD_FILL_PAGES, .object = key, .in = in_bytes(range), .list = std::as_bytes(std::span(entries))});
      range.va += range.count * host_page;
      entries.clear();
    };
    for (const hca_chunk& chunk : chunks) {
      for (std::uint64_t at = 0; at < chunk.length; at += host_page) {
        entries.push_back((chunk.address + at) | HCA_PTE_PRESENT);
        if (entries.size() == HCA_FILL_PAGES) send();
      }
    }
    send();
  }

  void restore(cpu& c, const std::vector<hca_chunk>& chunks) {
    changing.lock(c);
    int error = 0;
    if (!gone) {
      hca_region r = region;
      r.chunks = static_cast<std::uint32_t>(chunks.size());
      error = run(c, &p, {.code = HCA_CMD_RESTORE, .object = key, .in = in_bytes(r), .list = std::as_bytes(std::span(chunks))})
                  .error;
    }
    changing.unlock();
    if (error == 0) return;
    let_go(c);
    mapped = false;
  }

  process& p;
  std::shared_ptr<dma_buf> buffer;
  hca_region region;
  std::uint64_t offset = 0;
  dma_buf_mode mode;
  bool faults;  // accesses to what is not there wait for it; otherwise they are denied
  sg_table sg;
  std::vector<dma_map::range> in_iommu;  // what of it was mapped for the adapter
  bool mapped = false;
  bool working = false;
};

void detach_dma_buf(cpu& c, memory_region& mr) {
  auto& a = static_cast<dma_buf_attachment&>(*mr.peer);
  dma_buf& b = *a.buffer;
  if (a.p.device->on_demand()) a.p.device->pages().remove(mr);
  b.reservation().lock(c);
  if (a.mapped) {
    a.let_go(c);
    a.mapped = false;
    if (a.mode != dma_buf_mode::dynamic) b.unpin_attachment(c);
  }
  b.detach(a);
  b.reservation().unlock();
}

void dma_buf_fault(process& p, memory_region& mr) {
  ++p.stats.page_faults;
  static_cast<dma_buf_attachment&>(*mr.peer).work(p.device->machine());
}

namespace {

// The checks that need no hardware.
int check(const std::shared_ptr<dma_buf>& b, std::uint64_t offset, std::uint64_t length, std::uint64_t iova,
          std::uint32_t access) {
  if (!b) return EBADF;
  if (length == 0 || offset + length < offset || offset + length > b->size()) return EINVAL;
  if (!congruent(offset, iova) || range_wraps(iova, length)) return EINVAL;
  if (known_access(access) & ~allowed) return EINVAL;
  return check_access(access);
}

int import(cpu& c, process& p, const std::shared_ptr<dma_buf>& b, memory_region& mr, std::uint32_t pd) {
  hca_region r{};
  r.va = mr.iova;
  r.length = mr.length;
  r.access = mr.access;
  r.pd = pd;
  r.qpn = HCA_QPN_ANY;
  r.first_offset = mr.addr & (host_page - 1);
  auto a = std::make_shared<dma_buf_attachment>(p, b, r);
  a->offset = mr.addr;
  const bool pins = a->mode != dma_buf_mode::dynamic;
  if (pins) {
    if (const int error = b->pin_attachment(c)) return error;
  }
  std::vector<hca_chunk> chunks;
  int error = a->map(c, chunks);
  if (error == 0) {
    r.chunks = static_cast<std::uint32_t>(chunks.size());
    if (a->faults) {
      r.access |= HCA_ACCESS_ON_DEMAND;
      r.chunks = 0;
      chunks.clear();
    }
    const command_result result =
        run(c, &p, {.code = HCA_CMD_REGISTER, .in = in_bytes(r), .list = std::as_bytes(std::span(chunks))});
    error = result.error;
    a->key = mr.key = mr.lkey = result.value;
    mr.rkey = shown_rkey(result.value, mr.access, p.device->config().rkey_zero_without_remote_rights);
    if (error != 0) a->let_go(c);
  }
  if (error != 0) {
    if (pins) b->unpin_attachment(c);
    return error;
  }
  if (a->faults) a->fill(c);
  b->attach(*a);
  mr.peer = std::move(a);
  return 0;
}

}  // namespace
}  // namespace hcasim::driver::peer

namespace hcasim::verbs {

using namespace driver;

int hcax_install_dma_buf(ibv_context* context, std::shared_ptr<peer::dma_buf> buffer) {
  process& p = of(context);
  for (std::size_t i = 0; i < p.dma_bufs.size(); ++i) {
    if (!p.dma_bufs[i]) {
      p.dma_bufs[i] = std::move(buffer);
      return static_cast<int>(i);
    }
  }
  p.dma_bufs.push_back(std::move(buffer));
  return static_cast<int>(p.dma_bufs.size() - 1);
}

int hcax_close_dma_buf(ibv_context* context, int fd) {
  process& p = of(context);
  if (fd < 0 || static_cast<std::size_t>(fd) >= p.dma_bufs.size() || !p.dma_bufs[static_cast<std::size_t>(fd)]) return EBADF;
  p.dma_bufs[static_cast<std::size_t>(fd)] = nullptr;
  return 0;
}

ibv_mr* ibv_reg_dmabuf_mr(cpu& c, ibv_pd* domain, std::uint64_t offset, std::uint64_t length, std::uint64_t iova, int fd,
                          int access) {
  auto& pd = static_cast<protection_domain&>(*domain);
  process& p = of(pd.context);
  p.device->enter_kernel(c);
  const bool open = fd >= 0 && static_cast<std::size_t>(fd) < p.dma_bufs.size();
  const std::shared_ptr<peer::dma_buf> b = open ? p.dma_bufs[static_cast<std::size_t>(fd)] : nullptr;
  auto mr = std::make_unique<memory_region>();
  mr->kind = region_kind::dma_buf;
  mr->addr = offset;
  mr->length = length;
  mr->iova = iova;
  mr->access = known_access(static_cast<std::uint32_t>(access));
  int error = peer::check(b, offset, length, iova, static_cast<std::uint32_t>(access));
  if (error == 0) {
    b->reservation().lock(c);
    error = peer::import(c, p, b, *mr, pd.number);
    b->reservation().unlock();
  }
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  ++pd.users;
  mr->context = pd.context;
  mr->pd = domain;
  mr->handle = p.mrs.add(mr.get());
  if (p.device->on_demand()) p.device->pages().add(*mr);
  return mr.release();
}

}  // namespace hcasim::verbs
