#include "models/driver/device.h"

namespace hcasim::verbs {

using namespace driver;

ibv_comp_channel* ibv_create_comp_channel(cpu& c, ibv_context* context) {
  context->device->enter_kernel(c);
  auto* channel = new completion_channel;
  channel->context = context;
  channel->refcnt = 0;
  channel->handle = of(context).channels.add(channel);
  return channel;
}

int ibv_destroy_comp_channel(cpu& c, ibv_comp_channel* handle) {
  auto* channel = static_cast<completion_channel*>(handle);
  channel->context->device->enter_kernel(c);
  if (channel->refcnt > 0) return EBUSY;
  of(channel->context).channels.remove(channel->handle);
  delete channel;
  return 0;
}

int ibv_get_cq_event(cpu& c, ibv_comp_channel* handle, ibv_cq** cq, void** cq_context) {
  auto& channel = static_cast<completion_channel&>(*handle);
  c.system_call();
  channel.ready.sleep_until(c, [&] { return !channel.pending.empty(); });
  completion_queue* from = channel.pending.front();
  channel.pending.pop_front();
  ++from->events;
  *cq = from;
  *cq_context = from->cq_context;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* handle, unsigned nevents) {
  auto& cq = static_cast<completion_queue&>(*handle);
  cq.acknowledged += nevents;
  cq.acknowledge.wake();
}

int ibv_get_async_event(cpu& c, ibv_context* context, ibv_async_event* event) {
  process& p = of(context);
  c.system_call();
  p.async_ready.sleep_until(c, [&] { return !p.async_events.empty(); });
  *event = p.async_events.front();
  p.async_events.pop_front();
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      ++static_cast<completion_queue*>(event->element.cq)->events;
      break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      ++static_cast<shared_queue*>(event->element.srq)->events;
      break;
    case IBV_EVENT_DEVICE_FATAL:
      break;
    default:
      ++static_cast<queue_pair*>(event->element.qp)->events;
      break;
  }
  return 0;
}

namespace {

template <class T>
void acknowledge(T& object) {
  ++object.acknowledged;
  object.acknowledge.wake();
}

}  // namespace

void ibv_ack_async_event(ibv_async_event* event) {
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      return ibv_ack_cq_events(event->element.cq, 1);
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return acknowledge(*static_cast<shared_queue*>(event->element.srq));
    case IBV_EVENT_DEVICE_FATAL:
      return;
    default:
      return acknowledge(*static_cast<queue_pair*>(event->element.qp));
  }
}

}  // namespace hcasim::verbs
