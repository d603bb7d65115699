#include "testbenches/kit/endpoint.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace hcasim::kit {

namespace {

std::string cause_of(int error) {
  if (error == ETIMEDOUT) return "; a command was not answered within driver.command_timeout";
  return error == EIO ? "; the device has failed" : "";
}

}  // namespace

void cannot_make(const limit& of, int error) {
  std::string text = std::string("cannot make ") + of.what + ": " + std::strerror(error);
  text += cause_of(error);
  if (error == EINVAL) text += "; its limits are in hca.command_unit";
  if (error == ENOMEM) text += std::string("; their number is limited by ") + of.said_by;
  throw verb_error(text);
}

process_context::process_context(cpu& thread, node& on) : c(thread), n(on), memory(on.host.memory_bytes(), on.host.seed()) {
  context = made(ibv_open_device(c, n.device(), memory));
  pd = made(ibv_alloc_pd(c, context));
  cq = made(ibv_create_cq(c, context, 1024, nullptr, nullptr, 0));
}

process_context::~process_context() {
  close();
}

bool process_context::close() {
  if (!context) return true;
  const int status = ibv_close_device(c, std::exchange(context, nullptr));
  return status == 0;
}

region process_context::allocate(std::uint64_t bytes, int access, page_policy pages, ibv_pd* in) {
  region r;
  r.length = bytes;
  r.addr = memory.allocate(bytes, pages);
  r.mr = made(ibv_reg_mr(c, in ? in : pd, r.addr, bytes, access));
  return r;
}

ibv_qp* process_context::create_qp(const qp_options& o, ibv_pd* in, ibv_cq* to) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = to ? to : cq;
  init.cap = {o.send_depth, o.receive_depth, o.sge, o.sge, o.inline_bytes};
  init.qp_type = o.type;
  init.srq = o.srq;
  init.sq_sig_all = o.signal_all;
  init.create_flags = o.privileged ? unsigned{HCAX_QP_PRIVILEGED} : 0U;
  return made(ibv_create_qp(c, in ? in : pd, &init));
}

address process_context::address_of(const ibv_qp* qp, const qp_options& o) const {
  return {n.device().lid_of(o.port), qp->qp_num, o.psn};
}

void process_context::must_connect(ibv_qp* qp, const address& peer, const qp_options& o) {
  const int error = connect(qp, peer, o);
  if (error == 0) return;
  std::string cause = cause_of(error);
  if (cause.empty()) {
    cause = "; its MTU may be that of hca.port.mtu and link.buffer, its READ depth hca.command_unit.max_read_depth";
  }
  throw verb_error(std::string("cannot connect a QP: ") + std::strerror(error) + cause);
}

ibv_global_route global_route_to(std::uint16_t lid) {
  return {std::bit_cast<ibv_gid>(hca_port_gid(lid)), 0, 0, 1, 0};
}

int connect(cpu& c, ibv_qp* qp, const address& peer, const qp_options& o) {
  const bool xrc = o.type == IBV_QPT_XRC_SEND || o.type == IBV_QPT_XRC_RECV;
  const bool asks = o.type == IBV_QPT_RC || o.type == IBV_QPT_XRC_SEND;
  const bool answers = o.type == IBV_QPT_RC || o.type == IBV_QPT_XRC_RECV;
  const bool ud = o.type == IBV_QPT_UD;
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = o.port;
  a.qp_access_flags = o.access;
  a.qkey = o.qkey;
  const int addressed = ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
  int status = ibv_modify_qp(c, qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | addressed);
  if (status != 0) return status;
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = o.mtu;
  a.dest_qp_num = peer.qpn;
  a.rq_psn = peer.psn;
  a.max_dest_rd_atomic = o.peer_read_depth == 0 ? o.read_depth : o.peer_read_depth;
  a.min_rnr_timer = o.rnr_timer;
  a.ah_attr = {peer.lid, o.service_level, o.port};
  if (o.global) {
    a.ah_attr.is_global = 1;
    a.ah_attr.grh = *o.global;
  }
  const int connected = ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  const int reliable = answers ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0;
  status = ibv_modify_qp(c, qp, &a, IBV_QP_STATE | connected | reliable);
  if (status != 0) return status;
  a.qp_state = IBV_QPS_RTS;
  a.timeout = o.timeout;
  a.retry_cnt = o.retry;
  a.rnr_retry = o.rnr_retry;
  a.sq_psn = o.psn;
  a.max_rd_atomic = o.read_depth;
  const int timed = asks  ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                    : xrc ? int{IBV_QP_TIMEOUT}
                          : 0;
  return ibv_modify_qp(c, qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | timed);
}

bool process_context::comes_true(const std::function<bool()>& it) {
  const ps begin = c.time();
  for (c.sync(); !it(); c.sync()) {
    const ps waited = c.time() - begin;
    if (waited > 1000_ms) return false;
    c.spend(std::max<ps>(20_us, waited / 16));
  }
  return true;
}

int process_context::reset(ibv_qp* qp) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RESET;
  return ibv_modify_qp(c, qp, &a, IBV_QP_STATE);
}

ibv_qp_state process_context::state(ibv_qp* qp) {
  ibv_qp_attr a{};
  ibv_qp_init_attr init{};
  if (ibv_query_qp(c, qp, &a, IBV_QP_STATE, &init) != 0) return IBV_QPS_UNKNOWN;
  return a.qp_state;
}

void process_context::fill(std::uint64_t addr, std::uint64_t count, std::uint8_t seed) {
  std::vector<std::byte> v(count);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<std::byte>(seed + i * 7 + (i >> 8));
  memory.write(addr, v);
}

std::vector<std::uint8_t> process_context::bytes(std::uint64_t addr, std::uint64_t count) {
  c.sync();
  std::vector<std::uint8_t> v(count);
  memory.read(addr, std::as_writable_bytes(std::span(v)));
  return v;
}

void process_context::store64(std::uint64_t addr, std::uint64_t value) {
  memory.write(addr, std::as_bytes(std::span(&value, 1)));
}

std::uint64_t process_context::load64(std::uint64_t addr) {
  c.sync();
  std::uint64_t v = 0;
  memory.read(addr, std::as_writable_bytes(std::span(&v, 1)));
  return v;
}

int post(cpu& c, ibv_qp* qp, request r) {
  ibv_send_wr wr{};
  wr.wr_id = r.id;
  wr.sg_list = r.sges.data();
  wr.num_sge = static_cast<int>(r.sges.size());
  wr.opcode = r.opcode;
  wr.send_flags = r.flags;
  wr.imm_data = r.immediate;
  if (r.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || r.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic = {r.remote, r.compare_add, r.swap, r.rkey};
  } else if (r.ah) {
    wr.wr.ud = {r.ah, r.qpn, r.qkey};
  } else {
    wr.wr.rdma = {r.remote, r.rkey};
  }
  wr.qp_type.xrc.remote_srqn = r.srqn;
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(c, qp, &wr, &bad);
}

namespace {

ibv_recv_wr receive_request(std::uint64_t id, std::vector<ibv_sge>& sges) {
  ibv_recv_wr wr{};
  wr.wr_id = id;
  wr.sg_list = sges.data();
  wr.num_sge = static_cast<int>(sges.size());
  return wr;
}

}  // namespace

int post_receive(cpu& c, ibv_qp* qp, std::uint64_t id, std::vector<ibv_sge> sges) {
  ibv_recv_wr wr = receive_request(id, sges);
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(c, qp, &wr, &bad);
}

int post_receive(cpu& c, ibv_srq* srq, std::uint64_t id, std::vector<ibv_sge> sges) {
  ibv_recv_wr wr = receive_request(id, sges);
  ibv_recv_wr* bad = nullptr;
  return ibv_post_srq_recv(c, srq, &wr, &bad);
}

std::optional<ibv_wc> next_completion(cpu& c, ibv_cq* cq, ps timeout) {
  ibv_wc wc{};
  const ps end = timeout == never ? never : c.time() + timeout;
  for (;;) {
    if (ibv_poll_cq(c, cq, 1, &wc) == 1) return wc;
    const ps left = end == never ? never : end - c.time();
    if (left <= ps(0) || !wait_cq(c, cq, left)) return std::nullopt;
  }
}

ibv_wc complete(cpu& c, ibv_qp* qp, const request& r, std::vector<ibv_wc>* others) {
  ibv_wc none{};
  none.status = IBV_WC_GENERAL_ERR;
  if (post(c, qp, r) != 0) return none;
  while (const auto wc = next_completion(c, qp->send_cq)) {
    const bool receive = wc->status == IBV_WC_SUCCESS && (wc->opcode & IBV_WC_RECV);
    if (wc->qp_num == qp->qp_num && wc->wr_id == r.id && !receive) return *wc;
    if (others) others->push_back(*wc);
  }
  return none;
}

}  // namespace hcasim::kit
