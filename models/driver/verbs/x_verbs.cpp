#include "models/driver/verbs/x_verbs.h"

#include <algorithm>

#include "models/driver/device/device.h"
#include "models/driver/objects/address_space.h"
#include "models/driver/objects/pinned_range.h"
#include "models/driver/objects/registration_rules.h"

namespace hcasim::driver {

namespace {

using verbs::x_buffer;
using verbs::x_result;

struct pinned_buffer : x_buffer {
  std::uint64_t dma = 0;  // behind an IOMMU: DMA address of the first byte
};

// The buffers of one call: touching ones joined, pinned, in chunks.
struct pinned_buffers {
  std::vector<pinned_buffer> list;
  std::vector<hca_chunk> chunks;
  std::uint64_t length = 0;
};

int join(std::span<const x_buffer> buffers, std::vector<pinned_buffer>& out) {
  for (const x_buffer& b : buffers) {
    if (b.length == 0 || range_wraps(b.addr, b.length)) return EINVAL;
    if (!out.empty() && out.back().physical == b.physical && out.back().addr + out.back().length == b.addr) {
      out.back().length += b.length;
    } else {
      out.push_back({b, 0});
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool begins = i == 0 || out[i].addr % host_page == 0;
    const bool ends = i + 1 == out.size() || (out[i].addr + out[i].length) % host_page == 0;
    if (!begins || !ends) return EINVAL;
  }
  return out.empty() ? EINVAL : 0;
}

void unpin(cpu& c, process& p, bool physical, std::uint64_t at, std::uint64_t length, std::uint64_t dma) {
  (physical ? unmap_physical : unpin_range)(c, p, at, length, dma);
}

void unpin(cpu& c, process& p, std::span<const pinned_buffer> list) {
  if (!p.device->may_let_go(c, p)) return;
  for (const pinned_buffer& b : list) unpin(c, p, b.physical, b.addr, b.length, b.dma);
}

int pin(cpu& c, process& p, std::span<const x_buffer> buffers, bool writable, pinned_buffers& out) {
  if (const int error = join(buffers, out.list)) return error;
  for (std::size_t i = 0; i < out.list.size(); ++i) {
    pinned_buffer& b = out.list[i];
    const auto take = b.physical ? map_physical : pin_range;
    if (const int error = take(c, p, b.addr, b.length, writable, out.chunks, b.dma)) {
      unpin(c, p, std::span(out.list).first(i));
      return error;
    }
    b.dma += b.addr % host_page;
    out.length += b.length;
  }
  return 0;
}

command_result send(cpu& c, process& p, hca_command_code code, std::uint32_t key, unsigned flags, const hca_region& region,
                    const pinned_buffers& buffers, hca_space& out) {
  return run(c, &p,
             {.code = code,
              .object = key,
              .modifier = flags,
              .in = in_bytes(region),
              .list = std::as_bytes(std::span(buffers.chunks)),
              .out = out_bytes(out)});
}

hca_region region_of(const pinned_buffers& b, std::uint64_t va) {
  hca_region r{};
  r.va = va;
  r.length = b.length;
  r.qpn = HCA_QPN_ANY;
  r.chunks = static_cast<std::uint32_t>(b.chunks.size());
  r.first_offset = b.list.front().addr % host_page;
  return r;
}

// The space may have moved; the new segment lies at `out.added`.
void note_added(address_space& s, const hca_space& out, const pinned_buffers& buffers) {
  if (!s.map.empty()) s.map.shift(out.added == out.start ? out.end - s.map.end() : out.start - s.map.start());
  std::uint64_t va = out.added;
  for (const pinned_buffer& b : buffers.list) {
    s.map.add({va, b.length, b.addr, out.handle, b.dma, b.physical});
    va += b.length;
  }
}

void give(const hca_space& from, address_space& s, x_result* to) {
  s.mr.addr = s.mr.iova = from.start;
  s.mr.length = from.end - from.start;
  if (to) *to = {from.key, from.handle, from.start, from.length, from.end, from.added, from.segments};
}

address_space* find(process& p, std::uint32_t key) {
  for (address_space* s : p.spaces.slots()) {
    if (s && s->key == key) return s;
  }
  return nullptr;
}

void forget(address_space& s) {
  if (s.qp) std::erase(s.qp->spaces, &s);
  --s.pd->users;
  s.owner->spaces.remove(s.handle);
  delete &s;
}

void unpin(cpu& c, process& p, const std::vector<space_map::range>& ranges) {
  for (const auto& r : ranges) unpin(c, p, r.physical, r.host, r.length, r.dma);
}

int remove(cpu& c, process& p, std::uint32_t key, const hca_x_remove& what, unsigned flags, x_result* result) {
  p.device->enter_kernel(c);
  address_space* s = find(p, key);
  if (!s) return ENOENT;
  hca_space out{};
  const command_result r =
      run(c, &p, {.code = HCA_CMD_X_DEREGISTER, .object = key, .modifier = flags, .in = in_bytes(what), .out = out_bytes(out)});
  if (r.error) return r.error;
  const std::vector<space_map::range> left = what.handle ? s->map.remove(what.handle) : s->map.remove(what.va, what.length);
  give(out, *s, result);
  if (out.length == 0) {
    forget(*s);
  } else {
    s->map.shift(out.start - s->map.start());
  }
  unpin(c, p, left);  // waits, and another thread may tear the space down meanwhile
  return 0;
}

}  // namespace

void retired(cpu& c, address_space& s) {
  unpin(c, *s.owner, s.map.remove_all());
  forget(s);
}

namespace {

int teardown(cpu& c, address_space& s) {
  const command_result r = run(c, s.owner, {.code = HCA_CMD_X_TEARDOWN, .object = s.key});
  if (!r.error) retired(c, s);
  return r.error;
}

}  // namespace

int teardown_all(cpu& c, process& p) {
  const std::vector<address_space*> spaces = p.spaces.slots();
  for (address_space* s : spaces) {
    if (!s) continue;
    if (const int error = teardown(c, *s)) return error;
  }
  return 0;
}

}  // namespace hcasim::driver

namespace hcasim::verbs {

using namespace driver;

namespace {

// Returns the flags that the driver sets for every address space, whatever the caller asks.
unsigned space_flags(const driver_config& d) {
  return (d.x_policy == x_space_policy::remap ? X_REMAP : 0U) | (d.x_page_aligned ? X_PAGE_ALIGNED : 0U) |
         (d.x_split ? 0U : X_NO_SPLIT);
}

// Buffers come, and a handle leaves unless it is 0.
int change(cpu& c, process& p, std::uint32_t key, std::uint32_t leaving, std::span<const x_buffer> buffers, x_result* result,
           std::uint64_t va, unsigned flags) {
  p.device->enter_kernel(c);
  address_space* s = find(p, key);
  if (!s) return ENOENT;
  pinned_buffers pinned;
  if (const int error = pin(c, p, buffers, s->mr.pinned_writable, pinned)) return error;
  hca_region region = region_of(pinned, va);
  region.leaving = leaving;
  hca_space out{};
  const command_result r = send(c, p, HCA_CMD_X_REREGISTER, key, flags, region, pinned, out);
  if (r.error) {
    driver::unpin(c, p, pinned.list);
    return r.error;
  }
  const std::vector<space_map::range> left = leaving ? s->map.remove(leaving) : std::vector<space_map::range>{};
  note_added(*s, out, pinned);
  give(out, *s, result);
  driver::unpin(c, p, left);  // waits, and another thread may tear the space down meanwhile
  return 0;
}

}  // namespace

static_assert(unsigned{X_REMAP} == unsigned{HCA_X_REMAP} && unsigned{X_PAGE_ALIGNED} == unsigned{HCA_X_PAGE_ALIGNED} &&
              unsigned{X_NO_SPLIT} == unsigned{HCA_X_NO_SPLIT});

int x_register(cpu& c, ibv_pd* domain, ibv_qp* qp, std::span<const x_buffer> buffers, int access, unsigned flags,
               x_result* result, std::uint64_t va) {
  process& p = of(domain->context);
  p.device->enter_kernel(c);
  const auto wanted = static_cast<std::uint32_t>(access);
  if (qp && qp->pd != domain) return EINVAL;
  if (wanted & HCA_ACCESS_ZERO_BASED) return EINVAL;
  if (const int error = check_access(wanted)) return error;

  auto s = std::make_unique<address_space>();
  s->owner = &p;
  s->pd = static_cast<protection_domain*>(domain);
  s->qp = static_cast<queue_pair*>(qp);
  s->mr.context = domain->context;
  s->mr.pd = domain;
  s->mr.handle = ~0U;  // of no table
  s->mr.kind = region_kind::space;
  s->mr.access = known_access(wanted) & ~static_cast<std::uint32_t>(HCA_ACCESS_HUGETLB);
  s->mr.pinned_writable = needs_writable(wanted);
  pinned_buffers pinned;
  if (const int error = pin(c, p, buffers, s->mr.pinned_writable, pinned)) return error;
  ++s->pd->users;
  hca_region region = region_of(pinned, va);
  region.access = s->mr.access;
  region.pd = s->pd->number;
  if (qp) region.qpn = qp->qp_num;
  hca_space out{};
  const command_result r = send(c, p, HCA_CMD_X_REGISTER, 0, flags | space_flags(p.device->config()), region, pinned, out);
  if (r.error) {
    --s->pd->users;
    driver::unpin(c, p, pinned.list);
    return r.error;
  }
  s->key = s->mr.key = s->mr.lkey = s->mr.rkey = out.key;
  note_added(*s, out, pinned);
  address_space* made = s.release();
  made->handle = p.spaces.add(made);
  if (qp) made->qp->spaces.push_back(made);
  give(out, *made, result);
  return 0;
}

int x_reregister_add(cpu& c, ibv_context* context, std::uint32_t key, std::span<const x_buffer> buffers, x_result* result,
                     std::uint64_t va, unsigned flags) {
  return change(c, of(context), key, 0, buffers, result, va, flags);
}

int x_exchange(cpu& c, ibv_context* context, std::uint32_t key, std::uint32_t leaving, std::span<const x_buffer> buffers,
               x_result* result, std::uint64_t va, unsigned flags) {
  if (leaving == 0) return ENOENT;
  return change(c, of(context), key, leaving, buffers, result, va, flags);
}

int x_deregister_part(cpu& c, ibv_context* context, std::uint32_t key, std::uint32_t handle, x_result* result, unsigned flags) {
  if (handle == 0) return ENOENT;
  return driver::remove(c, of(context), key, {handle, 0, 0, 0}, flags, result);
}

int x_deregister_part(cpu& c, ibv_context* context, std::uint32_t key, std::uint64_t va, std::uint64_t length, x_result* result,
                      unsigned flags) {
  return driver::remove(c, of(context), key, {0, 0, va, length}, flags, result);
}

ibv_mr* x_mr(ibv_context* context, std::uint32_t key) {
  address_space* s = find(of(context), key);
  return s ? &s->mr : refuse(ENOENT);
}

int x_teardown(cpu& c, ibv_context* context, std::uint32_t key) {
  process& p = of(context);
  p.device->enter_kernel(c);
  address_space* s = find(p, key);
  return s ? teardown(c, *s) : ENOENT;
}

}  // namespace hcasim::verbs
