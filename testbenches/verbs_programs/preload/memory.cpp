// Regions, windows, memory of the adapter.
#include <utility>

#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/objects.h"
#include "testbenches/verbs_programs/preload/registered_memory.h"

namespace hcasim::preload {

ibv_mr* made_mr(ibv_pd* pd, const channel::key_answer& out, void* address, size_t length) {
  auto* m = made<mr_object>();
  m->name = out.object;
  m->home = pd->context;
  m->mr = {pd->context, pd, address, length, channel::number_of(out.object), out.lkey, out.rkey};
  m->pd = pd;
  hold(pd);
  return &m->mr;
}

namespace {

ibv_mr* reg(ibv_pd* pd, void* address, size_t length, std::uint64_t iova, unsigned access, bool with_iova) {
  channel::key_answer out{};
  const auto at = reinterpret_cast<std::uint64_t>(address);
  if (const int error = call(channel::reg_mr{name_of(pd), at, length, iova, access, with_iova}, out))
    return refused<ibv_mr>(error);
  lend(at, length, access & IBV_ACCESS_ON_DEMAND);
  return made_mr(pd, out, address, length);
}

ibv_mr* alloc_null_mr(ibv_pd* pd) {
  channel::key_answer out{};
  if (const int error = call(channel::alloc_null_mr{name_of(pd)}, out)) return refused<ibv_mr>(error);
  return made_mr(pd, out, nullptr, SIZE_MAX);
}

int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list, std::uint32_t n) {
  const std::span<std::byte> room = data();
  if (n * sizeof(channel::segment) > room.size()) return EINVAL;
  for (std::uint32_t i = 0; i < n; ++i) {
    const channel::segment s{list[i].addr, list[i].length, list[i].lkey};
    std::memcpy(room.data() + i * sizeof s, &s, sizeof s);
  }
  return call(channel::advise_mr{name_of(pd), static_cast<std::uint32_t>(advice), flags, n});
}

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  channel::key_answer out{};
  if (const int error = call(channel::alloc_mw{name_of(pd), static_cast<std::uint32_t>(type)}, out))
    return refused<ibv_mw>(error);
  auto* m = made<mw_object>();
  m->name = out.object;
  m->home = pd->context;
  m->mw = {pd->context, pd, out.rkey, channel::number_of(out.object), type};
  m->pd = pd;
  hold(pd);
  return &m->mw;
}

int dealloc_mw(ibv_mw* mw) {
  if (const int error = command(channel::dealloc_mw{name_of(mw)})) return error;
  let_go(of<mw_object>(mw)->pd);
  std::free(of<mw_object>(mw));
  return 0;
}

int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  channel::key_answer out{};
  const channel::bind_mw in{of<qp_object>(qp)->name, of<mw_object>(mw)->name, bind_of(bind->bind_info, mw), bind->wr_id,
                            bind->send_flags};
  const int error = call(in, out);
  if (!error) mw->rkey = out.rkey;
  return error;
}

int copy(ibv_dm* dm, std::uint64_t offset, const void* host, size_t length, bool to_device) {
  return call(channel::copy_dm{name_of(dm), offset, reinterpret_cast<std::uint64_t>(host), length, to_device});
}
int to_dm(ibv_dm* dm, std::uint64_t offset, const void* host, size_t length) {
  return copy(dm, offset, host, length, true);
}
int from_dm(void* host, ibv_dm* dm, std::uint64_t offset, size_t length) {
  return copy(dm, offset, host, length, false);
}

}  // namespace

ibv_dm* made_dm(ibv_context* context, handle name) {
  auto* d = made<dm_object>();
  d->name = name;
  d->home = context;
  d->dm = {context, to_dm, from_dm, 0, channel::number_of(name)};
  return &d->dm;
}

namespace {

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attr) {
  constexpr std::uint32_t page_shift = 12;
  if (attr->comp_mask || attr->log_align_req > page_shift) return refused<ibv_dm>(EINVAL);
  channel::made out{};
  if (const int error = call(channel::alloc_dm{name_of(context), attr->length}, out)) return refused<ibv_dm>(error);
  return made_dm(context, out.object);
}

int free_dm(ibv_dm* dm) {
  const int error = command(channel::free_dm{name_of(dm)});
  if (!error) std::free(of<dm_object>(dm));
  return error;
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, size_t length, unsigned access) {
  channel::key_answer out{};
  if (const int error = call(channel::reg_dm_mr{name_of(pd), name_of(dm), offset, length, access}, out))
    return refused<ibv_mr>(error);
  return made_mr(pd, out, nullptr, length);
}

}  // namespace

void add_memory_operations(context_object& c) {
  c.verbs.alloc_null_mr = alloc_null_mr;
  c.verbs.advise_mr = advise_mr;
  c.verbs.alloc_dm = alloc_dm;
  c.verbs.free_dm = free_dm;
  c.verbs.reg_dm_mr = reg_dm_mr;
  c.verbs.context.ops.alloc_mw = alloc_mw;
  c.verbs.context.ops.dealloc_mw = dealloc_mw;
  c.verbs.context.ops.bind_mw = bind_mw;
}

}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  if (!mine()) return HCASIM_REAL(ibv_reg_mr)(pd, addr, length, access);
  return reg(pd, addr, length, 0, static_cast<unsigned>(access), false);
}

HCASIM_PUBLIC ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* addr, size_t length, std::uint64_t iova, int access) {
  if (!mine()) return HCASIM_REAL(ibv_reg_mr_iova)(pd, addr, length, iova, access);
  return reg(pd, addr, length, iova, static_cast<unsigned>(access), true);
}

HCASIM_PUBLIC ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, size_t length, std::uint64_t iova, unsigned access) {
  if (!mine()) return HCASIM_REAL(ibv_reg_mr_iova2)(pd, addr, length, iova, access);
  return reg(pd, addr, length, iova, access, true);
}

HCASIM_PUBLIC int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, size_t length, int access) {
  if (!mine()) return HCASIM_REAL(ibv_rereg_mr)(mr, flags, pd, addr, length, access);
  const auto at = reinterpret_cast<std::uint64_t>(addr);
  channel::rereg_mr::answer out{};
  const int error = call(channel::rereg_mr{name_of(mr), pd ? name_of(pd) : 0, at, length, static_cast<std::uint32_t>(flags),
                                           static_cast<std::uint32_t>(access)},
                         out);
  if (error) {
    errno = error;
    return out.result ? out.result : IBV_REREG_MR_ERR_CMD;
  }
  mr->lkey = out.lkey;
  mr->rkey = out.rkey;
  if (flags & IBV_REREG_MR_CHANGE_PD) {
    let_go(std::exchange(of<mr_object>(mr)->pd, pd));
    hold(pd);
    mr->pd = pd;
  }
  if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
    mr->addr = addr;
    mr->length = length;
    lend(at, length, false);
  }
  return 0;
}

HCASIM_PUBLIC int ibv_dereg_mr(ibv_mr* mr) {
  if (!mine()) return HCASIM_REAL(ibv_dereg_mr)(mr);
  if (const int error = command(channel::dereg_mr{name_of(mr)})) return error;
  let_go(of<mr_object>(mr)->pd);
  std::free(of<mr_object>(mr));
  return 0;
}
