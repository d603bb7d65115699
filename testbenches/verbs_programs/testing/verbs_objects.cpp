// A verbs program that writes to its own part of libibverbs' objects, and sets attributes as real programs do: hcasim_objects
// WHAT. Status 0 = each call answered as a real library and kernel do.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>

#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {
namespace {

ibv_wc one_completion(ibv_cq* cq) {
  ibv_wc wc{};
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
  }
  return wc;
}

ibv_wc_status post(const looped& l, ibv_send_wr wr) {
  ibv_send_wr* bad = nullptr;
  wr.send_flags |= IBV_SEND_SIGNALED;
  REQUIRE(ibv_post_send(l.qp, &wr, &bad) == 0);
  return one_completion(l.cq).status;
}

ibv_mr* bindable(const looped& l) {
  ibv_mr* mr = ibv_reg_mr(l.o.pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
  REQUIRE(mr);
  return mr;
}

ibv_send_wr bind_request(ibv_mw* mw, std::uint32_t key, ibv_mr* mr) {
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_BIND_MW;
  wr.bind_mw.mw = mw;
  wr.bind_mw.rkey = key;
  wr.bind_mw.bind_info = {mr, reinterpret_cast<std::uint64_t>(buffer), sizeof buffer, IBV_ACCESS_REMOTE_WRITE};
  return wr;
}

ibv_send_wr write_request(ibv_sge& s, const looped& l, std::uint32_t key) {
  s = {reinterpret_cast<std::uint64_t>(buffer), 1, l.mr->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &s;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.wr.rdma = {reinterpret_cast<std::uint64_t>(buffer + 4096), key};
  return wr;
}

ibv_send_wr invalidate_request(std::uint32_t key) {
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_LOCAL_INV;
  wr.invalidate_rkey = key;
  return wr;
}

// Each turn composes the window's key anew, and keeps it in the window's own struct.
void window_again() {
  looped l;
  ibv_mr* mr = bindable(l);
  ibv_mw* mw = ibv_alloc_mw(l.o.pd, IBV_MW_TYPE_2);
  REQUIRE(mw);
  ibv_sge s{};
  for (int turn = 0; turn < 300; ++turn) {  // the key byte comes round
    const std::uint32_t key = ibv_inc_rkey(mw->rkey);
    REQUIRE(post(l, bind_request(mw, key, mr)) == IBV_WC_SUCCESS);
    mw->rkey = key;
    REQUIRE(post(l, write_request(s, l, key)) == IBV_WC_SUCCESS);
    REQUIRE(post(l, invalidate_request(key)) == IBV_WC_SUCCESS);
  }
  // Each request of a list sees the struct as the one before has left it.
  const std::uint32_t first = ibv_inc_rkey(mw->rkey);
  ibv_send_wr list[] = {bind_request(mw, first, mr), invalidate_request(first), bind_request(mw, ibv_inc_rkey(first), mr)};
  for (int i = 0; i < 2; ++i) list[i].next = &list[i + 1];
  for (ibv_send_wr& wr : list) wr.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  REQUIRE(ibv_post_send(l.qp, list, &bad) == 0);
  for (int i = 0; i < 3; ++i) REQUIRE(one_completion(l.cq).status == IBV_WC_SUCCESS);
  REQUIRE(mw->rkey == ibv_inc_rkey(first));
}

// A posted bind shows the key in the window's struct, and a refused one leaves the struct. The program gives a key byte alone.
void window_shows_its_key() {
  looped l;
  ibv_mr* mr = bindable(l);
  ibv_mw* mw = ibv_alloc_mw(l.o.pd, IBV_MW_TYPE_2);
  REQUIRE(mw);
  ibv_sge s{};
  for (const std::uint32_t byte : {7U, 0U, 0xffU}) {
    const std::uint32_t wanted = (mw->rkey & ~0xffU) | byte;
    REQUIRE(post(l, bind_request(mw, byte, mr)) == IBV_WC_SUCCESS && mw->rkey == wanted);
    REQUIRE(post(l, write_request(s, l, mw->rkey)) == IBV_WC_SUCCESS);
    REQUIRE(post(l, invalidate_request(mw->rkey)) == IBV_WC_SUCCESS);
  }
  const std::uint32_t before = mw->rkey;
  ibv_send_wr list[] = {bind_request(mw, 1, mr), write_request(s, l, l.mr->rkey), bind_request(mw, 2, mr)};
  list[1].opcode = IBV_WR_TSO;
  ibv_send_wr* bad = nullptr;
  for (int first : {1, 0}) {
    for (int i = first; i < 2; ++i) list[i].next = &list[i + 1];
    list[0].send_flags = IBV_SEND_SIGNALED;
    REQUIRE(ibv_post_send(l.qp, list + first, &bad) != 0 && bad == &list[1]);
    REQUIRE(mw->rkey == (first == 1 ? before : (before & ~0xffU) | 1));
  }
  REQUIRE(one_completion(l.cq).status == IBV_WC_SUCCESS);
  REQUIRE(post(l, write_request(s, l, mw->rkey)) == IBV_WC_SUCCESS);
}

// The calls of the extended interface read the struct one by one.
void window_again_extended() {
  looped l;
  ibv_mr* mr = bindable(l);
  ibv_mw* mw = ibv_alloc_mw(l.o.pd, IBV_MW_TYPE_2);
  REQUIRE(mw);
  ibv_qp_init_attr_ex init{};
  init.send_cq = init.recv_cq = l.cq;
  init.cap = {8, 8, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = l.o.pd;
  init.send_ops_flags = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
  REQUIRE(ibv_destroy_qp(l.qp) == 0);
  l.qp = ibv_create_qp_ex(l.o.context, &init);
  REQUIRE(l.qp);
  l.bring_up();
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(l.qp);
  const ibv_mw_bind_info what{mr, reinterpret_cast<std::uint64_t>(buffer), sizeof buffer, IBV_ACCESS_REMOTE_WRITE};
  const std::uint32_t before = mw->rkey;
  ibv_wr_start(qp);
  ibv_wr_bind_mw(qp, mw, ibv_inc_rkey(before), &what);
  REQUIRE(mw->rkey == ibv_inc_rkey(before));
  ibv_wr_abort(qp);
  REQUIRE(mw->rkey == before);
  ibv_wr_start(qp);
  qp->wr_flags = IBV_SEND_SIGNALED;
  for (int turn = 0; turn < 2; ++turn) {
    const std::uint32_t key = ibv_inc_rkey(mw->rkey);
    ibv_wr_bind_mw(qp, mw, key, &what);
    mw->rkey = key;
    ibv_wr_local_inv(qp, key);
  }
  REQUIRE(ibv_wr_complete(qp) == 0);
  for (int i = 0; i < 4; ++i) REQUIRE(one_completion(l.cq).status == IBV_WC_SUCCESS);
}

// A window of type 1 takes the next key after the one in its struct. A program whose bind is lost puts the old key back.
void window_of_type_1() {
  looped l;
  ibv_mr* mr = bindable(l);
  ibv_mw* mw = ibv_alloc_mw(l.o.pd, IBV_MW_TYPE_1);
  REQUIRE(mw);
  ibv_mw_bind bind{1, IBV_SEND_SIGNALED, {mr, reinterpret_cast<std::uint64_t>(buffer), sizeof buffer, IBV_ACCESS_REMOTE_WRITE}};
  ibv_sge s{};
  for (int turn = 0; turn < 3; ++turn) {
    const std::uint32_t before = mw->rkey;
    REQUIRE(ibv_bind_mw(l.qp, mw, &bind) == 0 && mw->rkey == ibv_inc_rkey(before));
    REQUIRE(one_completion(l.cq).status == IBV_WC_SUCCESS);
    REQUIRE(post(l, write_request(s, l, mw->rkey)) == IBV_WC_SUCCESS);
  }
  mw->rkey ^= 1U << 20;  // another window's, if there were one
  REQUIRE(ibv_bind_mw(l.qp, mw, &bind) == 0);
  REQUIRE(one_completion(l.cq).status == IBV_WC_MW_BIND_ERR);
}

// Only the fields that a real provider reads matter. The kernel knows an object by its handle.
void fields() {
  looped l;
  ibv_mr* mr = bindable(l);
  ibv_mr* other = bindable(l);
  ibv_mw* mw = ibv_alloc_mw(l.o.pd, IBV_MW_TYPE_2);
  ibv_mw* second = ibv_alloc_mw(l.o.pd, IBV_MW_TYPE_2);
  REQUIRE(mw && second);
  ibv_sge s{};

  mr->lkey = 0x1234500;  // the region's key in a bind, otherwise without effect
  REQUIRE(post(l, bind_request(mw, ibv_inc_rkey(mw->rkey), mr)) == IBV_WC_MW_BIND_ERR);
  mr->rkey = other->rkey;
  mr->lkey = other->lkey;
  mr->addr = nullptr;
  mr->length = 0;
  REQUIRE(ibv_dereg_mr(mr) == 0);
  l.again();
  REQUIRE(post(l, write_request(s, l, other->rkey)) == IBV_WC_SUCCESS);

  mw->rkey = second->rkey;
  REQUIRE(ibv_dealloc_mw(mw) == 0);
  const std::uint32_t key = ibv_inc_rkey(second->rkey);
  REQUIRE(post(l, bind_request(second, key, other)) == IBV_WC_SUCCESS);
  REQUIRE(post(l, write_request(s, l, key)) == IBV_WC_SUCCESS);

  l.qp->state = IBV_QPS_ERR;  // the program's note
  REQUIRE(post(l, write_request(s, l, other->rkey)) == IBV_WC_SUCCESS);
  ibv_qp_attr a{};
  ibv_qp_init_attr init{};
  l.qp->qp_context = &a;
  REQUIRE(ibv_query_qp(l.qp, &a, IBV_QP_STATE, &init) == 0 && a.qp_state == IBV_QPS_RTS && l.qp->state == IBV_QPS_RTS);
  REQUIRE(init.qp_context == &a);

  const int cqe = l.cq->cqe;
  l.cq->cqe = 7;
  REQUIRE(ibv_resize_cq(l.cq, 40) == 0 && l.cq->cqe >= 40 && cqe < 40);
  REQUIRE(post(l, write_request(s, l, other->rkey)) == IBV_WC_SUCCESS);
}

// A destination is read when a request is posted, and one handle serves many.
void address() {
  const opened o = open();
  ibv_cq* cq = ibv_create_cq(o.context, 16, nullptr, nullptr, 0);
  ibv_qp* qp = datagram_qp(o, cq, 0xff12'3456);  // 24 bits of the PSN count
  ibv_port_attr port{};
  REQUIRE(ibv_query_port(o.context, 1, &port) == 0);
  ibv_ah_attr to{};
  to.dlid = port.lid;
  to.port_num = 1;
  to.grh.sgid_index = 77;  // there is no GRH
  to.grh.hop_limit = 9;
  ibv_ah* good = ibv_create_ah(o.pd, &to);
  REQUIRE(good);
  to.is_global = 1;
  REQUIRE(!ibv_create_ah(o.pd, &to) && errno == EINVAL);
  to.is_global = 0;
  to.port_num = 0;
  REQUIRE(!ibv_create_ah(o.pd, &to) && errno == EINVAL);
  ibv_mr* mr = ibv_reg_mr(o.pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  REQUIRE(mr);
  ibv_sge in{reinterpret_cast<std::uint64_t>(buffer + 4096), 64, mr->lkey};
  ibv_sge out{reinterpret_cast<std::uint64_t>(buffer), 8, mr->lkey};
  for (int i = 0; i < 3; ++i) {
    ibv_recv_wr take{};
    ibv_recv_wr* bad = nullptr;
    take.sg_list = &in;
    take.num_sge = 1;
    REQUIRE(ibv_post_recv(qp, &take, &bad) == 0);
    ibv_send_wr wr{};
    ibv_send_wr* wrong = nullptr;
    wr.sg_list = &out;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.ud.ah = good;
    wr.wr.ud.remote_qpn = qp->qp_num;
    wr.wr.ud.remote_qkey = 5;
    REQUIRE(ibv_post_send(qp, &wr, &wrong) == 0);
    wr.wr.ud.ah = nullptr;  // too late
    REQUIRE(one_completion(cq).status == IBV_WC_SUCCESS && one_completion(cq).status == IBV_WC_SUCCESS);
  }
  REQUIRE(ibv_destroy_ah(good) == 0);
}

// The kernel finds no object under an overwritten handle, and nothing changes.
template <class Object>
void garbled(Object* object, int error, const char* what, int (*call)(Object*)) {
  object->handle ^= 0xdeadbeef;
  errno = 0;
  const int answer = call(object);
  object->handle ^= 0xdeadbeef;
  if (answer == error && errno == error) return;
  std::printf("%s: %d, errno %d, not %d\n", what, answer, errno, error);
  std::exit(1);
}

void handles() {
  looped l;
  const opened other = open();
  other.pd->context = l.o.context;
  REQUIRE(ibv_dealloc_pd(other.pd) == ENOENT && !ibv_reg_mr(other.pd, buffer, 4096, 0) && errno == EINVAL);
  other.pd->context = other.context;
  REQUIRE(ibv_dealloc_pd(other.pd) == 0);
  ibv_mr* mr = bindable(l);
  ibv_mw* mw = ibv_alloc_mw(l.o.pd, IBV_MW_TYPE_2);
  ibv_srq_init_attr queue{};
  queue.attr = {4, 1, 0};
  ibv_srq* srq = ibv_create_srq(l.o.pd, &queue);
  ibv_pd* pd = ibv_alloc_pd(l.o.context);
  REQUIRE(mw && srq && pd);
  garbled<ibv_mr>(mr, ENOENT, "dereg_mr", ibv_dereg_mr);
  garbled<ibv_mw>(mw, ENOENT, "dealloc_mw", [](ibv_mw* m) { return ibv_dealloc_mw(m); });
  garbled<ibv_srq>(srq, ENOENT, "destroy_srq", ibv_destroy_srq);
  garbled<ibv_pd>(pd, ENOENT, "dealloc_pd", ibv_dealloc_pd);
  garbled<ibv_cq>(l.cq, ENOENT, "destroy_cq", ibv_destroy_cq);
  garbled<ibv_cq>(l.cq, EINVAL, "req_notify_cq", [](ibv_cq* cq) {
    const int error = ibv_req_notify_cq(cq, 0);
    errno = error;
    return error;
  });
  garbled<ibv_qp>(l.qp, ENOENT, "destroy_qp", ibv_destroy_qp);
  garbled<ibv_qp>(l.qp, EINVAL, "modify_qp", [](ibv_qp* qp) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_ERR;
    return ibv_modify_qp(qp, &a, IBV_QP_STATE);
  });
  garbled<ibv_qp>(l.qp, EINVAL, "query_qp", [](ibv_qp* qp) {
    ibv_qp_attr a{};
    ibv_qp_init_attr init{};
    return ibv_query_qp(qp, &a, IBV_QP_STATE, &init);
  });
  garbled<ibv_pd>(pd, EINVAL, "reg_mr", [](ibv_pd* p) { return ibv_reg_mr(p, buffer, 4096, 0) ? 0 : errno; });
  garbled<ibv_pd>(pd, EINVAL, "alloc_mw", [](ibv_pd* p) { return ibv_alloc_mw(p, IBV_MW_TYPE_1) ? 0 : errno; });
  garbled<ibv_pd>(pd, EINVAL, "create_srq", [](ibv_pd* p) {
    ibv_srq_init_attr init{};
    init.attr = {4, 1, 0};
    return ibv_create_srq(p, &init) ? 0 : errno;
  });
  static ibv_qp_init_attr init{};
  static ibv_pd* const with = pd;
  init.send_cq = init.recv_cq = l.cq;
  init.cap = {4, 4, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  garbled<ibv_cq>(l.cq, EINVAL, "create_qp of a CQ", [](ibv_cq*) { return ibv_create_qp(with, &init) ? 0 : errno; });
  init.srq = srq;
  garbled<ibv_srq>(srq, EINVAL, "create_qp of an SRQ", [](ibv_srq*) { return ibv_create_qp(with, &init) ? 0 : errno; });
  // Posting and polling use the data behind the public struct, as real providers do.
  l.qp->handle ^= 0xdeadbeef;
  l.cq->handle ^= 0xdeadbeef;
  ibv_sge s{};
  REQUIRE(post(l, write_request(s, l, mr->rkey)) == IBV_WC_SUCCESS);
  l.qp->handle ^= 0xdeadbeef;
  l.cq->handle ^= 0xdeadbeef;
  REQUIRE(ibv_dereg_mr(mr) == 0 && ibv_dealloc_mw(mw) == 0 && ibv_destroy_srq(srq) == 0 && ibv_dealloc_pd(pd) == 0);
}

// Attributes count where they apply.
void attributes() {
  const opened o = open();
  ibv_cq* cq = ibv_create_cq(o.context, 16, nullptr, nullptr, 0);
  ibv_srq_init_attr queue{};
  queue.attr = {4, 1, 1U << 30};  // no limit is armed when it is made
  ibv_srq* srq = ibv_create_srq(o.pd, &queue);
  REQUIRE(cq && srq);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.srq = srq;
  init.cap = {8, 1U << 30, 1, 1U << 30, 0};
  init.qp_type = IBV_QPT_RC;
  ibv_qp* qp = ibv_create_qp(o.pd, &init);
  REQUIRE(qp && init.cap.max_recv_wr == 0);
  init.cap = {8, 1U << 30, 1, 1U << 30, 0};
  init.srq = nullptr;
  REQUIRE(!ibv_create_qp(o.pd, &init) && errno == EINVAL);
  REQUIRE(ibv_destroy_qp(qp) == 0);

  ibv_xrcd_init_attr domain{};
  domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  domain.fd = -1;
  domain.oflags = O_CREAT;
  ibv_xrcd* xrcd = ibv_open_xrcd(o.context, &domain);
  REQUIRE(xrcd);
  ibv_qp_init_attr_ex ex{};
  ex.qp_type = IBV_QPT_XRC_RECV;
  ex.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  ex.xrcd = xrcd;
  ex.srq = srq;                                         // it has none, nor
  ex.cap = {1U << 30, 1U << 30, 1000, 1000, 1U << 30};  // queues
  ibv_qp* target = ibv_create_qp_ex(o.context, &ex);
  REQUIRE(target);
  ibv_qp_init_attr_ex sending{};
  sending.qp_type = IBV_QPT_XRC_SEND;
  sending.comp_mask = IBV_QP_INIT_ATTR_PD;
  sending.pd = o.pd;
  sending.send_cq = cq;
  sending.srq = srq;
  sending.cap = {8, 1U << 30, 1, 1U << 30, 0};
  ibv_qp* initiator = ibv_create_qp_ex(o.context, &sending);
  REQUIRE(initiator);

  // A basic SRQ has no use for a domain and a CQ.
  ibv_srq_init_attr_ex basic{};
  basic.attr = {4, 1, 0};
  basic.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  basic.srq_type = IBV_SRQT_BASIC;
  basic.pd = o.pd;
  REQUIRE(ibv_create_srq_ex(o.context, &basic));
  basic.srq_type = IBV_SRQT_XRC;
  REQUIRE(!ibv_create_srq_ex(o.context, &basic) && errno == EINVAL);

  // Flags of raw and TCP traffic mean nothing to a connection.
  looped l;
  ibv_sge s{};
  ibv_send_wr wr = write_request(s, l, l.mr->rkey);
  wr.send_flags = IBV_SEND_IP_CSUM;
  REQUIRE(post(l, wr) == IBV_WC_SUCCESS);
}

ibv_qp* of_type(const opened& o, ibv_cq* cq, ibv_xrcd* xrcd, ibv_qp_type type) {
  ibv_qp_init_attr_ex init{};
  init.qp_type = type;
  init.cap = {8, 8, 1, 1, 0};
  init.send_cq = init.recv_cq = cq;
  init.comp_mask = type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD;
  init.pd = o.pd;
  init.xrcd = xrcd;
  ibv_qp* qp = ibv_create_qp_ex(o.context, &init);
  REQUIRE(qp);
  return qp;
}

// Brings QPs of all kinds up with the masks of programs that know only one kind of connection.
void masks() {
  const opened o = open();
  ibv_cq* cq = ibv_create_cq(o.context, 16, nullptr, nullptr, 0);
  ibv_xrcd_init_attr domain{};
  domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  domain.fd = -1;
  domain.oflags = O_CREAT;
  ibv_xrcd* xrcd = ibv_open_xrcd(o.context, &domain);
  REQUIRE(cq && xrcd);
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, IBV_QPT_UC}) {
    ibv_qp* qp = of_type(o, cq, xrcd, type);
    const bool reliable = type != IBV_QPT_UC;
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    REQUIRE(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = qp->qp_num;
    a.rq_psn = 0xab00'0001;
    a.max_dest_rd_atomic = 1;
    a.min_rnr_timer = 12;
    a.ah_attr.dlid = 1;
    a.ah_attr.port_num = 1;
    const int needed = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    const int responder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    a.ah_attr.port_num = 0;
    REQUIRE(ibv_modify_qp(qp, &a, needed | (reliable ? responder : 0)) == EINVAL);
    a.ah_attr.port_num = 1;
    if (!reliable) REQUIRE(ibv_modify_qp(qp, &a, needed | responder) == EINVAL);
    REQUIRE(ibv_modify_qp(qp, &a, needed | (reliable ? responder : 0)) == 0);
    ibv_qp_init_attr init{};
    REQUIRE(ibv_query_qp(qp, &a, IBV_QP_STATE | IBV_QP_RQ_PSN, &init) == 0 && a.rq_psn == 1);
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 14;
    a.retry_cnt = 7;
    a.rnr_retry = 7;
    a.max_rd_atomic = 1;
    a.sq_psn = 0xab00'0001;
    const int requester = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    REQUIRE(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | (reliable ? requester : 0)) == 0);
    REQUIRE(qp->state == IBV_QPS_RTS);
    REQUIRE(ibv_destroy_qp(qp) == 0);
  }
}

}  // namespace
}  // namespace misuse

int main(int argc, char** argv) {
  using namespace misuse;
  const std::map<std::string, void (*)()> what{{"window", window_again},
                                               {"extended", window_again_extended},
                                               {"type_1", window_of_type_1},
                                               {"fields", fields},
                                               {"address", address},
                                               {"handles", handles},
                                               {"attributes", attributes},
                                               {"masks", masks},
                                               {"null", null_region},
                                               {"roce", roce_port},
                                               {"vendor", known_vendor},
                                               {"shown_key", window_shows_its_key},
                                               {"depth", deepest_queues},
                                               {"name", device_name},
                                               {"overrun", overrun},
                                               {"parent_domains", parent_domains},
                                               {"too_much", too_much},
                                               {"late_events", late_events},
                                               {"protected", protected_pages},
                                               {"protected_on_demand", protected_on_demand},
                                               {"protected_shared", protected_shared},
                                               {"busy_threads", busy_threads},
                                               {"data_path", data_path}};
  if (argc != 2 || !what.contains(argv[1])) return 2;
  what.at(argv[1])();
  return 0;
}
