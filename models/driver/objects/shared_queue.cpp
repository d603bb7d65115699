// Shared receive queues.
#include "models/driver/objects/shared_queue.h"

#include <array>
#include <bit>

#include "models/driver/device/access.h"
#include "models/driver/device/device.h"
#include "models/driver/verbs/post.h"
#include "models/driver/verbs/verbs_observer.h"

namespace hcasim::driver {

namespace {

constexpr std::uint32_t max_slots = 1 << 15;

void write(cpu& c, const shared_queue& srq, std::uint64_t at, std::span<const std::byte> bytes) {
  store_blocks(c, srq.buffer, at, bytes);
  if (srq.larger) store_blocks(c, *srq.larger, at, bytes);
}

void link(cpu& c, const shared_queue& srq, std::uint16_t slot) {
  const hca_wqe_next next{srq.next[slot], {}};
  write(c, srq, std::uint64_t{slot} << srq.stride_shift, std::as_bytes(std::span(&next, 1)));
}

}  // namespace

void free_slot(cpu& c, shared_queue& srq, std::uint16_t slot) {
  if (slot >= srq.next.size()) return;
  srq.next[srq.tail] = slot;
  link(c, srq, srq.tail);
  srq.tail = slot;
}

}  // namespace hcasim::driver

namespace hcasim::verbs {

using namespace driver;

namespace {

command_result create_on_adapter(cpu& c, shared_queue& srq, const protection_domain& pd) {
  const unsigned shift = uniform_shift(srq.buffer.runs(), srq.context->device->info().page_shifts);
  const std::vector<std::uint64_t> pages = srq.buffer.pages(shift);
  hca_create_srq create{};
  create.log_bytes = HCA_U8(static_cast<unsigned>(std::countr_zero(srq.buffer.bytes())));
  create.stride_shift = HCA_U8(srq.stride_shift);
  create.page_shift = HCA_U8(shift);
  create.pd = pd.number;
  create.pages = static_cast<std::uint32_t>(pages.size());
  create.record = of(srq.context).records.address(srq.record);
  create.uar = of(srq.context).uar_number;
  if (!srq.xrcd) {
    return run(c, srq.context, {.code = HCA_CMD_CREATE_SRQ, .in = in_bytes(create), .list = std::as_bytes(std::span(pages))});
  }
  const hca_create_xrc_srq xrc{create, srq.xrcd->domain->number, of(srq.cq).number};
  return run(c, srq.context, {.code = HCA_CMD_CREATE_XRC_SRQ, .in = in_bytes(xrc), .list = std::as_bytes(std::span(pages))});
}

ibv_srq* create(cpu& c, ibv_pd* domain, ibv_srq_init_attr* init, xrc_opening* xrcd, ibv_cq* cq);

}  // namespace

ibv_srq* ibv_create_srq(cpu& c, ibv_pd* domain, ibv_srq_init_attr* init) {
  return create(c, domain, init, nullptr, nullptr);
}

ibv_srq* ibv_create_srq_ex(cpu& c, ibv_context* context, ibv_srq_init_attr_ex* init) {
  const bool xrc = init->srq_type == IBV_SRQT_XRC;
  if (!init->pd || init->pd->context != context || (init->srq_type != IBV_SRQT_BASIC && !xrc)) return refuse(EINVAL);
  if (!xrc) return create(c, init->pd, init, nullptr, nullptr);
  if (!init->xrcd || !init->cq) return refuse(EINVAL);
  return create(c, init->pd, init, static_cast<xrc_opening*>(init->xrcd), init->cq);
}

int ibv_get_srq_num(ibv_srq* handle, std::uint32_t* srq_num) {
  const auto& srq = static_cast<const shared_queue&>(*handle);
  if (!srq.xrcd) return EINVAL;
  *srq_num = srq.number;
  return 0;
}

namespace {

ibv_srq* create(cpu& c, ibv_pd* domain, ibv_srq_init_attr* init, xrc_opening* xrcd, ibv_cq* cq) {
  process& p = of(domain->context);
  device& d = *p.device;
  d.enter_kernel(c);
  auto& pd = static_cast<protection_domain&>(*domain);
  ibv_srq_attr& attr = init->attr;
  if (attr.max_wr == 0 || attr.max_wr >= max_slots || attr.max_sge > 31) return refuse(EINVAL);
  auto srq = std::make_unique<shared_queue>();
  const std::uint32_t slots = std::bit_ceil(attr.max_wr + 1);  // one stays free
  const std::uint32_t segments = std::bit_ceil(std::max(attr.max_sge, 1U) + 1);
  srq->context = domain->context;
  srq->srq_context = init->srq_context;
  srq->pd = domain;
  srq->xrcd = xrcd;
  srq->cq = cq;
  srq->stride_shift = static_cast<unsigned>(std::countr_zero(segments)) + 4;
  if (srq->buffer.allocate(c, p, std::uint64_t{slots} << srq->stride_shift, d.config().queue_memory)) return refuse(ENOMEM);
  srq->record = p.records.get(c);
  if (!srq->record) return refuse(ENOMEM);
  attr.max_wr = slots - 1;
  attr.max_sge = segments - 1;
  attr.srq_limit = 0;
  srq->attr = attr;
  srq->ids.resize(slots);
  srq->next.resize(slots);
  for (std::uint32_t i = 0; i < slots; ++i) srq->next[i] = static_cast<std::uint16_t>((i + 1) % slots);
  for (std::uint32_t i = 0; i < slots; ++i) link(c, *srq, static_cast<std::uint16_t>(i));
  srq->tail = static_cast<std::uint16_t>(slots - 1);
  const command_result r = create_on_adapter(c, *srq, pd);
  if (r.error) {
    p.records.put(srq->record);
    (void)d.may_let_go(c, p);
    return refuse(r.error);
  }
  srq->number = r.value;
  srq->handle = p.srqs.add(srq.get());
  d.srqs().set(srq->number, srq.get());
  ++pd.users;
  if (xrcd) {
    ++xrcd->users;
    ++of(cq).users;
  }
  if (observer_of_verbs) [[unlikely]]
    observer_of_verbs->made(*srq);
  return srq.release();
}

command_result resize_on_adapter(cpu& c, const shared_queue& srq, const queue_buffer& buffer) {
  const unsigned shift = uniform_shift(buffer.runs(), srq.context->device->info().page_shifts);
  const std::vector<std::uint64_t> pages = buffer.pages(shift);
  hca_resize_srq resize{};
  resize.log_bytes = HCA_U8(static_cast<unsigned>(std::countr_zero(buffer.bytes())));
  resize.page_shift = HCA_U8(shift);
  resize.pages = static_cast<std::uint32_t>(pages.size());
  return run(
      c, srq.context,
      {.code = HCA_CMD_RESIZE_SRQ, .object = srq.number, .in = in_bytes(resize), .list = std::as_bytes(std::span(pages))});
}

// WQEs keep their slots in the larger buffer, so the list and the adapter's state of it stay valid. New slots are appended to
// the list. Others may post meanwhile.
int grow(cpu& c, shared_queue& srq, std::uint32_t slots) {
  process& p = of(srq.context);
  if (p.lost) return EIO;
  if (srq.larger) return EBUSY;
  queue_buffer fresh;
  srq.larger = &fresh;
  if (fresh.allocate(c, p, std::uint64_t{slots} << srq.stride_shift, p.device->config().queue_memory)) {
    srq.larger = nullptr;
    return ENOMEM;
  }
  std::vector<std::byte> wqe(std::size_t{1} << srq.stride_shift);
  for (std::uint64_t at = 0; at < srq.buffer.bytes(); at += wqe.size()) {
    p.bytes.read(srq.buffer.physical(at), wqe);
    p.bytes.write(fresh.physical(at), wqe);
  }
  c.copy(srq.buffer.bytes());
  const command_result r = resize_on_adapter(c, srq, fresh);
  srq.larger = nullptr;
  if (r.error) {
    (void)p.device->may_let_go(c, p);
    return r.error;
  }
  srq.buffer.swap(fresh);
  const auto old = static_cast<std::uint32_t>(srq.next.size());
  srq.ids.resize(slots);
  srq.next.resize(slots);
  for (std::uint32_t i = old; i < slots; ++i) free_slot(c, srq, static_cast<std::uint16_t>(i));
  srq.attr.max_wr = slots - 1;
  fresh.release(c);
  return 0;
}

std::uint32_t in_use(const shared_queue& srq) {
  std::uint32_t n = srq.attr.max_wr;
  for (std::uint16_t slot = srq.head; slot != srq.tail; slot = srq.next[slot]) --n;
  return n;
}

// The queue never becomes smaller: attributes show the room it has.
int make_room(cpu& c, shared_queue& srq, std::uint32_t max_wr) {
  if (max_wr == 0 || max_wr >= max_slots || max_wr < in_use(srq)) return EINVAL;
  return max_wr > srq.attr.max_wr ? grow(c, srq, std::bit_ceil(max_wr + 1)) : 0;
}

}  // namespace

int ibv_modify_srq(cpu& c, ibv_srq* handle, ibv_srq_attr* attr, int mask) {
  auto& srq = static_cast<shared_queue&>(*handle);
  srq.context->device->enter_kernel(c);
  if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) return EINVAL;
  if (mask & IBV_SRQ_MAX_WR) {
    if (const int error = make_room(c, srq, attr->max_wr)) return error;
  }
  if (!(mask & IBV_SRQ_LIMIT)) return 0;
  if (attr->srq_limit > srq.attr.max_wr) return EINVAL;
  const command_result r = run(c, srq.context, {.code = HCA_CMD_MODIFY_SRQ, .object = srq.number, .modifier = attr->srq_limit});
  return r.error;
}

int ibv_query_srq(cpu& c, ibv_srq* handle, ibv_srq_attr* attr) {
  auto& srq = static_cast<shared_queue&>(*handle);
  srq.context->device->enter_kernel(c);
  hca_qpc q{};
  const command_result r = run(c, srq.context, {.code = HCA_CMD_QUERY_SRQ, .object = srq.number, .out = out_bytes(q)});
  if (r.error) return r.error;
  *attr = srq.attr;
  attr->srq_limit = q.srq_limit;
  return 0;
}

int ibv_destroy_srq(cpu& c, ibv_srq* handle) {
  auto& srq = static_cast<shared_queue&>(*handle);
  process& p = of(srq.context);
  device& d = *p.device;
  d.enter_kernel(c);
  if (srq.users > 0) return EBUSY;
  const command_result r = run(c, srq.context, {.code = HCA_CMD_DESTROY_SRQ, .object = srq.number});
  if (r.error) return r.error;
  if (!p.lost) d.srqs().set(srq.number, nullptr);
  drop_async_events(p, [&](const ibv_async_event& e) {
    return (e.event_type == IBV_EVENT_SRQ_LIMIT_REACHED || e.event_type == IBV_EVENT_SRQ_ERR) && e.element.srq == &srq;
  });
  srq.acknowledge.sleep_until(c, [&] { return srq.acknowledged >= srq.events; });
  --static_cast<protection_domain*>(srq.pd)->users;
  if (srq.xrcd) {
    --srq.xrcd->users;
    --of(srq.cq).users;
  }
  p.records.put(srq.record);
  srq.buffer.release(c);
  p.srqs.remove(srq.handle);
  delete &srq;
  return 0;
}

int ibv_post_srq_recv(cpu& c, ibv_srq* handle, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  auto& srq = static_cast<shared_queue&>(*handle);
  process& p = of(srq.context);
  const driver_config& config = p.device->config();
  const queue_lock::holder held(srq.lock, c);
  const ps begin = c.time();
  const ibv_recv_wr* const first = wr;
  c.spend(config.post_call);
  if (p.lost) {
    *bad_wr = wr;
    return EIO;
  }
  const unsigned capacity = (1U << (srq.stride_shift - 4)) - 1;
  std::array<hca_wqe_data, HCA_WQE_BLOCK * HCA_WQE_MAX_BLOCKS / sizeof(hca_wqe_data)> segments;
  unsigned posted = 0;
  int error = 0;
  for (; wr; wr = wr->next) {
    if (wr->num_sge < 0 || static_cast<unsigned>(wr->num_sge) > srq.attr.max_sge) {
      error = EINVAL;
    } else if (srq.head == srq.tail) {
      error = ENOMEM;
    }
    if (error) {
      *bad_wr = wr;
      break;
    }
    c.spend(config.post_wqe + config.post_segment * wr->num_sge);
    const std::size_t bytes = build_receive(*wr, capacity, segments);
    const std::uint64_t at = (std::uint64_t{srq.head} << srq.stride_shift) + sizeof(hca_wqe_next);
    write(c, srq, at, std::as_bytes(std::span(segments)).first(bytes));
    srq.ids[srq.head] = wr->wr_id;
    srq.head = srq.next[srq.head];
    ++srq.posted;
    ++posted;
  }
  if (posted > 0) {
    p.stats.receive_wqes += posted;
    store(c, srq.record + offsetof(hca_qp_record, rq_pi), std::uint32_t{srq.posted});
    ring(c, p.uar, HCA_UAR_RQ, srq.number, srq.posted);
    ++p.stats.doorbells;
    if (observer_of_verbs) [[unlikely]]
      observer_of_verbs->received(c, begin, srq, first, wr);
  }
  return error;
}

}  // namespace hcasim::verbs
