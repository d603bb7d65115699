// Sending: from the operation at the cursor to packets in PSN order at the port.
#include "models/adapter/requester/requester.h"
#include "models/adapter/requester/requester_rules.h"

namespace hcasim {

bool requester::may_go_on(const flow& f) {
  return may_send(f.state) && f.cursor != f.operations.end_number() && f.cursor < f.failed;
}

process requester::pump(flow& f, ps t) {
  if (f.pumping) co_return;
  f.pumping = true;
  ++f.busy;
  while (may_go_on(f)) {
    operation* op = f.operations.at_number(f.cursor);
    const std::uint32_t pass = f.pass;
    const std::uint64_t number = f.cursor;
    const std::uint32_t packet_index = f.cursor_packet;
    // After a wait the operation may have been completed, or be repeated from another packet on.
    const auto still_here = [&] {
      return may_go_on(f) && f.pass == pass && f.cursor == number && f.cursor_packet == packet_index;
    };
    const std::uint32_t next = op->psns == 0 ? f.next_psn : psn_add(op->first_psn, f.cursor_packet);
    if (f.state.has(flow_mark::numbered) && !op->view.fetches() &&
        static_cast<std::uint64_t>(psn_distance(f.una_psn, next)) >= config_.window + f.read_psns) {
      break;
    }
    if (f.cursor_packet == 0) {
      t = message_engine_.start(now(), clock_.cycles(config_.message_interval));
      context_request c;
      c.index = f.qpn;
      c.operation = op->work->operation;
      co_await qpc.request(c, t);
      const bool current = still_here();
      if (c.failed) {
        if (current) {
          op->status = HCA_WC_LOC_QP_OP_ERR;
          f.failed = number;
        }
        continue;
      }
      auto& q = c.as<hca_qpc>();
      if (current) {
        f.qp = settings(q, f.qpn);
        if (!f.state.has(flow_mark::numbered)) f.next_psn = f.una_psn = f.sent_psn = q.next_psn & wire::psn_mask;
        f.on(flow_event::context_read);
        if (q.state != HCA_QP_RTS && q.state != HCA_QP_SQD && op->status == HCA_WC_SUCCESS) op->status = HCA_WC_LOC_QP_OP_ERR;
        if (op->status == HCA_WC_SUCCESS) op->status = transport_status(op->view, q.transport, q.mtu_shift);
        if (op->status != HCA_WC_SUCCESS) {
          f.failed = f.cursor;
        } else if (op->psns == 0 && !op->view.is_local()) {
          op->first_psn = f.next_psn;
          op->psns = psns_of(op->view, q.mtu_shift);
          f.next_psn = psn_add(f.next_psn, op->psns);
          if (op->view.fetches()) f.read_psns += op->psns;
          q.next_psn = f.next_psn;
          c.dirty = true;
        }
      }
      qpc.release(c);
      if (!current || f.cursor >= f.failed) continue;
      if (op->view.is_local()) {
        ++f.cursor;
        continue;
      }
    }
    co_await buffers_.take();
    if (!still_here()) {
      buffers_.give();
      continue;
    }
    buffers_probe_.set(buffers_.in_use(), now());
    co_await queue_.until(packet_engine_.start(now(), clock_.cycles(config_.packet_interval)));
    if (!still_here()) {
      buffers_.give();
      continue;
    }
    const std::uint64_t ticket = f.out.reserve();
    const std::uint32_t count = op->view.fetches() ? 1 : op->psns;
    if (++f.cursor_packet >= count) {
      ++f.cursor;
      f.cursor_packet = 0;
    }
    ++op->pins;
    ++f.busy;
    gather(f, *op, packet_index, ticket, pass, now() + clock_.cycles(config_.packet_latency));
  }
  f.pumping = false;
  --f.busy;
  settle(f, now());
  check_stopped(f);
}

void requester::fill_header(const flow& f, const operation& op, std::uint32_t index, packet& p) {
  const wqe_view& w = op.view;
  const bool fetches = w.fetches();
  packet_header& h = p.header;
  h = {};
  h.service_level = f.qp.service_level;
  h.virtual_lane = f.qp.service_level;
  h.dest_lid = f.qp.dest_lid;
  h.source_lid = lid_;
  h.dest_qpn = f.qp.dest_qpn;
  h.srqn = w.srqn;
  if (w.is_datagram()) {
    if (w.gid) {
      h.global = true;
      p.grh = {.source = gid_, .dest = *w.gid, .flow = w.datagram.flow, .hop_limit = w.datagram.hop_limit};
    }
    h.service_level = h.virtual_lane = w.datagram.service_level & 0xf;
    h.dest_lid = w.datagram.lid;
    h.dest_qpn = w.datagram.qpn & wire::psn_mask;
    h.qkey = (w.datagram.qkey >> 31) != 0 ? f.qp.qkey : w.datagram.qkey;
    h.source_qpn = f.qpn;
  } else {
    set_route(p, f.qp.route, gid_);
  }
  h.opcode = static_cast<std::uint8_t>(opcode_of(w, index, fetches ? 1 : op.psns) | transport_bits(f.qp.transport));
  h.psn = psn_add(op.first_psn, fetches ? op.responses : index);
  const wire::shape& s = h.shape();
  h.ack_request = !f.qp.unreliable() && (s.last || (index + 1) % config_.ack_every == 0);
  h.solicited = s.last && (w.control.flags & HCA_WQE_SOLICITED);
  const std::uint64_t mtu = std::uint64_t{1} << f.qp.mtu_shift;
  if (s.reth) {
    const std::uint64_t done = fetches ? op.responses * mtu : 0;
    h.va = w.remote.address + done;
    h.rkey = w.remote.key;
    h.dma_length = static_cast<std::uint32_t>(w.length - done);
  } else if (s.atomic) {
    h.va = w.remote.address;
    h.rkey = w.remote.key;
    h.swap_add = w.atomic.swap_add;
    h.compare = w.atomic.compare;
  }
  h.immediate = w.control.immediate;
  h.invalidate_key = w.control.immediate;
  p.payload = s.payload ? static_cast<std::uint32_t>(std::min(mtu, w.length - index * mtu)) : 0;
  p.tag = op.number;
  p.operation = op.work->operation;
}

process requester::gather(flow& f, operation& op, std::uint32_t index, std::uint64_t ticket, std::uint32_t pass, ps t) {
  co_await queue_.until(t);
  packet& p = packet_pool_.get();
  fill_header(f, op, index, p);
  verdict v = verdict::granted;
  if (p.payload != 0) {
    const std::uint64_t offset = std::uint64_t{index} << f.qp.mtu_shift;
    v = co_await gather_payload(f, op, offset, p, t);
  }
  // The last response may have come since its turn: then nothing is left to ask for, and the PSN is the next operation's.
  const bool answered = op.completed && op.view.fetches();
  const bool current = pass == f.pass && is_live(f.state) && !answered;
  if (current && v != verdict::granted && op.number < f.failed) {
    op.status = HCA_WC_LOC_PROT_ERR;
    f.failed = op.number;
  }
  if (current && op.number < f.failed) {
    encode(p);
    f.out.complete(ticket, &p, t);
  } else {
    packet_pool_.put(p);
    f.out.complete(ticket, nullptr, t);
    buffers_.give();
  }
  unpin(op, t);
  emit(f);
  --f.busy;
  if (f.failed != ~0ULL) settle(f, t);
  const bool had_waited = f.state.has(flow_mark::resumed);
  if (f.qp.unreliable() || had_waited) {
    if (had_waited && f.waiting == 0) f.on(flow_event::gather_ends);
    pump(f, std::max(t, now()));
  }
  check_stopped(f);
}

task<verdict> requester::gather_payload(flow& f, operation& op, std::uint64_t offset, packet& p, ps& t) {
  if (op.view.gather.empty()) {
    copy_inline(op.view, offset, {p.data(), p.payload});
    co_return verdict::granted;
  }
  for (;;) {
    missing_page page;
    const verdict v = co_await gather_once(f, op, offset, p, page, t);
    if (v != verdict::page_fault || !is_live(f.state)) co_return v;
    ++f.waiting;
    f.on(flow_event::gather_faults);
    auto answer = faults_.wait(page, f.qpn, &f, t);
    const page_faults::state outcome = co_await answer;
    f.on(--f.waiting != 0 ? flow_event::gather_answered : flow_event::last_gather_answered);
    t = std::max(t, now());
    if (outcome != page_faults::state::ready) co_return v;
  }
}

task<verdict> requester::gather_once(flow& f, operation& op, std::uint64_t offset, packet& p, missing_page& page, ps& t) {
  memory_access::transfer& tr = memory_.begin(p.operation);
  verdict v = verdict::granted;
  std::uint32_t filled = 0;
  for (const hca_wqe_data& s : op.view.gather) {
    if (offset >= s.length) {
      offset -= s.length;
      continue;
    }
    const auto n = static_cast<std::uint32_t>(std::min<std::uint64_t>(s.length - offset, p.payload - filled));
    memory_range range{.key = s.key, .owner = f.qp.owner, .va = s.address + offset, .checked = s.length - offset};
    v = co_await memory_.move(tr, dma_op::read, range, p.data() + filled, n, t);
    if (v != verdict::granted) break;
    filled += n;
    offset = 0;
    if (filled == p.payload) break;
  }
  page = tr.missing;
  const bool reached = co_await memory_.landed(tr, t);
  if (v == verdict::granted && !reached) v = verdict::table_error;
  co_return v;
}

void requester::emit(flow& f) {
  if (f.emitting) return;
  f.emitting = true;
  f.out.drain([this, &f](packet& p, ps at) {
    if (!is_live(f.state) || p.tag >= f.failed) {
      packet_pool_.put(p);
      buffers_.give();
      return;
    }
    ps t = std::max(at, now());
    ++packets_sent_;
    payload_sent_ += p.payload;
    valid_probe_.pulse(1, t, clock_.period());
    qpn_probe_.set(f.qpn, t);
    opcode_probe_.set(p.header.opcode, t);
    psn_probe_.set(p.header.psn, t);
    if (!f.timer.is_set()) restart_timer(f, t);
    const std::uint32_t psn = p.header.psn;
    const std::uint32_t end = psn_add(psn, psns_of(p.header, f.qp.mtu_shift));
    if (psn_distance(f.sent_psn, end) > 0) f.sent_psn = end;
    p.waiter = {};
    p.context = this;
    p.on_response = [](void* self, transaction& taken, ps) {
      taken.on_response = nullptr;
      static_cast<requester*>(self)->buffers_.give();
    };
    if (f.qp.unreliable()) {  // nothing will be acknowledged
      f.una_psn = end;
      ++advances_;
      if (p.header.shape().last) tell_departure(f, p);
    }
    if (egress.send(p, t) == tlm::TLM_COMPLETED) buffers_.give();
  });
  f.emitting = false;
}

void requester::tell_departure(flow& f, packet& p) {
  departure& d = departures_.get();
  d = {&f, p.tag};
  p.departed = {[](void* left) {
                  auto& told = *static_cast<departure*>(left);
                  const departure of = told;
                  requester& self = *of.of->owner;
                  self.departures_.put(told);
                  self.on_departure(*of.of, of.number);
                },
                &d};
}

// Datagrams that took different lanes may leave in another order than they were posted in; they complete in that order.
void requester::on_departure(flow& f, std::uint64_t number) {
  if (asked_to_stop(f.state) || number < f.operations.begin_number()) return;
  f.operations.at_number(number)->departed = true;
  const ps t = now();
  while (!f.operations.empty() && f.operations.front()->departed) {
    complete(f, HCA_WC_SUCCESS, t);
    settle(f, t);
  }
}

}  // namespace hcasim
