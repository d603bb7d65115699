#include "models/adapter/requester/packet_gather.h"

#include "models/adapter/requester/requester_rules.h"

namespace hcasim {

void packet_gather::fill_header(const send_qp& f, const send_operation& op, std::uint32_t index, packet& p) const {
  const wqe_view& w = op.view;
  const bool fetches = w.fetches();
  packet_header& h = p.header;
  h = {};
  p.port = ports_.existing(f.qp.port);
  h.service_level = f.qp.service_level;
  h.virtual_lane = f.qp.service_level;
  h.dest_lid = f.qp.dest_lid;
  h.source_lid = ports_.lid(p.port);
  h.dest_qpn = f.qp.dest_qpn;
  h.srqn = w.srqn;
  if (w.is_datagram()) {
    if (w.gid) {
      h.global = true;
      p.grh = {.source = ports_.gid(p.port), .dest = *w.gid, .flow = w.datagram.flow, .hop_limit = w.datagram.hop_limit};
    }
    h.service_level = h.virtual_lane = w.datagram.service_level & 0xf;
    h.dest_lid = w.datagram.lid;
    h.dest_qpn = w.datagram.qpn & wire::psn_mask;
    h.qkey = (w.datagram.qkey >> 31) != 0 ? f.qp.qkey : w.datagram.qkey;
    h.source_qpn = f.qpn;
  } else {
    set_route(p, f.qp.route, ports_.gid(p.port));
  }
  h.opcode = static_cast<std::uint8_t>(opcode_of(w, index, fetches ? 1 : op.psns) | transport_bits(f.qp.transport));
  h.psn = psn_add(op.first_psn, fetches ? op.responses : index);
  const wire::shape& s = h.shape();
  h.ack_request = !f.qp.unreliable() && (s.last || (index + 1) % ack_every_ == 0);
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

task<verdict> packet_gather::payload(send_qp& f, send_operation& op, std::uint64_t offset, packet& p, ps& t) {
  if (op.view.gather.empty()) {
    copy_inline(op.view, offset, {p.data(), p.payload});
    co_return verdict::granted;
  }
  for (;;) {
    missing_page page;
    const verdict v = co_await payload_once(f, op, offset, p, page, t);
    if (v != verdict::page_fault || !is_live(f.state)) co_return v;
    ++f.waiting;
    f.on(send_qp_event::gather_faults);
    auto answer = faults_.wait(page, f.qpn, &f, t);
    const page_faults::state outcome = co_await answer;
    f.on(--f.waiting != 0 ? send_qp_event::gather_answered : send_qp_event::last_gather_answered);
    t = std::max(t, now());
    if (outcome != page_faults::state::ready) co_return v;
  }
}

task<verdict> packet_gather::payload_once(send_qp& f, send_operation& op, std::uint64_t offset, packet& p, missing_page& page,
                                          ps& t) {
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

}  // namespace hcasim
