// The extended interfaces: ibv_wr_* gathers requests that go to the simulator as one list; an extended completion queue reads
// one completion after the other.
#include <algorithm>

#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/objects.h"

namespace hcasim::preload {
namespace {

qp_object& of_ex(ibv_qp_ex* qp) {
  return *reinterpret_cast<qp_object*>(qp);
}

channel::send_request& begin(ibv_qp_ex* qp, ibv_wr_opcode opcode) {
  pending_sends& p = *of_ex(qp).pending;
  channel::send_request r{};
  r.wr_id = qp->wr_id;
  r.opcode = opcode;
  r.flags = qp->wr_flags;
  p.requests.push_back(r);
  p.segments.emplace_back();
  return p.requests.back();
}

void remote(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address, std::uint32_t immediate = 0) {
  channel::send_request& r = begin(qp, opcode);
  r.rkey = rkey;
  r.remote_address = address;
  r.immediate = immediate;
}

void wr_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
  remote(qp, IBV_WR_RDMA_WRITE, rkey, address);
}
void wr_write_imm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, __be32 immediate) {
  remote(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, address, immediate);
}
void wr_read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
  remote(qp, IBV_WR_RDMA_READ, rkey, address);
}
void wr_cmp_swp(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare, std::uint64_t swap) {
  remote(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, address);
  of_ex(qp).pending->requests.back().compare_add = compare;
  of_ex(qp).pending->requests.back().swap = swap;
}
void wr_fetch_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t add) {
  remote(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, address);
  of_ex(qp).pending->requests.back().compare_add = add;
}
void wr_send(ibv_qp_ex* qp) {
  begin(qp, IBV_WR_SEND);
}
void wr_send_imm(ibv_qp_ex* qp, __be32 immediate) {
  begin(qp, IBV_WR_SEND_WITH_IMM).immediate = immediate;
}
void wr_send_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  begin(qp, IBV_WR_SEND_WITH_INV).immediate = rkey;
}
void wr_local_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  begin(qp, IBV_WR_LOCAL_INV).immediate = rkey;
}
void wr_bind_mw(ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* bind) {
  channel::send_request& r = begin(qp, IBV_WR_BIND_MW);
  r.mw = of<mw_object>(mw)->name;
  r.bind_rkey = rkey;
  r.bind = bind_of(*bind, mw);
  show_key(of_ex(qp).pending->binds, mw, rkey, nullptr);
}

void set_ud_addr(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
  pending_sends& p = *of_ex(qp).pending;
  if (p.requests.empty()) return;
  p.requests.back().ah = ah ? of<ah_object>(ah)->name : 0;
  p.requests.back().remote_qpn = qpn;
  p.requests.back().remote_qkey = qkey;
}

void set_xrc_srqn(ibv_qp_ex* qp, std::uint32_t srqn) {
  pending_sends& p = *of_ex(qp).pending;
  if (!p.requests.empty()) p.requests.back().remote_srqn = srqn;
}

void set_sge_list(ibv_qp_ex* qp, size_t n, const ibv_sge* list) {
  pending_sends& p = *of_ex(qp).pending;
  if (p.requests.empty()) return;
  p.segments.back().clear();
  for (size_t i = 0; i < n; ++i) p.segments.back().push_back({list[i].addr, list[i].length, list[i].lkey});
}
void set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
  const ibv_sge one{address, length, lkey};
  set_sge_list(qp, 1, &one);
}

// Inline data is copied at once, because the program may change its buffers before the doorbell.
void set_inline_list(ibv_qp_ex* qp, size_t n, const ibv_data_buf* list) {
  pending_sends& p = *of_ex(qp).pending;
  if (p.requests.empty()) return;
  std::vector<char>& bytes = p.inlined.emplace_back();
  for (size_t i = 0; i < n; ++i) {
    const char* from = static_cast<const char*>(list[i].addr);
    bytes.insert(bytes.end(), from, from + list[i].length);
  }
  p.requests.back().flags |= IBV_SEND_INLINE;
  p.segments.back().clear();
  if (!bytes.empty()) {
    p.segments.back().push_back({reinterpret_cast<std::uint64_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()), 0});
  }
}
void set_inline(ibv_qp_ex* qp, void* address, size_t length) {
  const ibv_data_buf one{address, length};
  set_inline_list(qp, 1, &one);
}

void clear(pending_sends& p) {
  p.requests.clear();
  p.segments.clear();
  p.inlined.clear();
  p.binds.clear();
}

void wr_start(ibv_qp_ex* qp) {
  clear(*of_ex(qp).pending);
}
void wr_abort(ibv_qp_ex* qp) {
  give_back(of_ex(qp).pending->binds);
  clear(*of_ex(qp).pending);
}
int wr_complete(ibv_qp_ex* qp) {
  pending_sends& p = *of_ex(qp).pending;
  const int error = post(of_ex(qp), p);
  if (error) give_back(p.binds);
  clear(p);
  return error;
}

cq_object& of_ex(ibv_cq_ex* cq) {
  return *reinterpret_cast<cq_object*>(cq);
}

int next_poll(ibv_cq_ex* cq) {
  cq_object& q = of_ex(cq);
  const int n = poll(q, 1, &q.polled);
  if (n < 0) return errno;
  if (n == 0) return ENOENT;
  std::memcpy(&q.polled_ticks, data().data() + sizeof q.polled, sizeof q.polled_ticks);
  cq->status = q.polled.status;
  cq->wr_id = q.polled.wr_id;
  return 0;
}
int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
  return attr->comp_mask ? EINVAL : next_poll(cq);
}
void end_poll(ibv_cq_ex*) {}

template <auto Field, class Result>
void reads(Result (*&entry)(ibv_cq_ex*)) {
  entry = [](ibv_cq_ex* cq) -> Result { return of_ex(cq).polled.*Field; };
}

}  // namespace

void open_extended(qp_object& q, std::uint64_t operations) {
  q.extended = true;
  q.pending = new pending_sends;
  ibv_qp_ex& e = q.qp;
  const auto with = [operations](std::uint64_t flag) { return (operations & flag) != 0; };
  if (with(IBV_QP_EX_WITH_RDMA_WRITE)) e.wr_rdma_write = wr_write;
  if (with(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)) e.wr_rdma_write_imm = wr_write_imm;
  if (with(IBV_QP_EX_WITH_SEND)) e.wr_send = wr_send;
  if (with(IBV_QP_EX_WITH_SEND_WITH_IMM)) e.wr_send_imm = wr_send_imm;
  if (with(IBV_QP_EX_WITH_RDMA_READ)) e.wr_rdma_read = wr_read;
  if (with(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)) e.wr_atomic_cmp_swp = wr_cmp_swp;
  if (with(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)) e.wr_atomic_fetch_add = wr_fetch_add;
  if (with(IBV_QP_EX_WITH_LOCAL_INV)) e.wr_local_inv = wr_local_inv;
  if (with(IBV_QP_EX_WITH_BIND_MW)) e.wr_bind_mw = wr_bind_mw;
  if (with(IBV_QP_EX_WITH_SEND_WITH_INV)) e.wr_send_inv = wr_send_inv;
  e.wr_set_ud_addr = set_ud_addr;
  e.wr_set_xrc_srqn = set_xrc_srqn;
  e.wr_set_inline_data = set_inline;
  e.wr_set_inline_data_list = set_inline_list;
  e.wr_set_sge = set_sge;
  e.wr_set_sge_list = set_sge_list;
  e.wr_start = wr_start;
  e.wr_complete = wr_complete;
  e.wr_abort = wr_abort;
}

void open_extended(cq_object& q) {
  ibv_cq_ex& e = q.cq;
  e.start_poll = start_poll;
  e.next_poll = next_poll;
  e.end_poll = end_poll;
  reads<&ibv_wc::opcode>(e.read_opcode);
  reads<&ibv_wc::vendor_err>(e.read_vendor_err);
  reads<&ibv_wc::byte_len>(e.read_byte_len);
  reads<&ibv_wc::imm_data>(e.read_imm_data);
  reads<&ibv_wc::qp_num>(e.read_qp_num);
  reads<&ibv_wc::src_qp>(e.read_src_qp);
  reads<&ibv_wc::wc_flags>(e.read_wc_flags);
  reads<&ibv_wc::slid>(e.read_slid);
  reads<&ibv_wc::sl>(e.read_sl);
  reads<&ibv_wc::dlid_path_bits>(e.read_dlid_path_bits);
  e.read_completion_ts = [](ibv_cq_ex* cq) { return of_ex(cq).polled_ticks; };
  e.read_completion_wallclock_ns = [](ibv_cq_ex* cq) {
    constexpr std::uint64_t ps_per_tick = 1'000'000'000 / channel::clock_khz;
    return date_of(of_ex(cq).polled_ticks * ps_per_tick);
  };
}

}  // namespace hcasim::preload
