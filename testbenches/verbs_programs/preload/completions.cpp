// Completion channels and queues, and events.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "testbenches/verbs_programs/preload/blocking.h"
#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/objects.h"
#include "testbenches/verbs_programs/preload/sleeping.h"

// NOLINTBEGIN(performance-no-int-to-ptr): pointers cross the channel as numbers

namespace hcasim::preload {

void wait_for_events(const std::uint32_t& acknowledged, std::uint32_t given) {
  for (std::uint32_t again = 0; *static_cast<const volatile std::uint32_t*>(&acknowledged) < given;) {
    again = wait_for_others(channel::forever, again);
  }
}

static_assert(sizeof(ibv_wc) == sizeof(channel::completion));
static_assert(offsetof(ibv_wc, imm_data) == offsetof(channel::completion, immediate));
static_assert(offsetof(ibv_wc, sl) == offsetof(channel::completion, sl));

int poll(cq_object& q, int entries, ibv_wc* wc) {
  const int most = std::min(entries, static_cast<int>(channel::data_bytes / (sizeof(ibv_wc) + sizeof(std::uint64_t))));
  if (most < 0) return -1;
  channel::poll_cq::answer out{};
  if (const int error = call(channel::poll_cq{q.name, static_cast<std::uint32_t>(most)}, out)) {
    errno = error;
    return -1;
  }
  std::memcpy(static_cast<void*>(wc), data().data(), out.found * sizeof(ibv_wc));
  return static_cast<int>(out.found);
}

namespace {

int poll_cq(ibv_cq* cq, int entries, ibv_wc* wc) {
  return poll(*of<cq_object>(cq), entries, wc);
}

int req_notify_cq(ibv_cq* cq, int solicited) {
  return call(channel::notify_cq{name_of(cq), solicited != 0});
}

int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attr) {
  if (attr->attr_mask != IBV_CQ_ATTR_MODERATE) return EINVAL;
  return call(channel::modify_cq{name_of(cq), attr->moderate.cq_count, attr->moderate.cq_period});
}

ibv_cq_ex* make_cq(ibv_context* context, std::uint32_t cqe, void* user, ibv_comp_channel* with, std::uint32_t vector) {
  auto* q = made<cq_object>();
  channel::create_cq::answer out{};
  const handle of_channel = with ? of<channel_object>(with)->name : 0;
  const int error = call(channel::create_cq{name_of(context), of_channel, reinterpret_cast<std::uint64_t>(q),
                                            static_cast<int>(cqe), static_cast<int>(vector)},
                         out);
  if (error) {
    std::free(q);
    return refused<ibv_cq_ex>(error);
  }
  q->name = out.object;
  q->home = context;
  q->cq.context = context;
  q->cq.channel = with;
  q->cq.cq_context = user;
  q->cq.handle = channel::number_of(out.object);
  q->cq.cqe = out.cqe;
  ::pthread_mutex_init(&q->cq.mutex, nullptr);
  ::pthread_cond_init(&q->cq.cond, nullptr);
  if (with) ++with->refcnt;
  return &q->cq;
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) {
  constexpr std::uint64_t stamps = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  constexpr std::uint64_t known_reads = static_cast<std::uint64_t>(IBV_WC_STANDARD_FLAGS) | stamps;
  constexpr std::uint32_t known_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  constexpr std::uint32_t known_masks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
  if (attr->comp_mask & ~known_masks) return refused<ibv_cq_ex>(EINVAL);
  const std::uint32_t flags = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) ? attr->flags : 0;
  if ((attr->wc_flags & ~known_reads) || (flags & ~known_flags)) return refused<ibv_cq_ex>(EOPNOTSUPP);
  ibv_cq_ex* cq = make_cq(context, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector);
  if (cq) open_extended(*of<cq_object>(cq));
  return cq;
}

}  // namespace

void add_completion_operations(context_object& c) {
  c.verbs.context.ops.poll_cq = poll_cq;
  c.verbs.context.ops.req_notify_cq = req_notify_cq;
  c.verbs.create_cq_ex = create_cq_ex;
  c.verbs.modify_cq = modify_cq;
}

}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (!mine()) return HCASIM_REAL(ibv_create_comp_channel)(context);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  channel::made out{};
  const int passed[] = {ends[1], ends[0]};
  const int error = call(channel::create_channel{name_of(context)}, out, passed);
  ::close(ends[1]);
  if (error) {
    ::close(ends[0]);
    return refused<ibv_comp_channel>(error);
  }
  auto* c = made<channel_object>();
  c->name = out.object;
  c->channel = {context, ends[0], 0};
  return &c->channel;
}

HCASIM_PUBLIC int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (!mine()) return HCASIM_REAL(ibv_destroy_comp_channel)(channel);
  const int error = call(hcasim::channel::destroy_channel{of<channel_object>(channel)->name});
  if (error) return error;
  ::close(channel->fd);
  std::free(of<channel_object>(channel));
  return 0;
}

HCASIM_PUBLIC ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* user, ibv_comp_channel* with, int vector) {
  if (!mine()) return HCASIM_REAL(ibv_create_cq)(context, cqe, user, with, vector);
  return reinterpret_cast<ibv_cq*>(
      make_cq(context, static_cast<std::uint32_t>(cqe), user, with, static_cast<std::uint32_t>(vector)));
}

HCASIM_PUBLIC int ibv_destroy_cq(ibv_cq* cq) {
  if (!mine()) return HCASIM_REAL(ibv_destroy_cq)(cq);
  channel::events_answer out{};
  if (const int error = command(channel::destroy_cq{name_of(cq)}, out)) return error;
  wait_for_events(cq->comp_events_completed, out.completion);
  wait_for_events(cq->async_events_completed, out.async);
  if (cq->channel) --cq->channel->refcnt;
  std::free(of<cq_object>(cq));
  return 0;
}

HCASIM_PUBLIC int ibv_resize_cq(ibv_cq* cq, int cqe) {
  if (!mine()) return HCASIM_REAL(ibv_resize_cq)(cq, cqe);
  channel::resize_cq::answer out{};
  if (const int error = command(channel::resize_cq{name_of(cq), cqe}, out)) return error;
  cq->cqe = out.cqe;
  return 0;
}

HCASIM_PUBLIC int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** user) {
  if (!mine()) return HCASIM_REAL(ibv_get_cq_event)(channel, cq, user);
  for (;;) {
    if (!take_token(channel->fd)) return -1;
    hcasim::channel::take_cq_event::answer out{};
    const int error = call(hcasim::channel::take_cq_event{of<channel_object>(channel)->name}, out);
    if (error) {
      errno = error;
      return -1;
    }
    if (!out.user) continue;  // the queue was destroyed meanwhile
    auto* q = reinterpret_cast<cq_object*>(out.user);
    *cq = reinterpret_cast<ibv_cq*>(&q->cq);
    *user = q->cq.cq_context;
    return 0;
  }
}

HCASIM_PUBLIC void ibv_ack_cq_events(ibv_cq* cq, unsigned n) {
  if (!mine()) return HCASIM_REAL(ibv_ack_cq_events)(cq, n);
  cq->comp_events_completed += n;
}

HCASIM_PUBLIC int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (!mine()) return HCASIM_REAL(ibv_get_async_event)(context, event);
  for (;;) {
    if (!take_token(context->async_fd)) return -1;
    channel::take_async_event::answer out{};
    const int error = call(channel::take_async_event{name_of(context)}, out);
    if (error) {
      errno = error;
      return -1;
    }
    if (!out.found) continue;
    event->event_type = static_cast<ibv_event_type>(out.type);
    event->element.qp = reinterpret_cast<ibv_qp*>(out.user);
    return 0;
  }
}

HCASIM_PUBLIC void ibv_ack_async_event(ibv_async_event* event) {
  if (!mine()) return HCASIM_REAL(ibv_ack_async_event)(event);
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      ++event->element.cq->async_events_completed;
      return;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      ++event->element.srq->events_completed;
      return;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      ++event->element.qp->events_completed;
      return;
    default:
      return;
  }
}
// NOLINTEND(performance-no-int-to-ptr)
