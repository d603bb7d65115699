// Shared receive queues.
#include "testbenches/applications/preload/objects.h"
#include "testbenches/applications/preload/real.h"

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  if (!mine()) return HCASIM_REAL(ibv_create_srq)(pd, init);
  auto* s = made<srq_object>();
  channel::create_srq::answer out{};
  const int error =
      call(channel::create_srq{name_of(pd), reinterpret_cast<std::uint64_t>(s), init->attr.max_wr, init->attr.max_sge}, out);
  if (error) {
    std::free(s);
    return refused<ibv_srq>(error);
  }
  s->name = out.object;
  s->srq.context = pd->context;
  s->srq.srq_context = init->srq_context;
  s->srq.pd = pd;
  s->srq.handle = channel::number_of(out.object);
  ::pthread_mutex_init(&s->srq.mutex, nullptr);
  ::pthread_cond_init(&s->srq.cond, nullptr);
  init->attr.max_wr = out.max_wr;
  init->attr.max_sge = out.max_sge;
  return &s->srq;
}

HCASIM_PUBLIC int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  if (!mine()) return HCASIM_REAL(ibv_modify_srq)(srq, attr, mask);
  return call(channel::modify_srq{of<srq_object>(srq)->name, static_cast<std::uint32_t>(mask), attr->max_wr, attr->srq_limit});
}

HCASIM_PUBLIC int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  if (!mine()) return HCASIM_REAL(ibv_query_srq)(srq, attr);
  channel::query_srq::answer out{};
  const int error = call(channel::query_srq{of<srq_object>(srq)->name}, out);
  if (!error) *attr = {out.max_wr, out.max_sge, out.limit};
  return error;
}

HCASIM_PUBLIC int ibv_destroy_srq(ibv_srq* srq) {
  if (!mine()) return HCASIM_REAL(ibv_destroy_srq)(srq);
  channel::events_answer out{};
  if (const int error = call(channel::destroy_srq{of<srq_object>(srq)->name}, out)) return error;
  wait_for_events(srq->events_completed, out.async);
  std::free(of<srq_object>(srq));
  return 0;
}
