// The firmware's hardware abstraction layer on the unit's sockets. The firmware's fibre waits for answers; its local time runs
// ahead of simulated time only between two accesses.
#include <algorithm>
#include <cstring>

#include "models/adapter/command_unit/command_unit.h"
#include "tlm/base/delegate.h"

namespace hcasim {

void command_unit::begin_access() {
  while (hangs_) [[unlikely]] core_.wait();
  t_ += clock_.cycles(config_.hal_access);
  if (t_ > now()) core_.wait_until(t_);
  t_ = now();
}

// One request, waited for.
template <class P>
void command_unit::call(initiator_socket<P>& port, P& p) {
  answer_here_ = false;
  call_on_response<&command_unit::on_answer<P>>(p, this);
  ps t = t_;
  if (port.send(p, t) == tlm::TLM_ACCEPTED) {
    asked_ = &port;
    asked_target_ = [](const void* asked) { return static_cast<const initiator_socket<P>*>(asked)->target(); };
    while (!answer_here_) core_.wait();
    asked_ = nullptr;
    t = std::max(p.answered_at, now());
  }
  t_ = std::max(t_, t);
}

int command_unit::dma_read(std::uint64_t address, void* to, std::uint32_t bytes) {
  begin_access();
  ++dma_reads_;
  advance();
  dma_request d;
  d.op = dma_op::read;
  d.source = dma_source::command;
  d.address = address;
  d.bytes = bytes;
  d.data = static_cast<std::byte*>(to);
  call(dma, d);
  return d.damaged ? HAL_DAMAGED : d.failed ? -1 : 0;
}

int command_unit::dma_write(std::uint64_t address, const void* from, std::uint32_t bytes) {
  begin_access();
  ++dma_writes_;
  advance();
  posted_write& w = writes_.get();
  w.op = dma_op::write;
  w.source = dma_source::command;
  w.failed = false;
  w.address = address;
  w.bytes = bytes;
  w.bytes_copy.assign(static_cast<const std::byte*>(from), static_cast<const std::byte*>(from) + bytes);
  w.data = w.bytes_copy.data();
  w.owner = this;
  call_on_response<&posted_write::owner, &command_unit::landed>(w, w);
  ++writes_in_flight_;
  ps t = t_;
  if (dma.send(w, t) == tlm::TLM_COMPLETED) {
    write_failed_ |= w.failed;
    writes_.put(w);
    --writes_in_flight_;
  }
  const bool failed = std::exchange(write_failed_, false);
  return failed ? -1 : 0;
}

void command_unit::landed(posted_write& w) {
  write_failed_ |= w.failed;
  writes_.put(w);
  if (--writes_in_flight_ == 0) core_.wake();
}

void command_unit::dma_fence() {
  begin_access();
  while (writes_in_flight_ != 0) core_.wait();
  t_ = std::max(t_, now());
}

initiator_socket<context_request>& command_unit::cache_port(hal_cache cache) {
  switch (cache) {
    case HAL_CACHE_QPC:
      return qpc;
    case HAL_CACHE_CQC:
      return cqc;
    case HAL_CACHE_MRC:
      return mrc;
    default:
      return extent;
  }
}

void command_unit::cache_op(hal_cache cache, context_op op, std::uint32_t index, std::uint64_t base, std::uint64_t entries) {
  begin_access();
  context_request c;
  c.op = op;
  c.index = index;
  c.area_base = base;
  c.area_entries = entries;
  if (op == context_op::drop || op == context_op::take) ++drops_;
  call(cache_port(cache), c);
  if (c.failed) [[unlikely]] {
    event(HCA_EVENT_CATASTROPHIC, 0);
  }
}

void command_unit::set_icm(icm_entry kind, std::uint64_t base, std::uint64_t bytes) {
  icm_area a;
  a.kind = kind;
  a.base = base;
  a.bytes = bytes;
  ps t = now();
  icm.access(a, t);
}

void command_unit::translation_drop(std::uint32_t tag, std::uint64_t first, std::uint64_t last) {
  begin_access();
  translate_request w;
  w.op = translate_op::drop;
  w.map.index = tag;
  w.va = first;
  w.last = last;
  call(walker, w);
}

void command_unit::key_drain(std::uint32_t index) {
  begin_access();
  ++drains_;
  const ps begin = t_;
  key_request k;
  k.op = key_op::drain;
  k.key = index << 8;
  call(keys, k);
  drain_time_.add(t_ - begin);
}

void command_unit::change_window(std::uint32_t index, window_op op, std::uint32_t region) {
  begin_access();
  window_request w;
  w.op = op;
  w.key = index << 8;
  w.region_key = region;
  call(windows, w);
}

void command_unit::order_send_queue(std::uint32_t qpn, send_queue_op op, bool notify) {
  begin_access();
  send_queue_control c;
  c.op = op;
  c.qpn = qpn;
  c.notify = notify;
  call(send_queue, c);
}

void command_unit::order_requester(std::uint32_t qpn, requester_op op) {
  begin_access();
  requester_control c;
  c.op = op;
  c.qpn = qpn;
  call(requester, c);
}

void command_unit::order_responder(std::uint32_t number, responder_op op, std::uint32_t hash) {
  begin_access();
  responder_control c;
  c.op = op;
  c.number = number;
  c.hash = hash;
  call(responder, c);
}

// The same access tells the doorbell unit and the send queue whether to accept doorbells.
void command_unit::qp_start(std::uint32_t qpn, std::uint32_t uar, bool shared) {
  order_send_queue(qpn, send_queue_op::start);
  set_page(false, qpn, uar);
  order_requester(qpn, requester_op::start);
  order_responder(qpn, shared ? responder_op::start_srq : responder_op::start);
}

void command_unit::qp_control(std::uint32_t qpn, hal_qp_op op) {
  switch (op) {
    case HAL_QP_STOP:
      order_send_queue(qpn, send_queue_op::stop);
      set_page(false, qpn, HAL_NO_PAGE);
      order_requester(qpn, requester_op::stop);
      return order_responder(qpn, responder_op::stop);
    case HAL_QP_FLUSH:
      order_requester(qpn, requester_op::flush);
      return order_responder(qpn, responder_op::flush);
    case HAL_QP_RESUME:
      return order_requester(qpn, requester_op::resume);
    case HAL_QP_DRAIN:
    case HAL_QP_DRAIN_NOTIFY:
      return order_send_queue(qpn, send_queue_op::drain, op == HAL_QP_DRAIN_NOTIFY);
    case HAL_QP_GO_ON:
      return order_send_queue(qpn, send_queue_op::resume);
  }
}

// Takes no time of its own: the access before it counts.
void command_unit::set_page(bool of_cq, std::uint32_t number, std::uint32_t uar) {
  doorbell_control c;
  c.of_cq = of_cq;
  c.open = uar != HAL_NO_PAGE;
  c.number = number;
  c.uar = uar;
  call(doorbell, c);
}

void command_unit::set_eq(std::uint32_t eqn, const hca_eqc* eqc) {
  begin_access();
  completion_control c;
  c.number = eqn;
  c.open = eqc != nullptr;
  if (eqc) c.eqc = *eqc;
  call(completion, c);
}

void command_unit::set_group(std::uint32_t hash, std::uint32_t first) {
  order_responder(first, responder_op::set_group, hash);
}

// The manager of the subnet learns the change at once, without packets.
void command_unit::set_group_lid(unsigned port, std::uint16_t lid, bool joins) {
  const std::pair group(port, lid);
  if (joins) {
    group_lids_.push_back(group);
  } else {
    const auto it = std::find(group_lids_.begin(), group_lids_.end(), group);
    if (it == group_lids_.end()) return;
    group_lids_.erase(it);
  }
  if (on_group_) on_group_(port, lid, joins);
}

void command_unit::settle_cq(std::uint32_t cqn) {
  begin_access();
  completion_control c;
  c.op = completion_op::settle;
  c.number = cqn;
  call(completion, c);
}

void command_unit::event(std::uint32_t type, std::uint32_t number) {
  begin_access();
  report r;
  r.event = true;
  r.type = type;
  r.number = number;
  call(reports, r);
}

void command_unit::pages(std::uint32_t index, std::uint64_t first, std::uint64_t last, enum ::hal_pages outcome) {
  static constexpr page_outcome outcomes[] = {page_outcome::ready, page_outcome::read_only, page_outcome::unmapped};
  begin_access();
  for (initiator_socket<page_answer>* port : {&requester_pages, &responder_pages}) {
    page_answer a;
    a.index = index;
    a.outcome = outcomes[outcome];
    a.first = first;
    a.last = last;
    call(*port, a);
  }
}

void command_unit::charge(enum ::hal_work kind, std::uint32_t items) {
  const double each[HAL_WORK_KINDS] = {config_.command_work, config_.entry_work, config_.chunk_work, config_.bitmap_work};
  if (kind == HAL_WORK_ENTRY) entries_ += items;
  t_ += clock_.cycles(each[kind] * items);
}

}  // namespace hcasim

extern "C" {

int hal_dma_read(struct hal* h, uint64_t address, void* to, uint32_t bytes) {
  return h->unit->dma_read(address, to, bytes);
}
int hal_dma_write(struct hal* h, uint64_t address, const void* from, uint32_t bytes) {
  return h->unit->dma_write(address, from, bytes);
}
void hal_dma_fence(struct hal* h) {
  h->unit->dma_fence();
}
void hal_cache_drop(struct hal* h, enum hal_cache cache, uint32_t index) {
  h->unit->cache_op(cache, hcasim::context_op::drop, index, 0, 0);
}
void hal_qpc_take(struct hal* h, uint32_t qpn) {
  h->unit->cache_op(HAL_CACHE_QPC, hcasim::context_op::take, qpn, 0, 0);
}
void hal_qpc_give(struct hal* h, uint32_t qpn) {
  h->unit->cache_op(HAL_CACHE_QPC, hcasim::context_op::give, qpn, 0, 0);
}
void hal_cqc_take(struct hal* h, uint32_t cqn) {
  h->unit->cache_op(HAL_CACHE_CQC, hcasim::context_op::take, cqn, 0, 0);
  h->unit->settle_cq(cqn);
}
void hal_cqc_give(struct hal* h, uint32_t cqn) {
  h->unit->cache_op(HAL_CACHE_CQC, hcasim::context_op::give, cqn, 0, 0);
}
void hal_translation_drop(struct hal* h, uint32_t tag, uint64_t first, uint64_t last) {
  h->unit->translation_drop(tag, first, last);
}
void hal_key_drain(struct hal* h, uint32_t index) {
  h->unit->key_drain(index);
}
void hal_key_lock(struct hal* h, uint32_t index) {
  h->unit->change_window(index, hcasim::window_op::lock);
}
void hal_key_unlock(struct hal* h, uint32_t index) {
  h->unit->change_window(index, hcasim::window_op::unlock);
}
void hal_window_close(struct hal* h, uint32_t index) {
  h->unit->change_window(index, hcasim::window_op::close);
}
void hal_window_unbind(struct hal* h, uint32_t index, uint32_t region) {
  h->unit->change_window(index, hcasim::window_op::unbind, region);
}
void hal_set_area(struct hal* h, enum hal_cache cache, uint64_t base, uint64_t entries) {
  using hcasim::icm_entry;
  static constexpr icm_entry kinds[] = {icm_entry::qpc, icm_entry::cqc, icm_entry::mrc, icm_entry::extent};
  h->unit->set_icm(kinds[cache], base, entries * (cache == HAL_CACHE_QPC ? sizeof(hca_qpc) : 64));
  h->unit->cache_op(cache, hcasim::context_op::set_area, 0, base, entries);
}
void hal_set_map(struct hal* h, uint64_t base) {
  h->unit->set_icm(hcasim::icm_entry::none, base, 0);
}
void hal_set_tables(struct hal* h, uint64_t base, uint64_t bytes) {
  h->unit->set_icm(hcasim::icm_entry::pte, base, bytes);
}
void hal_qp_control(struct hal* h, uint32_t qpn, enum hal_qp_op op) {
  h->unit->qp_control(qpn, op);
}
void hal_qp_start(struct hal* h, uint32_t qpn, uint32_t uar, bool shared) {
  h->unit->qp_start(qpn, uar, shared);
}
void hal_cq_page(struct hal* h, uint32_t cqn, uint32_t uar) {
  h->unit->set_cq_page(cqn, uar);
}
void hal_group(struct hal* h, uint32_t hash, uint32_t first) {
  h->unit->set_group(hash, first);
}
void hal_group_lid(struct hal* h, uint32_t port, uint32_t lid, bool joins) {
  h->unit->set_group_lid(port, static_cast<uint16_t>(lid), joins);
}
void hal_set_eq(struct hal* h, uint32_t eqn, const struct hca_eqc* eqc) {
  h->unit->set_eq(eqn, eqc);
}
void hal_event(struct hal* h, uint32_t type, uint32_t number) {
  h->unit->event(type, number);
}
void hal_pages(struct hal* h, uint32_t index, uint64_t first, uint64_t last, enum hal_pages outcome) {
  h->unit->pages(index, first, last, outcome);
}
void hal_work(struct hal* h, enum hal_work kind, uint32_t items) {
  h->unit->charge(kind, items);
}
}
