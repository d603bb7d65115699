#include "models/driver/device/device.h"
#include "models/driver/objects/pinned_range.h"
#include "models/driver/objects/registration_rules.h"
#include "models/driver/on_demand/registration.h"
#include "models/driver/peer/attachment.h"

namespace hcasim::verbs {

using namespace driver;

namespace {

constexpr std::uint32_t adapter_access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ |
                                         HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_MW_BIND | HCA_ACCESS_ZERO_BASED |
                                         HCA_ACCESS_RELAXED_ORDERING;

constexpr std::uint32_t zero_based = HCA_ACCESS_ZERO_BASED;

hca_region region_of(const memory_region& mr, std::uint32_t pd, std::size_t chunks) {
  hca_region r{};
  r.va = mr.iova;
  r.length = mr.length;
  r.access = mr.access & adapter_access;
  r.pd = pd;
  r.qpn = HCA_QPN_ANY;
  r.chunks = static_cast<std::uint32_t>(chunks);
  r.first_offset = mr.addr & (host_page - 1);
  return r;
}

std::span<const std::byte> bytes_of(const std::vector<hca_chunk>& chunks) {
  return std::as_bytes(std::span(chunks));
}

// Checks and pins a new range; `mr` carries addr, length and access.
int pin_region(cpu& c, process& p, memory_region& mr, std::vector<hca_chunk>& chunks, bool or_peer = false) {
  if (range_wraps(mr.addr, mr.length)) return EINVAL;
  const pin_extent extent = bytes_to_pin(mr.addr, mr.length, p.device->config().zero_length_mr);
  if (extent.error) return extent.error;
  mr.pinned_at = mr.addr;
  mr.pinned_bytes = extent.bytes;
  mr.pinned_writable = needs_writable(mr.access);
  const int error = pin_range(c, p, mr.pinned_at, mr.pinned_bytes, mr.pinned_writable, chunks, mr.pinned_dma);
  return error && or_peer ? peer::attach(c, p, mr, error, chunks) : error;
}

ibv_mr* register_region(cpu& c, ibv_pd* domain, const memory_region& wanted, bool check_congruence) {
  auto& pd = static_cast<protection_domain&>(*domain);
  process& p = of(pd.context);
  p.device->enter_kernel(c);
  const bool paged = p.device->on_demand() || p.device->on_demand_by_iommu();
  if ((wanted.access & HCA_ACCESS_ON_DEMAND) && paged) return register_on_demand(c, pd, wanted);
  if (!can_protect_from_fork(p, wanted.addr, wanted.length)) return refuse(ENOMEM);
  if (check_congruence && !congruent(wanted.addr, wanted.iova)) return refuse(EINVAL);
  if (const int error = check_access(wanted.access)) return refuse(error);

  auto mr = std::make_unique<memory_region>(wanted);
  mr->access = known_access(wanted.access);
  std::vector<hca_chunk> chunks;
  if (const int error = pin_region(c, p, *mr, chunks, true)) return refuse(error);
  ++pd.users;
  const hca_region region = region_of(*mr, pd.number, chunks.size());
  const command_result r = run(c, &p, {.code = HCA_CMD_REGISTER, .in = in_bytes(region), .list = bytes_of(chunks)});
  if (r.error) {
    --pd.users;
    if (p.device->may_let_go(c, p)) {
      peer::detach(c, p, *mr);
      unpin_range(c, p, mr->pinned_at, mr->pinned_bytes, mr->pinned_dma);
    }
    return refuse(r.error);
  }
  mr->context = pd.context;
  mr->pd = domain;
  mr->key = mr->lkey = r.value;
  mr->rkey = shown_rkey(r.value, mr->access, p.device->config().rkey_zero_without_remote_rights);
  if (mr->peer) {
    if (const int error = peer::activate(c, p, *mr)) {
      if (peer::deregister_key(c, p, *mr->peer) == 0) peer::detach(c, p, *mr);
      --pd.users;
      return refuse(error);
    }
  }
  mr->handle = p.mrs.add(mr.get());
  return mr.release();
}

}  // namespace

ibv_mr* ibv_reg_mr(cpu& c, ibv_pd* pd, std::uint64_t addr, std::uint64_t length, int access) {
  memory_region wanted;
  wanted.addr = addr;
  wanted.length = length;
  wanted.access = static_cast<std::uint32_t>(access);
  wanted.iova = (wanted.access & HCA_ACCESS_ZERO_BASED) ? 0 : addr;
  return register_region(c, pd, wanted, false);
}

ibv_mr* ibv_reg_mr_iova(cpu& c, ibv_pd* pd, std::uint64_t addr, std::uint64_t length, std::uint64_t iova, int access) {
  memory_region wanted;
  wanted.addr = addr;
  wanted.length = length;
  wanted.access = static_cast<std::uint32_t>(access);
  wanted.iova = (wanted.access & HCA_ACCESS_ZERO_BASED) ? 0 : iova;
  return register_region(c, pd, wanted, !(wanted.access & HCA_ACCESS_ZERO_BASED));
}

int ibv_dereg_mr(cpu& c, ibv_mr* handle) {
  process& p = of(handle->context);
  p.device->enter_kernel(c);
  c.spend(p.device->config().deregister);
  memory_region* mr = p.mrs.find(handle->handle);
  if (!mr) return ENOENT;
  if (mr->kind == region_kind::on_demand) {
    if (const int error = deregister_on_demand(c, *mr)) return error;
  } else if (mr->peer) {
    const int error = mr->peer->gone ? 0 : peer::deregister_key(c, p, *mr->peer);
    if (error) return error;
    peer::detach(c, p, *mr);
  } else if (!mr->revoked) {
    const command_result r = run(c, &p, {.code = HCA_CMD_DEREGISTER, .object = mr->key});
    if (r.error) return r.error;
  }
  unpin_range(c, p, mr->pinned_at, mr->pinned_bytes, mr->pinned_dma);
  if (mr->list) mr->list->release(c);
  if (mr->kind != region_kind::null) --static_cast<protection_domain*>(mr->pd)->users;
  if (mr->buffer) --mr->buffer->users;
  p.mrs.remove(mr->handle);
  delete mr;
  return 0;
}

namespace {

// The kernel's part of a re-register: 0 or an errno value [B.5].
int reregister(cpu& c, memory_region& mr, int flags, protection_domain* pd, memory_region& next) {
  process& p = of(mr.context);
  p.device->enter_kernel(c);
  if (mr.revoked || mr.kind == region_kind::device_memory) return EINVAL;
  if (mr.peer) return EOPNOTSUPP;  // [F.4]
  if (flags == 0) return EINVAL;
  const bool translation = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
  if (flags & IBV_REREG_MR_CHANGE_ACCESS) {
    if (const int error = check_access(next.access)) return error;
    next.access = known_access(next.access);
    if (!translation) next.access = (next.access & ~zero_based) | (mr.access & zero_based);
    if (!translation && needs_writable(next.access) && !mr.pinned_writable && mr.pinned_bytes > 0) return EACCES;
  }
  std::vector<hca_chunk> chunks;
  if (translation) {
    next.iova = (next.access & HCA_ACCESS_ZERO_BASED) ? 0 : next.addr;
    if (const int error = pin_region(c, p, next, chunks)) return error;
  }
  auto* old_pd = static_cast<protection_domain*>(mr.pd);
  protection_domain* new_pd = (flags & IBV_REREG_MR_CHANGE_PD) ? pd : old_pd;
  ++new_pd->users;  // both are held while the adapter switches

  const hca_region region = region_of(next, new_pd->number, chunks.size());
  const std::uint32_t renew = p.device->config().rereg_key == rereg_key_policy::renew ? std::uint32_t{HCA_REREG_RENEW} : 0;
  const command_result r = run(c, &p,
                               {.code = HCA_CMD_REREGISTER,
                                .object = mr.key,
                                .modifier = static_cast<std::uint32_t>(flags) | renew,
                                .in = in_bytes(region),
                                .list = bytes_of(chunks)});
  if (r.error) {
    --new_pd->users;
    if (translation && p.device->may_let_go(c, p)) unpin_range(c, p, next.pinned_at, next.pinned_bytes, next.pinned_dma);
    return r.error;
  }
  --old_pd->users;
  // The adapter uses the old pages no more [B4.4]: the command has returned.
  if (translation) unpin_range(c, p, mr.pinned_at, mr.pinned_bytes, mr.pinned_dma);
  next.pd = new_pd;
  next.key = next.lkey = r.value;
  next.rkey = shown_rkey(r.value, next.access, p.device->config().rkey_zero_without_remote_rights);
  return 0;
}

}  // namespace

int ibv_rereg_mr(cpu& c, ibv_mr* handle, int flags, ibv_pd* pd, std::uint64_t addr, std::uint64_t length, int access) {
  auto& mr = static_cast<memory_region&>(*handle);
  process& p = of(mr.context);
  const bool translation = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
  const bool library_refuses = mr.kind != region_kind::plain && mr.kind != region_kind::device_memory;
  if (library_refuses || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) || (translation && (addr == 0 || length == 0)) ||
      (access != 0 && !(flags & IBV_REREG_MR_CHANGE_ACCESS))) {
    errno = EINVAL;
    return IBV_REREG_MR_ERR_INPUT;
  }
  if (translation && !can_protect_from_fork(p, addr, length)) {
    errno = ENOMEM;
    return IBV_REREG_MR_ERR_DONT_FORK_NEW;
  }

  memory_region next = mr;
  if (translation) {
    next.addr = addr;
    next.length = length;
  }
  if (flags & IBV_REREG_MR_CHANGE_ACCESS) next.access = static_cast<std::uint32_t>(access);
  const int error = reregister(c, mr, flags, static_cast<protection_domain*>(pd), next);
  if (error) {
    // EBUSY (windows are bound) changes nothing. Otherwise the key is taken away, so that its use fails.
    if (error != EBUSY && !mr.revoked && p.device->config().failed_rereg == failed_rereg_policy::revoke) {
      mr.revoked = mr.peer ? peer::deregister_key(c, p, *mr.peer) == 0
                           : run(c, &p, {.code = HCA_CMD_DEREGISTER, .object = mr.key}).error == 0;
    }
    const bool fork_failed = translation && !can_protect_from_fork(p, addr, length);
    errno = error;
    return fork_failed ? IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW : IBV_REREG_MR_ERR_CMD;
  }
  const std::uint64_t old_addr = mr.addr;
  const std::uint64_t old_length = mr.length;
  mr = next;
  if (translation && !can_protect_from_fork(p, old_addr, old_length)) {
    errno = ENOMEM;
    return IBV_REREG_MR_ERR_DO_FORK_OLD;
  }
  return 0;
}

int hcax_query_mr(cpu& c, ibv_mr* mr, hca_mrc* out) {
  device& d = *mr->context->device;
  d.enter_kernel(c);
  return run(c, mr->context, {.code = HCA_CMD_QUERY_MR, .object = mr->lkey, .out = out_bytes(*out)}).error;
}

}  // namespace hcasim::verbs
