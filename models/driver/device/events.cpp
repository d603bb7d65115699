#include "models/driver/device/device.h"

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

namespace {

void take(completion_channel& channel, ibv_cq** cq, void** cq_context) {
  completion_queue* from = channel.pending.front();
  channel.pending.pop_front();
  ++from->events;
  *cq = from;
  *cq_context = from->cq_context;
}

void take(process& p, ibv_async_event* event) {
  *event = p.async_events.front();
  p.async_events.pop_front();
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      ++static_cast<completion_queue*>(event->element.cq)->async_events;
      break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      ++static_cast<shared_queue*>(event->element.srq)->events;
      break;
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
      break;
    default:
      ++static_cast<queue_pair*>(event->element.qp)->events;
      break;
  }
}

}  // namespace

int ibv_get_cq_event(cpu& c, ibv_comp_channel* handle, ibv_cq** cq, void** cq_context) {
  auto& channel = static_cast<completion_channel&>(*handle);
  c.system_call();
  const process& p = of(channel.context);
  channel.ready.sleep_until(c, [&] { return !channel.pending.empty() || (p.lost && !p.device->may_move(p)); });
  if (channel.pending.empty()) return EIO;
  take(channel, cq, cq_context);
  return 0;
}

bool hcax_take_cq_event(cpu& c, ibv_comp_channel* handle, ibv_cq** cq, void** cq_context) {
  auto& channel = static_cast<completion_channel&>(*handle);
  c.system_call();
  if (channel.pending.empty()) return false;
  take(channel, cq, cq_context);
  return true;
}

void ibv_ack_cq_events(ibv_cq* handle, unsigned nevents) {
  auto& cq = static_cast<completion_queue&>(*handle);
  cq.acknowledged += nevents;
  cq.acknowledge.wake();
}

int ibv_get_async_event(cpu& c, ibv_context* context, ibv_async_event* event) {
  process& p = of(context);
  c.system_call();
  p.async_ready.sleep_until(c, [&] { return !p.async_events.empty() || p.lost; });
  if (p.async_events.empty()) return EIO;
  take(p, event);
  return 0;
}

bool hcax_take_async_event(cpu& c, ibv_context* context, ibv_async_event* event) {
  process& p = of(context);
  c.system_call();
  if (p.async_events.empty()) return false;
  take(p, event);
  return true;
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
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
      return;
    default:
      return acknowledge(*static_cast<queue_pair*>(event->element.qp));
  }
}

}  // namespace hcasim::verbs
