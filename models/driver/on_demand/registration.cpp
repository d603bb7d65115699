#include "models/driver/on_demand/registration.h"

#include <limits>

#include "models/driver/objects/page_list.h"
#include "models/driver/objects/registration_rules.h"
#include "models/driver/on_demand/lent_pages.h"

namespace hcasim::driver {

namespace {

// 0 or an errno value.
int check(const lent_pages& pages, const memory_region& wanted, bool implicit) {
  const std::uint32_t rights = wanted.access & ~std::uint32_t{HCA_ACCESS_ON_DEMAND};
  if (const int error = check_access(rights)) return error;
  if (rights & HCA_ACCESS_ZERO_BASED) return EOPNOTSUPP;
  if (const int error = pages.check(rights, implicit)) return error;
  if (implicit) return 0;
  if (wanted.length == 0 || wanted.length > every_va || range_wraps(wanted.addr, wanted.length)) return EINVAL;
  return wanted.iova + wanted.length < wanted.iova || !congruent(wanted.addr, wanted.iova) ? EINVAL : 0;
}

}  // namespace

verbs::ibv_mr* register_on_demand(cpu& c, protection_domain& pd, const memory_region& wanted) {
  process& p = of(pd.context);
  if (!p.lent) p.lent = lent_pages::make(p);
  lent_pages& pages = *p.lent;
  const bool implicit = wanted.addr == 0 && wanted.length == std::numeric_limits<std::uint64_t>::max();
  if (const int error = check(pages, wanted, implicit)) return refuse(error);
  auto mr = std::make_unique<memory_region>(wanted);
  mr->kind = region_kind::on_demand;
  mr->access = known_access(wanted.access);
  if (implicit) mr->iova = 0;
  hca_region region{};
  region.va = mr->iova;
  region.length = implicit ? every_va : mr->length;
  region.access = mr->access;
  region.pd = pd.number;
  region.qpn = HCA_QPN_ANY;
  region.first_offset = mr->addr & (host_page - 1);
  const command_result r = pages.give(c, *mr, region);
  if (!r.error) {
    mr->context = pd.context;
    mr->pd = &pd;
    mr->key = mr->lkey = r.value;
    mr->rkey = shown_rkey(r.value, mr->access, p.device->config().rkey_zero_without_remote_rights);
    mr->lent_by = &pages;
    mr->handle = p.mrs.add(mr.get());
    ++pd.users;
    pages.add(*mr);
    p.device->pages().add(*mr);
  }
  pages.unlock();
  return r.error ? refuse(r.error) : mr.release();
}

int deregister_on_demand(cpu& c, memory_region& mr) {
  process& p = of(mr.context);
  lent_pages& pages = *p.lent;
  const command_result r = pages.withdraw(c, mr);
  if (!r.error) {
    pages.remove(mr);
    p.device->pages().remove(mr);
    pages.take_back_all(c, mr);
  }
  pages.unlock();
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
      if (mr && mr->key == lkey) return mr;
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
    if (filled != pages) return p.lost ? EIO : EFAULT;
  }
  return 0;
}

}  // namespace hcasim::verbs
