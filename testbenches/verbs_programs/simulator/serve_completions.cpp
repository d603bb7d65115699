// Requests about completion queues and events.
#include <algorithm>

#include "testbenches/verbs_programs/simulator/handler.h"

namespace hcasim::applications {
namespace {

using namespace verbs;

int create_cq(caller& k, const channel::create_cq& in, channel::create_cq::answer& out) {
  client& p = k.who;
  ibv_context* context = p.contexts.find(in.context);
  ibv_comp_channel* with = p.channels.find(in.channel);
  if (!context || (in.channel && (!with || with->context != context))) return EINVAL;
  ibv_cq* cq = ibv_create_cq(k.c, context, in.cqe, as_context(in.user), with, in.vector);
  if (!cq) return errno;
  for (const auto& run : driver::of(cq).buffer.runs()) p.where.host.watch_pages(run.physical, run.bytes, p.changes);
  out = {p.cqs.add(cq), cq->cqe};
  return 0;
}

int destroy_cq(caller& k, const channel::destroy_cq& in, channel::events_answer& out) {
  client& p = k.who;
  ibv_cq* cq = p.cqs.find(in.cq);
  if (!cq) return ENOENT;
  const std::vector<virtual_memory::frame_run> runs = driver::of(cq).buffer.runs();
  const channel::events_answer taken{driver::of(cq).events, driver::of(cq).async_events};
  const int error = ibv_destroy_cq(k.c, cq);
  if (error) return error;
  for (const auto& run : runs) p.where.host.unwatch_pages(run.physical, run.bytes);
  p.cqs.remove(in.cq);
  out = taken;
  return 0;
}

int resize_cq(caller& k, const channel::resize_cq& in, channel::resize_cq::answer& out) {
  client& p = k.who;
  ibv_cq* cq = p.cqs.find(in.cq);
  if (!cq) return EINVAL;
  const std::vector<virtual_memory::frame_run> before = driver::of(cq).buffer.runs();
  if (const int error = ibv_resize_cq(k.c, cq, in.cqe)) return error;
  for (const auto& run : before) p.where.host.unwatch_pages(run.physical, run.bytes);
  for (const auto& run : driver::of(cq).buffer.runs()) p.where.host.watch_pages(run.physical, run.bytes, p.changes);
  p.changes.landed(now());  // DMA may have landed before the watch began
  out.cqe = cq->cqe;
  return 0;
}

int modify_cq(caller& k, const channel::modify_cq& in, channel::nothing&) {
  ibv_cq* cq = k.who.cqs.find(in.cq);
  if (!cq) return EINVAL;
  ibv_modify_cq_attr attr{IBV_CQ_ATTR_MODERATE, {in.count, in.period}};
  return ibv_modify_cq(k.c, cq, &attr);
}

channel::completion shown(const ibv_wc& wc) {
  channel::completion out{};
  out.wr_id = wc.wr_id;
  out.status = wc.status;
  out.opcode = wc.opcode;
  out.vendor_err = wc.vendor_err;
  out.byte_len = wc.byte_len;
  out.immediate = wc.imm_data;
  out.qp_num = wc.qp_num;
  out.src_qp = wc.src_qp;
  out.wc_flags = wc.wc_flags;
  out.slid = wc.slid;
  out.sl = wc.sl;
  return out;
}

// Returns the number of completions, or a negative errno value.
int look(caller& k, const channel::poll_cq& in) {
  const arrivals::present present(k.who.in_driver, k.c, claims_of(in));
  ibv_cq* cq = k.who.cqs.find(in.cq);
  if (!cq) return -EINVAL;
  return ibv_poll_cq(k.c, cq, static_cast<int>(in.entries), k.completions.data());
}

// Tells whether the thread polls in a loop without news. The thread has polled this CQ before, has found all CQs since empty,
// and no DMA has landed meanwhile. So memory that its loop may read has not changed either.
bool comes_round(caller& k, channel::handle cq, std::uint64_t landings) {
  auto& row = k.found_empty;
  if (!row.empty()) row.back().landings = k.landings;
  const auto before = std::find_if(row.begin(), row.end(), [cq](const caller::empty_queue& q) { return q.cq == cq; });
  const bool round = before != row.end() && before->landings == landings;
  if (before != row.end()) row.erase(before);
  row.push_back({cq, landings});
  return round;
}

// A polling loop without news sleeps until DMA lands, and polls again at its next turn.
int poll_cq(caller& k, const channel::poll_cq& in, channel::poll_cq::answer& out) {
  client& p = k.who;
  constexpr std::size_t each = sizeof(channel::completion) + sizeof(std::uint64_t);
  if (in.entries > k.data.size() / each) return EINVAL;
  k.completions.resize(std::max<std::size_t>(in.entries, 1));
  const std::uint64_t seen = p.changes.landings();
  int found = look(k, in);
  if (found < 0) return -found;
  if (found == 0) ++p.stats.empty_polls;
  if (found == 0 && in.entries > 0 && comes_round(k, in.cq, seen)) {
    ++p.stats.stretched_polls;
    k.in_vain = !p.changes.wait(k.c, seen, 0, false, p.config.poll_stretch, signal_place(k));
    if (!k.in_vain) found = look(k, in);
    if (found < 0) return -found;
  }
  if (found > 0 || in.entries == 0) k.found_empty.clear();
  if (found > 0) p.active.completed(k.c.time());
  out.found = static_cast<std::uint32_t>(found);
  for (std::size_t i = 0; i < out.found; ++i) {
    const channel::completion wc = shown(k.completions[i]);
    const std::uint64_t at = k.completions[i].completion_timestamp;
    std::memcpy(k.data.data() + i * sizeof wc, &wc, sizeof wc);
    std::memcpy(k.data.data() + out.found * sizeof wc + i * sizeof at, &at, sizeof at);
  }
  return 0;
}

int notify_cq(caller& k, const channel::notify_cq& in, channel::nothing&) {
  ibv_cq* cq = k.who.cqs.find(in.cq);
  return cq ? ibv_req_notify_cq(k.c, cq, in.solicited != 0) : EINVAL;
}

// Acknowledges the event at once, so that no call waits for the program. The program counts its own acknowledgements.
int take_cq_event(caller& k, const channel::take_cq_event& in, channel::take_cq_event::answer& out) {
  ibv_comp_channel* from = k.who.channels.find(in.channel);
  if (!from) return EINVAL;
  ibv_cq* cq = nullptr;
  void* user = nullptr;
  if (!hcax_take_cq_event(k.c, from, &cq, &user)) return 0;
  ibv_ack_cq_events(cq, 1);
  out.user = as_user(user);
  return 0;
}

int take_async_event(caller& k, const channel::take_async_event& in, channel::take_async_event::answer& out) {
  ibv_context* context = k.who.contexts.find(in.context);
  if (!context) return EINVAL;
  ibv_async_event event{};
  if (!hcax_take_async_event(k.c, context, &event)) return 0;
  ibv_ack_async_event(&event);
  out.found = 1;
  out.type = event.event_type;
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      out.user = as_user(event.element.cq->cq_context);
      break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      out.user = as_user(event.element.srq->srq_context);
      break;
    case IBV_EVENT_DEVICE_FATAL:
      break;
    default:
      out.user = as_user(event.element.qp->qp_context);
      break;
  }
  return 0;
}

}  // namespace

void add_completion_requests(handler_table& t) {
  add<channel::create_cq, create_cq>(t);
  add<channel::destroy_cq, destroy_cq>(t);
  add<channel::modify_cq, modify_cq>(t);
  add<channel::resize_cq, resize_cq>(t);
  add<channel::poll_cq, poll_cq>(t);
  add<channel::notify_cq, notify_cq>(t);
  add<channel::take_cq_event, take_cq_event>(t);
  add<channel::take_async_event, take_async_event>(t);
}

}  // namespace hcasim::applications
