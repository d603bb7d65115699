// Regions that are not user memory registered by a command: null, fast-register, physical, indirect [A5, B.2, B3.5, E6, E7].
#include "models/driver/device/access.h"
#include "models/driver/device/device.h"
#include "models/driver/objects/pinned_range.h"
#include "models/driver/objects/registration_rules.h"
#include "models/driver/verbs/verbs_observer.h"

namespace hcasim::driver {

int retire_null_regions(cpu& c, protection_domain& pd) {
  process& p = of(pd.context);
  for (std::size_t i = 0; i < p.mrs.slots().size(); ++i) {  // others may register meanwhile
    memory_region* const mr = p.mrs.slots()[i];
    if (!mr || mr->kind != region_kind::null || mr->revoked || mr->pd != &pd) continue;
    if (const int error = run(c, &p, {.code = HCA_CMD_DEREGISTER, .object = mr->key}).error) return error;
    mr->revoked = true;
  }
  return 0;
}

}  // namespace hcasim::driver

namespace hcasim::verbs {

using namespace driver;

namespace {

// Makes the handle of a key that the command has made.
ibv_mr* adopt(ibv_pd* domain, std::unique_ptr<memory_region> mr, const command_result& r) {
  if (r.error) {
    errno = r.error;
    return nullptr;
  }
  auto& pd = static_cast<protection_domain&>(*domain);
  process& p = of(pd.context);
  if (mr->kind != region_kind::null) ++pd.users;
  mr->context = pd.context;
  mr->pd = domain;
  mr->key = mr->lkey = mr->rkey = r.value;
  mr->handle = p.mrs.add(mr.get());
  return mr.release();
}

ibv_mr* allocate(cpu& c, ibv_pd* domain, region_kind kind, hca_command_code code, std::uint32_t modifier) {
  auto& pd = static_cast<protection_domain&>(*domain);
  device& d = *pd.context->device;
  d.enter_kernel(c);
  auto mr = std::make_unique<memory_region>();
  mr->kind = kind;
  mr->length = ~std::uint64_t{0};
  return adopt(domain, std::move(mr), run(c, pd.context, {.code = code, .object = pd.number, .modifier = modifier}));
}

}  // namespace

ibv_mr* ibv_alloc_null_mr(cpu& c, ibv_pd* pd) {
  const null_region_use use = pd->context->device->config().null_mr;
  if (use == null_region_use::none) return refuse(EOPNOTSUPP);
  const std::uint32_t of_peers = use == null_region_use::remote ? HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ : 0;
  return allocate(c, pd, region_kind::null, HCA_CMD_ALLOC_NULL, of_peers);
}

ibv_mr* hcax_alloc_physical_mr(cpu& c, ibv_pd* pd, int access) {
  const int error = check_access(static_cast<std::uint32_t>(access));
  if (error) return refuse(error);
  return allocate(c, pd, region_kind::physical, HCA_CMD_ALLOC_PHYSICAL, static_cast<std::uint32_t>(access));
}

int hcax_reserved_lkey(ibv_context* context, std::uint32_t* lkey) {
  *lkey = context->device->reserved_lkey();
  return *lkey != 0 ? 0 : EOPNOTSUPP;
}

ibv_mr* hcax_alloc_fast_mr(cpu& c, ibv_pd* pd, unsigned max_pages) {
  process& p = of(pd->context);
  auto list = std::make_shared<queue_buffer>();
  if (const int error = list->allocate(c, p, host_page, page_policy::scattered)) return refuse(error);
  ibv_mr* handle = allocate(c, pd, region_kind::fast, HCA_CMD_ALLOC_FAST, max_pages);
  if (!handle) return nullptr;
  auto& mr = static_cast<memory_region&>(*handle);
  mr.list = std::move(list);
  mr.max_pages = max_pages;
  mr.length = 0;
  return handle;
}

int hcax_map_mr(cpu& c, ibv_mr* handle, std::uint64_t addr, std::uint64_t length) {
  auto& mr = static_cast<memory_region&>(*handle);
  process& p = of(mr.context);
  if (mr.kind != region_kind::fast || length == 0 || range_wraps(addr, length)) return EINVAL;
  if (pages_of(addr, length) > mr.max_pages) return EINVAL;
  const ps begin = c.time();
  std::vector<hca_chunk> chunks;
  std::uint64_t dma = 0;
  if (const int error = pin_range(c, p, addr, length, true, chunks, dma)) return error;
  unpin_range(c, p, mr.pinned_at, mr.pinned_bytes, mr.pinned_dma);
  mr.pinned_dma = dma;
  std::vector<hca_pte> entries;
  for (const hca_chunk& chunk : chunks) {
    for (std::uint64_t at = 0; at < chunk.length; at += host_page) entries.push_back((chunk.address + at) | HCA_PTE_PRESENT);
  }
  c.store(mr.list->physical(0), std::as_bytes(std::span(entries)));
  mr.addr = mr.iova = addr;
  mr.length = length;
  mr.pinned_at = addr;
  mr.pinned_bytes = length;
  if (observer_of_verbs) [[unlikely]]
    observer_of_verbs->mapped(c, begin);
  return 0;
}

ibv_mr* hcax_reg_indirect_mr(cpu& c, ibv_pd* domain, const ibv_sge* sg_list, int num_sge, std::uint64_t iova, int access) {
  auto& pd = static_cast<protection_domain&>(*domain);
  device& d = *pd.context->device;
  d.enter_kernel(c);
  auto mr = std::make_unique<memory_region>();
  mr->kind = region_kind::indirect;
  mr->addr = mr->iova = iova;
  mr->access = known_access(static_cast<std::uint32_t>(access));
  std::vector<hca_element> elements;
  for (int i = 0; i < num_sge; ++i) {
    elements.push_back({sg_list[i].addr, sg_list[i].lkey, sg_list[i].length});
    mr->length += sg_list[i].length;
  }
  if (const int error = check_access(mr->access)) return refuse(error);
  hca_region region{};
  region.va = iova;
  region.length = mr->length;
  region.access = mr->access;
  region.pd = pd.number;
  region.qpn = HCA_QPN_ANY;
  region.chunks = static_cast<std::uint32_t>(elements.size());
  const command_result r = run(
      c, pd.context, {.code = HCA_CMD_REGISTER_INDIRECT, .in = in_bytes(region), .list = std::as_bytes(std::span(elements))});
  return adopt(domain, std::move(mr), r);
}

}  // namespace hcasim::verbs
