// Requests about regions, windows and the adapter's memory.
#include "testbenches/verbs_programs/simulator/handler.h"
#include "testbenches/verbs_programs/simulator/process_memory.h"

namespace hcasim::applications {
namespace {

using namespace verbs;

int made(caller& k, ibv_mr* mr, channel::key_answer& out) {
  if (!mr) return errno;
  out = {k.who.mrs.add(mr), mr->lkey, mr->rkey};
  return 0;
}

int reg_mr(caller& k, const channel::reg_mr& in, channel::key_answer& out) {
  ibv_pd* pd = k.who.pds.find(in.pd);
  if (!pd) return EINVAL;
  const int access = static_cast<int>(in.access);
  return made(k,
              in.with_iova ? ibv_reg_mr_iova(k.c, pd, in.address, in.length, in.iova, access)
                           : ibv_reg_mr(k.c, pd, in.address, in.length, access),
              out);
}

int rereg_mr(caller& k, const channel::rereg_mr& in, channel::rereg_mr::answer& out) {
  out.result = IBV_REREG_MR_ERR_INPUT;
  ibv_mr* mr = k.who.mrs.find(in.mr);
  const bool with_pd = in.flags & IBV_REREG_MR_CHANGE_PD;
  ibv_pd* pd = with_pd ? k.who.pds.find(in.pd) : nullptr;
  if (!mr || (with_pd && (!pd || !together(*mr, *pd)))) return EINVAL;
  errno = 0;
  out.result = ibv_rereg_mr(k.c, mr, static_cast<int>(in.flags), pd, in.address, in.length, static_cast<int>(in.access));
  const int error = errno;
  out.lkey = mr->lkey;
  out.rkey = mr->rkey;
  return out.result == 0 ? 0 : error;
}

int dereg_mr(caller& k, const channel::dereg_mr& in, channel::nothing&) {
  ibv_mr* mr = k.who.mrs.find(in.mr);
  if (!mr) return ENOENT;
  const int error = ibv_dereg_mr(k.c, mr);
  if (!error) k.who.mrs.remove(in.mr);
  return error;
}

int alloc_null_mr(caller& k, const channel::alloc_null_mr& in, channel::key_answer& out) {
  ibv_pd* pd = k.who.pds.find(in.pd);
  return pd ? made(k, ibv_alloc_null_mr(k.c, pd), out) : EINVAL;
}

int advise_mr(caller& k, const channel::advise_mr& in, channel::nothing&) {
  ibv_pd* pd = k.who.pds.find(in.pd);
  if (!pd || in.advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) return EINVAL;
  k.segments.clear();
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < in.count; ++i) {
    channel::segment s;
    if (!take_from(k.data, at, s)) return EINVAL;
    k.segments.push_back({s.address, s.length, s.lkey});
  }
  return ibv_advise_mr(k.c, pd, static_cast<ibv_advise_mr_advice>(in.advice), in.flags, k.segments.data(),
                       static_cast<int>(in.count));
}

int alloc_mw(caller& k, const channel::alloc_mw& in, channel::key_answer& out) {
  ibv_pd* pd = k.who.pds.find(in.pd);
  if (!pd || (in.type != IBV_MW_TYPE_1 && in.type != IBV_MW_TYPE_2)) return EINVAL;
  ibv_mw* mw = ibv_alloc_mw(k.c, pd, static_cast<ibv_mw_type>(in.type));
  if (!mw) return errno;
  out = {k.who.mws.add(mw), 0, mw->rkey};
  return 0;
}

int dealloc_mw(caller& k, const channel::dealloc_mw& in, channel::nothing&) {
  ibv_mw* mw = k.who.mws.find(in.mw);
  if (!mw) return ENOENT;
  const int error = ibv_dealloc_mw(k.c, mw);
  if (!error) k.who.mws.remove(in.mw);
  return error;
}

int bind_mw(caller& k, const channel::bind_mw& in, channel::key_answer& out) {
  ibv_qp* qp = k.who.qps.find(in.qp);
  ibv_mw* mw = k.who.mws.find(in.mw);
  ibv_mr* mr = k.who.mrs.find(in.bind.mr);
  if (!qp || !mw || (in.bind.mr && !mr) || !together(*qp, *mw) || (mr && !together(*qp, *mr))) return EINVAL;
  mw->rkey = in.bind.window_rkey;
  if (mr) mr->lkey = in.bind.lkey;
  ibv_mw_bind bind{in.wr_id, in.send_flags, {mr, in.bind.address, in.bind.length, in.bind.access}};
  const int error = ibv_bind_mw(k.c, qp, mw, &bind);
  out.rkey = mw->rkey;
  return error;
}

int alloc_dm(caller& k, const channel::alloc_dm& in, channel::made& out) {
  ibv_context* context = k.who.contexts.find(in.context);
  if (!context) return EINVAL;
  ibv_dm* dm = ibv_alloc_dm(k.c, context, in.length);
  if (!dm) return errno;
  out.object = k.who.dms.add(dm);
  return 0;
}

int free_dm(caller& k, const channel::free_dm& in, channel::nothing&) {
  ibv_dm* dm = k.who.dms.find(in.dm);
  if (!dm) return ENOENT;
  const int error = ibv_free_dm(k.c, dm);
  if (!error) k.who.dms.remove(in.dm);
  return error;
}

int copy_dm(caller& k, const channel::copy_dm& in, channel::nothing&) {
  ibv_dm* dm = k.who.dms.find(in.dm);
  if (!dm) return EINVAL;
  return in.to_device ? ibv_memcpy_to_dm(k.c, dm, in.offset, in.address, in.length)
                      : ibv_memcpy_from_dm(k.c, in.address, dm, in.offset, in.length);
}

int reg_dm_mr(caller& k, const channel::reg_dm_mr& in, channel::key_answer& out) {
  ibv_pd* pd = k.who.pds.find(in.pd);
  ibv_dm* dm = k.who.dms.find(in.dm);
  if (!pd || !dm || !together(*pd, *dm)) return EINVAL;
  return made(k, ibv_reg_dm_mr(k.c, pd, dm, in.offset, in.length, static_cast<int>(in.access)), out);
}

int lose_memory(caller& k, const channel::lose_memory& in, channel::nothing&) {
  k.who.memory.lose(k.c, in.address, in.length);
  if (k.who.of_process) k.who.of_process->forget_pages();
  return 0;
}

int protect_memory(caller& k, const channel::protect_memory& in, channel::nothing&) {
  k.who.memory.withdraw(k.c, in.address, in.length);
  return 0;
}

}  // namespace

void add_memory_requests(handler_table& t) {
  add<channel::reg_mr, reg_mr>(t);
  add<channel::rereg_mr, rereg_mr>(t);
  add<channel::dereg_mr, dereg_mr>(t);
  add<channel::alloc_null_mr, alloc_null_mr>(t);
  add<channel::advise_mr, advise_mr>(t);
  add<channel::alloc_mw, alloc_mw>(t);
  add<channel::dealloc_mw, dealloc_mw>(t);
  add<channel::bind_mw, bind_mw>(t);
  add<channel::alloc_dm, alloc_dm>(t);
  add<channel::free_dm, free_dm>(t);
  add<channel::copy_dm, copy_dm>(t);
  add<channel::reg_dm_mr, reg_dm_mr>(t);
  add<channel::lose_memory, lose_memory>(t);
  add<channel::protect_memory, protect_memory>(t);
}

}  // namespace hcasim::applications
